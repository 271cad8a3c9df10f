//! How many and how large what a race has may be.

use plimsoll_domain::Bytes;

use crate::RaceError;

/// What a race has a number of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Processes that write.
    Writers,
    /// Blocks of each writer.
    Blocks,
    /// Races of each policy.
    Rounds,
    /// Streams of noise on a target; each is a process.
    Streams,
}

impl Counted {
    fn name_and_most(self) -> (&'static str, u32) {
        match self {
            Counted::Writers => ("writers", 256),
            Counted::Blocks => ("blocks", 1_000_000),
            Counted::Rounds => ("rounds", 100_000),
            Counted::Streams => ("streams", 64),
        }
    }

    /// Returns a count that is possible.
    ///
    /// # Errors
    /// Fails if it is none, or too large.
    pub fn check(self, count: u64) -> Result<u32, RaceError> {
        let (what, most) = self.name_and_most();
        match u32::try_from(count) {
            Ok(count) if (1..=most).contains(&count) => Ok(count),
            _ => Err(RaceError::Count { what, count, most }),
        }
    }
}

/// Streams of noise on all targets together.
pub(crate) const ALL_STREAMS_MAX: u32 = 256;

/// Blocks and parts may be as small and as large as this.
const SIZES: (Bytes, Bytes) = (Bytes::new(4 << 10), Bytes::new(1 << 30));

pub(crate) fn check_size(what: &'static str, size: Bytes) -> Result<(), RaceError> {
    let (least, most) = SIZES;
    if (least..=most).contains(&size) {
        Ok(())
    } else {
        Err(RaceError::Size { what, size, least, most })
    }
}
