//! Names of targets: t0, t1, …

use std::ffi::OsStr;
use std::fmt;
use std::str::FromStr;

use crate::{MAX_TARGETS, TestbedError};

/// The name of a target, which is its index behind a "t".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TargetName(u32);

impl TargetName {
    /// Returns the target with that index, counted from 0; `None` beyond what a bed can have.
    pub const fn new(index: u32) -> Option<Self> {
        if index < MAX_TARGETS { Some(Self(index)) } else { None }
    }

    /// Returns its index, counted from 0.
    pub const fn index(self) -> u32 {
        self.0
    }

    /// Returns the first `count` targets.
    pub(crate) fn first(count: u32) -> impl Iterator<Item = Self> {
        (0..count).map_while(Self::new)
    }

    /// Returns the target whose directory has this file name.
    pub(crate) fn of_directory(name: &OsStr) -> Option<Self> {
        let target = Self::new(name.to_str()?.strip_prefix('t')?.parse().ok()?)?;
        // "t00" and "t+1" parse as numbers but are nobody's name.
        (name == OsStr::new(&target.to_string())).then_some(target)
    }

    /// Returns the file name of its backing file.
    pub(crate) fn image_name(self) -> String {
        format!("{self}.img")
    }

    /// Returns the target whose backing file has this file name.
    pub(crate) fn of_image(name: &OsStr) -> Option<Self> {
        Self::of_directory(OsStr::new(name.to_str()?.strip_suffix(".img")?))
    }
}

impl fmt::Display for TargetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("t{}", self.0))
    }
}

impl FromStr for TargetName {
    type Err = TestbedError;

    /// Reads a name ("t1") or an index ("1").
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_index = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let target = if is_index {
            text.parse().ok().and_then(Self::new)
        } else {
            Self::of_directory(OsStr::new(text))
        };
        target.ok_or_else(|| TestbedError::NotATarget { text: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_names_and_indexes() {
        assert_eq!("t1".parse::<TargetName>().unwrap().index(), 1);
        assert_eq!("12".parse::<TargetName>().unwrap().to_string(), "t12");
        for text in ["", "t", "t00", "t+1", "-1", "+1", "t64", "64", "T1", "t1.img", "t1 "] {
            assert!(text.parse::<TargetName>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn knows_its_own_files() {
        assert_eq!(TargetName::of_image(OsStr::new("t7.img")), TargetName::new(7));
        for name in ["t7", "t07.img", "t7.img.img", "tx.img", ".img"] {
            assert_eq!(TargetName::of_image(OsStr::new(name)), None, "{name:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "t?[0-9]{0,12}(\\.img)?|.{0,8}") {
            let _ = text.parse::<TargetName>();
            TargetName::of_image(OsStr::new(&text));
        }
    }
}
