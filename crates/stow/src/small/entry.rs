//! An entry of a small file: bytes that were written, or a size that it was given.

use crate::word::record_checksum;

/// Bytes before those of a write.
pub const HEADER_BYTES: usize = 32;
/// Entries begin at multiples of this.
const ALIGNMENT: u64 = 8;

const WRITE: u32 = u32::from_le_bytes(*b"pws1");
const TRUNCATE: u32 = u32::from_le_bytes(*b"pts1");
const VOID: u32 = u32::from_le_bytes(*b"pvs1");

/// What an entry says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// Bytes were written at the offset.
    Write,
    /// The file got the size of the offset.
    Truncate,
    /// Nothing: it was not whole, and was taken back.
    Void,
}

/// The header of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SmallEntry {
    /// What it says.
    pub kind: EntryKind,
    /// How many bytes follow.
    pub length: u32,
    /// Where they are in the file.
    pub offset: u64,
    /// Rises by one with each entry.
    pub sequence: u64,
    /// Of all this, and of the bytes.
    pub checksum: u32,
}

impl SmallEntry {
    /// Returns that of a write.
    pub fn write(bytes: &[u8], offset: u64, sequence: u64) -> Option<Self> {
        let length = u32::try_from(bytes.len()).ok()?;
        let checksum = record_checksum(offset, sequence, bytes);
        Some(SmallEntry { kind: EntryKind::Write, length, offset, sequence, checksum })
    }

    /// Returns that of a truncation.
    pub fn truncate(size: u64, sequence: u64) -> Self {
        let checksum = record_checksum(size, sequence, &[]);
        SmallEntry { kind: EntryKind::Truncate, length: 0, offset: size, sequence, checksum }
    }

    /// Returns its bytes, for this position in the marker.
    pub fn encode(&self, position: u64) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let kind = match self.kind {
            EntryKind::Write => WRITE,
            EntryKind::Truncate => TRUNCATE,
            EntryKind::Void => VOID,
        };
        bytes[..4].copy_from_slice(&kind.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.length.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.offset.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.checksum.to_le_bytes());
        let sum = sum_of(&bytes, position);
        bytes[28..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads a header; `None` if nobody wrote one like this at this position.
    pub fn decode(bytes: &[u8], position: u64) -> Option<Self> {
        let bytes: &[u8; HEADER_BYTES] = bytes.get(..HEADER_BYTES)?.try_into().ok()?;
        let four = |at: usize| bytes[at..at + 4].try_into().map(u32::from_le_bytes).ok();
        let eight = |at: usize| bytes[at..at + 8].try_into().map(u64::from_le_bytes).ok();
        if four(28)? != sum_of(bytes, position) {
            return None;
        }
        let kind = match four(0)? {
            WRITE => EntryKind::Write,
            TRUNCATE => EntryKind::Truncate,
            VOID => EntryKind::Void,
            _ => return None,
        };
        let (length, offset) = (four(4)?, eight(8)?);
        // Nobody writes one: it would give the file a size without having bytes there.
        if kind == EntryKind::Write && length == 0 {
            return None;
        }
        let end = offset.checked_add(length.into()).filter(|it| *it <= i64::MAX as u64);
        end.map(|_| ())?;
        Some(SmallEntry { kind, length, offset, sequence: eight(16)?, checksum: four(24)? })
    }

    /// Returns whether these bytes are those that follow it.
    pub fn is_of(&self, bytes: &[u8]) -> bool {
        record_checksum(self.offset, self.sequence, bytes) == self.checksum
    }

    /// Returns how many bytes it takes, with those that follow.
    pub fn room(&self) -> u64 {
        (HEADER_BYTES as u64 + u64::from(self.length)).next_multiple_of(ALIGNMENT)
    }
}

/// The position is part of it, so that what a program writes, or what was there before, is never taken for a header.
fn sum_of(header: &[u8; HEADER_BYTES], position: u64) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&header[..28]), &position.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_header_is_read_where_it_was_written_and_nowhere_else() {
        let entry = SmallEntry::write(b"words", 1 << 40, 7).unwrap();
        let bytes = entry.encode(128);
        assert_eq!(SmallEntry::decode(&bytes, 128), Some(entry));
        assert_eq!(SmallEntry::decode(&bytes, 136), None);
        assert_eq!(SmallEntry::decode(&bytes[..31], 128), None);
        assert!(entry.is_of(b"words") && !entry.is_of(b"swords"));
        assert_eq!((entry.room(), SmallEntry::truncate(9, 1).room()), (40, 32));
        let empty = SmallEntry::write(b"", 1 << 40, 7).unwrap();
        assert_eq!(SmallEntry::decode(&empty.encode(128), 128), None);
    }

    proptest! {
        #[test]
        fn one_flipped_bit_is_noticed(bit in 0usize..8 * HEADER_BYTES) {
            let mut bytes = SmallEntry::truncate(5, 3).encode(64);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(SmallEntry::decode(&bytes, 64), None);
        }
    }
}
