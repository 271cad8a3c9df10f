//! The beginnings of logs and of segments: whose they are, and where they belong.

use crate::Id;
use crate::word::PAGE_BYTES;

/// The format that this program writes, and the only one that it reads.
pub const FORMAT_VERSION: u32 = 1;

/// Bytes of a segment's header; the words of its first slot page follow.
pub const HEADER_BYTES: usize = 128;

/// Largest segment. One that claims more is none.
pub const SEGMENT_BYTES_MAX: u32 = 64 << 20;

/// A stamp that nobody reaches. Whoever would take it, or a later one, is refused before anything is written; a segment that claims to have it is none.
pub const SEQUENCE_MAX: u64 = 1 << 61;

const LOG_MAGIC: &[u8; 8] = b"plimslog";
const SEGMENT_MAGIC: &[u8; 8] = b"plimsseg";

/// Where the checksum of a header is.
const CHECKSUM_AT: usize = HEADER_BYTES - 8;

/// The header of a log, which has its first page to itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogHeader {
    /// The container that the log belongs to.
    pub container: Id,
    /// Its number there.
    pub log: u32,
}

/// The header of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentHeader {
    /// The container that the segment belongs to.
    pub container: Id,
    /// The number of its log.
    pub log: u32,
    /// Where it begins in the log.
    pub position: u64,
    /// Its bytes, this header included: the next segment may begin behind them.
    pub length: u32,
    /// Which of the nodes that write it is: of two equal stamps, that of the higher one is later.
    pub seat: u32,
    /// Stamps in the segment are counted from this one.
    pub stamp: u64,
    /// The node that wrote it: what it did not make durable is doubtful once that node is gone.
    pub node: Id,
}

impl LogHeader {
    /// Returns the bytes to store.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        sealed(LOG_MAGIC, self.log, self.container)
    }

    /// Reads the header; `None` if these bytes are none, or damaged.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let fields = opened(LOG_MAGIC, bytes)?;
        Some(LogHeader { container: fields.id(16), log: fields.u32(12) })
    }
}

impl SegmentHeader {
    /// Returns the bytes to store.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = sealed(SEGMENT_MAGIC, self.log, self.container);
        bytes[32..40].copy_from_slice(&self.position.to_le_bytes());
        bytes[40..44].copy_from_slice(&self.length.to_le_bytes());
        bytes[44..48].copy_from_slice(&self.seat.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.stamp.to_le_bytes());
        bytes[56..72].copy_from_slice(&self.node.bytes());
        seal(&mut bytes);
        bytes
    }

    /// Reads the header; `None` if these bytes are none, or damaged, or say something impossible.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let fields = opened(SEGMENT_MAGIC, bytes)?;
        let header = SegmentHeader {
            container: fields.id(16),
            log: fields.u32(12),
            position: fields.u64(32),
            length: fields.u32(40),
            seat: fields.u32(44),
            stamp: fields.u64(48),
            node: fields.id(56),
        };
        let pages = PAGE_BYTES as u32;
        let is_possible = header.position.is_multiple_of(PAGE_BYTES)
            && header.position < 1 << 62
            && header.length.is_multiple_of(pages)
            && (pages..=SEGMENT_BYTES_MAX).contains(&header.length)
            && header.stamp < SEQUENCE_MAX;
        is_possible.then_some(header)
    }
}

fn sealed(magic: &[u8; 8], log: u32, container: Id) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..8].copy_from_slice(magic);
    bytes[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    bytes[12..16].copy_from_slice(&log.to_le_bytes());
    bytes[16..32].copy_from_slice(&container.bytes());
    seal(&mut bytes);
    bytes
}

fn seal(bytes: &mut [u8; HEADER_BYTES]) {
    let sum = crc32c::crc32c(&bytes[..CHECKSUM_AT]);
    bytes[CHECKSUM_AT..CHECKSUM_AT + 4].copy_from_slice(&sum.to_le_bytes());
}

/// The bytes of a header whose magic, version and checksum are right.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.array(at))
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.array(at))
    }

    fn id(&self, at: usize) -> Id {
        Id::from_bytes(self.array(at))
    }

    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut array = [0; N];
        array.copy_from_slice(&self.0[at..at + N]);
        array
    }
}

fn opened<'a>(magic: &[u8; 8], bytes: &'a [u8]) -> Option<Fields<'a>> {
    let bytes = bytes.get(..HEADER_BYTES)?;
    let fields = Fields(bytes);
    let is_whole = &bytes[..8] == magic
        && fields.u32(8) == FORMAT_VERSION
        && fields.u32(CHECKSUM_AT) == crc32c::crc32c(&bytes[..CHECKSUM_AT]);
    is_whole.then_some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header() -> SegmentHeader {
        SegmentHeader {
            container: Id::from_bytes([7; 16]),
            log: 3,
            position: 8192,
            length: 1 << 20,
            seat: 1,
            stamp: 99,
            node: Id::from_bytes([9; 16]),
        }
    }

    #[test]
    fn what_was_encoded_is_decoded() {
        assert_eq!(SegmentHeader::decode(&header().encode()), Some(header()));
        let log = LogHeader { container: Id::from_bytes([1; 16]), log: 12 };
        assert_eq!(LogHeader::decode(&log.encode()), Some(log));
        assert_eq!(SegmentHeader::decode(&log.encode()), None, "a log is no segment");
    }

    #[test]
    fn what_is_impossible_is_no_header() {
        for length in [0, 100, SEGMENT_BYTES_MAX + 4096] {
            let bytes = SegmentHeader { length, ..header() }.encode();
            assert_eq!(SegmentHeader::decode(&bytes), None, "{length} bytes");
        }
        let bytes = SegmentHeader { stamp: SEQUENCE_MAX, ..header() }.encode();
        assert_eq!(SegmentHeader::decode(&bytes), None, "nobody takes it");
        let bytes = SegmentHeader { position: 4097, ..header() }.encode();
        assert_eq!(SegmentHeader::decode(&bytes), None);
    }

    proptest! {
        #[test]
        fn one_flipped_bit_is_noticed(bit in 0usize..8 * (CHECKSUM_AT + 4)) {
            let mut bytes = header().encode();
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(SegmentHeader::decode(&bytes), None);
        }

        #[test]
        fn a_short_header_is_none(length in 0usize..HEADER_BYTES) {
            prop_assert_eq!(SegmentHeader::decode(&header().encode()[..length]), None);
        }
    }
}
