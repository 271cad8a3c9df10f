//! Who ran a process, and on what.

use plimsoll_trace::layout::{self, PROCESSORS_MAX, get_text};

use plimsoll_stored::stored;

/// Who ran a process, and on what; nothing is known from recordings that do not say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Circumstances {
    /// The user's name, or "user 1000" where only the number is known.
    pub user: Option<String>,
    /// Processors that the process may run on.
    pub processors: Processors,
    /// When the process began, on CLOCK_MONOTONIC of its node.
    pub(crate) began_ns: Option<u64>,
}

impl Circumstances {
    pub(crate) fn read(recorded: &layout::Circumstances) -> Self {
        if recorded.is_known == 0 {
            return Circumstances::default();
        }
        let name = String::from_utf8_lossy(get_text(&recorded.user)).into_owned();
        let user = match (name.as_str(), recorded.user_id) {
            ("", 0) => "root".to_string(),
            ("", number) => format!("user {number}"),
            _ => name,
        };
        let processors = Processors { bits: recorded.processors };
        let began_ns = (recorded.began_ns > 0).then_some(recorded.began_ns);
        Circumstances { user: Some(user), processors, began_ns }
    }
}

/// A set of processors of one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Processors {
    bits: [u8; PROCESSORS_MAX / 8],
}

stored! {
    Circumstances { user, processors, began_ns }
    Processors { bits }
}

impl Default for Processors {
    fn default() -> Self {
        Processors { bits: [0; PROCESSORS_MAX / 8] }
    }
}

impl Processors {
    /// Returns how many there are; 0 when it is not known.
    pub fn count(&self) -> u32 {
        self.bits.iter().map(|byte| byte.count_ones()).sum()
    }

    /// Adds those of another set.
    pub fn add(&mut self, other: &Processors) {
        self.bits.iter_mut().zip(&other.bits).for_each(|(own, other)| *own |= other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_recorded_is_not_known() {
        let mut recorded = layout::Circumstances {
            began_ns: 0,
            is_known: 0,
            user_id: 0,
            user: [0; 64],
            processors: [0; PROCESSORS_MAX / 8],
        };
        recorded.processors[0] = 0b101;
        assert_eq!(Circumstances::read(&recorded), Circumstances::default());
        recorded.is_known = 1;
        recorded.user_id = 1000;
        let circumstances = Circumstances::read(&recorded);
        assert_eq!(
            (circumstances.user.as_deref(), circumstances.began_ns),
            (Some("user 1000"), None)
        );
        recorded.user[..4].copy_from_slice(b"anna");
        recorded.began_ns = 7;
        let circumstances = Circumstances::read(&recorded);
        assert_eq!(
            (circumstances.user.as_deref(), circumstances.began_ns),
            (Some("anna"), Some(7))
        );
        let mut all = Processors::default();
        assert_eq!(all.count(), 0);
        all.add(&circumstances.processors);
        all.add(&circumstances.processors);
        assert_eq!(all.count(), 2, "each counts once");
    }
}
