//! What a bed should be made of.

use std::fmt;

use plimsoll_domain::Bytes;
use serde::{Deserialize, Serialize};

use crate::TestbedError;

/// The most targets that a bed can have.
pub const MAX_TARGETS: u32 = 64;

/// Backing files are made of whole pages, so that direct I/O is possible on them.
const PAGE: u64 = 4096;

/// What a target is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A file system of its own on a loop device.
    Loop,
    /// A plain directory.
    Directory,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Loop => "loop",
            Self::Directory => "directory",
        })
    }
}

/// What targets are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KindChoice {
    /// Loop devices where they are available, and plain directories elsewhere.
    #[default]
    Auto,
    /// Loop devices or an error.
    Loop,
    /// Plain directories.
    Directory,
}

/// The file system of loop targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileSystem {
    /// ext4.
    #[default]
    Ext4,
    /// XFS.
    Xfs,
}

impl FileSystem {
    /// Returns its name as mount(8) spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
        }
    }

    /// Returns the smallest target that it fits into with room for data.
    pub const fn smallest(self) -> Bytes {
        match self {
            // Has a journal whatever the block size: mkfs.ext4 gives none below 2048 blocks, which
            // are 8 MiB at most (ext2fs_default_journal_size in lib/ext2fs/mkjournal.c).
            Self::Ext4 => Bytes::new(16 << 20),
            // mkfs.xfs refuses less since xfsprogs 5.19 (validate_supported in mkfs/xfs_mkfs.c).
            Self::Xfs => Bytes::new(300 << 20),
        }
    }
}

impl fmt::Display for FileSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What [`crate::Testbed::up`] should make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpOptions {
    /// How many targets, 1 to [`MAX_TARGETS`].
    pub targets: u64,
    /// The size of each; rounded up to a multiple of 4 KiB.
    pub size: Bytes,
    /// Loop devices or directories.
    pub kind: KindChoice,
    /// The file system of loop targets. Asking for one is asking for loop targets, or an
    /// error; `None` is ext4 where there are loop targets at all.
    pub file_system: Option<FileSystem>,
}

impl UpOptions {
    /// `targets` targets of that size, of kind [`KindChoice::Auto`], with ext4.
    pub fn new(targets: u64, size: Bytes) -> Self {
        Self { targets, size, kind: KindChoice::default(), file_system: None }
    }

    /// Returns the number of targets, checked.
    pub(crate) fn checked_targets(&self) -> Result<u32, TestbedError> {
        let count = u32::try_from(self.targets).ok();
        count
            .filter(|count| (1..=MAX_TARGETS).contains(count))
            .ok_or(TestbedError::Count { count: self.targets })
    }

    /// Returns the size checked and rounded up to whole pages.
    pub(crate) fn checked_size(&self, kind: Kind) -> Result<Bytes, TestbedError> {
        let file_system = self.file_system.unwrap_or_default();
        let smallest = file_system.smallest();
        if kind == Kind::Loop && self.size < smallest {
            let size = self.size;
            return Err(TestbedError::TooSmall { size, smallest, file_system });
        }
        let rounded = self.size.get().checked_next_multiple_of(PAGE);
        Ok(rounded.map_or(self.size, Bytes::new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(targets: u64, size: u64) -> Result<u64, String> {
        let options = UpOptions::new(targets, Bytes::new(size));
        let size = options.checked_targets().and_then(|_| options.checked_size(Kind::Loop));
        size.map(Bytes::get).map_err(|error| error.to_string())
    }

    #[test]
    fn checks_number_and_size() {
        assert_eq!(checked(1, 16 << 20), Ok(16 << 20));
        assert_eq!(checked(64, (16 << 20) + 1), Ok((16 << 20) + 4096));
        assert!(checked(0, 1 << 30).unwrap_err().contains("1 to 64"));
        for count in [65, 100_000_000_000] {
            assert!(checked(count, 1 << 30).unwrap_err().contains(&count.to_string()));
        }
        assert_eq!(
            checked(1, 1 << 20).unwrap_err(),
            "a target of 1MiB is too small: ext4 needs 16MiB"
        );
    }

    #[test]
    fn a_directory_may_be_of_any_size() {
        let options = UpOptions::new(2, Bytes::new(1));
        assert_eq!(options.checked_size(Kind::Directory).unwrap(), Bytes::new(4096));
    }
}
