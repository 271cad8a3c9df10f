//! Limits of reads and of writes.

use plimsoll_domain::Limit;

/// Which operations a limit holds for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// Reads and writes, each with the full limit.
    #[default]
    Both,
    /// Reads only.
    Read,
    /// Writes only.
    Write,
}

/// The limits of one target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// The limit of reads.
    pub read: Limit,
    /// The limit of writes.
    pub write: Limit,
}

impl Limits {
    /// Nothing is limited.
    pub const NONE: Limits = Limits { read: Limit::NONE, write: Limit::NONE };

    /// Returns true if nothing is limited.
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }

    /// These limits with those of one direction (or both) replaced.
    pub fn with(self, direction: Direction, limit: Limit) -> Self {
        match direction {
            Direction::Both => Self { read: limit, write: limit },
            Direction::Read => Self { read: limit, ..self },
            Direction::Write => Self { write: limit, ..self },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_direction_leaves_the_other() {
        let slow: Limit = "20MiB/s".parse().unwrap();
        let slower: Limit = "5op/s".parse().unwrap();
        let limits = Limits::NONE.with(Direction::Both, slow).with(Direction::Read, slower);
        assert_eq!(limits, Limits { read: slower, write: slow });
        assert!(limits.with(Direction::Both, Limit::NONE).is_none());
    }
}
