//! What is behind the words of a small container's marker, and before its entries.

use crate::home::Made;

/// Where the head begins.
const HEAD_AT: usize = 64;
/// Where entries begin.
pub const RECORDS_FROM: u64 = 128;
const DURABLE_AT: usize = 96;

const MAGIC: [u8; 8] = *b"plimsmal";

/// The head of a small container's marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The number of the marker that it was written to: a copy has another one.
    pub inode: u64,
    /// When that was made; 0 where the file system does not tell.
    pub born: u64,
    /// Up to here, all that is in the marker was made durable; 0 if nothing was.
    pub durable: u64,
}

impl Head {
    /// Returns that of a new marker.
    pub(crate) fn of(made: &Made) -> Self {
        Head { inode: made.inode, born: made.born.unwrap_or(0), durable: 0 }
    }

    /// Returns whether it was written to this very marker.
    pub(crate) fn is_of(&self, made: &Made) -> bool {
        let is_of_that_time = self.born == 0 || made.born.is_none_or(|it| it == self.born);
        self.inode == made.inode && is_of_that_time
    }

    /// Returns the marker up to its entries: these words, and the head.
    pub fn encode(&self, words: &str) -> [u8; RECORDS_FROM as usize] {
        let mut bytes = [0; RECORDS_FROM as usize];
        let room = words.len().min(HEAD_AT);
        bytes[..room].copy_from_slice(&words.as_bytes()[..room]);
        bytes[64..72].copy_from_slice(&MAGIC);
        bytes[72..80].copy_from_slice(&self.inode.to_le_bytes());
        bytes[80..88].copy_from_slice(&self.born.to_le_bytes());
        let sum = crc32c::crc32c(&bytes[64..88]);
        bytes[88..92].copy_from_slice(&sum.to_le_bytes());
        let (at, durable) = self.durable_words();
        bytes[at as usize..at as usize + 16].copy_from_slice(&durable);
        bytes
    }

    /// Returns what says up to where it is durable, and where in the marker: it is written on its own.
    pub fn durable_words(&self) -> (u64, [u8; 16]) {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.durable.to_le_bytes());
        bytes[8..].copy_from_slice(&(!self.durable).to_le_bytes());
        (DURABLE_AT as u64, bytes)
    }

    /// Reads the head in the first bytes of a marker; `None` if there is none.
    pub fn decode(marker: &[u8]) -> Option<Self> {
        let marker = marker.get(..RECORDS_FROM as usize)?;
        let eight = |at: usize| marker[at..at + 8].try_into().map(u64::from_le_bytes).ok();
        let sum = marker[88..92].try_into().map(u32::from_le_bytes).ok()?;
        if marker[64..72] != MAGIC || sum != crc32c::crc32c(&marker[64..88]) {
            return None;
        }
        let (durable, inverted) = (eight(DURABLE_AT)?, eight(DURABLE_AT + 8)?);
        // Half of it may have been written: then nothing is claimed.
        let durable = if durable == !inverted { durable } else { 0 };
        Some(Head { inode: eight(72)?, born: eight(80)?, durable })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_it_was_written() {
        let head = Head { inode: 77, born: 5, durable: 4096 };
        let bytes = head.encode("plimsoll container 2\n");
        assert_eq!(Head::decode(&bytes), Some(head));
        assert_eq!(Head::decode(&bytes[..127]), None);
        for at in 64..92 {
            let mut changed = bytes;
            changed[at] ^= 4;
            assert_eq!(Head::decode(&changed), None, "{at}");
        }
        for at in 96..112 {
            let mut changed = bytes;
            changed[at] ^= 4;
            assert_eq!(Head::decode(&changed), Some(Head { durable: 0, ..head }), "{at}");
        }
    }

    #[test]
    fn a_copy_is_told_by_its_marker() {
        let made = Made { device: 1, inode: 77, born: Some(5) };
        let head = Head::of(&made);
        assert!(head.is_of(&made) && head.is_of(&Made { born: None, ..made }));
        assert!(!head.is_of(&Made { inode: 78, ..made }));
        assert!(!head.is_of(&Made { born: Some(6), ..made }));
    }
}
