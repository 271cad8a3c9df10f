//! In which way data is wrong.

use std::fmt;

/// In which way a byte, or the block that begins with it, is not what was written there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mismatch {
    /// One byte or more differ; the block is the right one.
    Changed {
        /// The first wrong byte.
        found: u8,
        /// What it should be.
        expected: u8,
    },
    /// The stamp of a block is damaged, and the data after it is right.
    ChangedStamp,
    /// The block belongs elsewhere.
    Misplaced {
        /// Index of the file that it belongs to, in the order of the burst's paths.
        file: u32,
        /// Where in that file.
        offset: u64,
    },
    /// There are zeros.
    Zeros,
    /// The right data, but of a burst that was not to be verified and has no stamps.
    Unstamped,
    /// Data of another seed, or nobody's.
    OtherData,
}

impl Mismatch {
    pub(crate) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Unstamped => Some("write it with verify = true as well"),
            Self::OtherData => Some("check that it was written with the same seed and paths"),
            _ => None,
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed { found, expected } => {
                write!(f, "corrupted, the byte is {found:#04x} and should be {expected:#04x}")
            }
            Self::ChangedStamp => f.write_str("corrupted, the first 16 bytes of the block"),
            Self::Misplaced { file, offset } => {
                write!(f, "misplaced, the block belongs at byte {offset} of file {file}")
            }
            Self::Zeros => f.write_str("zeros, the block was never written or was lost"),
            Self::Unstamped => f.write_str("data of a burst that was not to be verified"),
            Self::OtherData => f.write_str("stale, the block is of another burst or seed"),
        }
    }
}
