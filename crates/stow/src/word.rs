//! The words of a slot page: what a segment says of itself.
//!
//! A slot page is a row of 64-bit words, in little-endian order, that is filled from its beginning. A word that is not zero
//! is published, and what lies behind a zero is not there yet. The three lowest bits say what a word is.

use crc_fast::{CrcAlgorithm, Digest};

use crate::short_checksum;

/// Bytes of a slot page, and what all positions of pages are multiples of.
pub const PAGE_BYTES: u64 = 4096;

/// Words of a slot page.
pub const PAGE_WORDS: usize = 512;

/// Most that a stamp may lie above that of its segment: what is left of a word beside a checksum and the kind.
pub const DELTA_MAX: u64 = (1 << 29) - 1;

/// Most words that an entry has: a run with its first record.
pub const ENTRY_WORDS_MAX: usize = 5;

const RECORD: u64 = 1;
const RUN: u64 = 2;
const TRUNCATE: u64 = 3;
const PUNCH: u64 = 4;
const LINK: u64 = 5;
const SYNCED: u64 = 6;
const VOID: u64 = 7;

/// Where the records of a run are: each `stride` bytes behind the one before in the file, and directly behind it in the segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Where the first record is in the file.
    pub offset: u64,
    /// Bytes of each record.
    pub length: u32,
    /// Bytes from the beginning of a record to that of the next; 0 where there is no next.
    pub stride: u64,
    /// Where the first record is in the segment.
    pub position: u32,
}

/// A stamp, as far above that of the segment, and the checksum that goes with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamped {
    /// Stamp, counted from that of the segment.
    pub delta: u32,
    /// CRC-32C of what was written, and where and when.
    pub checksum: u32,
}

/// One thing that a slot page says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// Records follow, and these are their places.
    Run(Run),
    /// The next record of the run.
    Record(Stamped),
    /// A record of the run that `check --repair` took back.
    Void,
    /// From then on the file had this size.
    Truncate(Stamped, u64),
    /// From then on a range (offset, length) was a hole.
    Punch(Stamped, u64, u64),
    /// The next slot page of the segment is at this position.
    Link(u32),
    /// Nothing more will be written to the segment.
    End,
    /// All that is before it in this segment was durable.
    Synced,
    /// Nothing of the segment counts any more, and its bytes were given back; its last stamp was this.
    Freed(Stamped),
}

/// A word that no version of this program wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damaged;

impl Entry {
    /// Returns the words of an entry, and how many there are.
    pub fn encode(&self) -> ([u64; 4], usize) {
        let stamped = |kind: u64, it: &Stamped| {
            kind | u64::from(it.delta) << 3 | u64::from(it.checksum) << 32
        };
        match self {
            Entry::Run(run) => {
                let last = u64::from(run.position) | u64::from(stride_check(run.stride)) << 32;
                let first = RUN | run_check(run) << 3 | u64::from(run.length) << 32;
                ([first, run.offset, run.stride, last], 4)
            }
            Entry::Record(it) => ([stamped(RECORD, it), 0, 0, 0], 1),
            Entry::Void => ([VOID, 0, 0, 0], 1),
            Entry::Freed(it) => ([stamped(VOID, it), 0, 0, 0], 1),
            Entry::Truncate(it, size) => ([stamped(TRUNCATE, it), *size, 0, 0], 2),
            Entry::Punch(it, offset, length) => ([stamped(PUNCH, it), *offset, *length, 0], 3),
            Entry::Link(position) => ([LINK | u64::from(*position) << 32, 0, 0, 0], 1),
            Entry::End => ([LINK, 0, 0, 0], 1),
            Entry::Synced => ([SYNCED, 0, 0, 0], 1),
        }
    }

    /// Reads the entry at the beginning of these words; `None` if it is not there yet. Returns how many words it has.
    ///
    /// # Errors
    /// If it is none.
    pub fn decode(words: &[u64]) -> Result<Option<(Entry, usize)>, Damaged> {
        let Some(&first) = words.first() else { return Ok(None) };
        let word = |index: usize| words.get(index).copied().ok_or(Damaged);
        let delta = (first >> 3) as u32 & DELTA_MAX as u32;
        let high = (first >> 32) as u32;
        let stamped = Stamped { delta, checksum: high };
        let entry = match first & 7 {
            0 if first == 0 => return Ok(None),
            RECORD => (Entry::Record(stamped), 1),
            RUN => {
                let last = word(3)?;
                let (offset, stride, position) = (word(1)?, word(2)?, last as u32);
                let run = Run { offset, length: high, stride, position };
                let is_whole = run_check(&run) == u64::from(delta)
                    && stride_check(stride) == (last >> 32) as u32;
                (Entry::Run(is_whole.then_some(run).ok_or(Damaged)?), 4)
            }
            TRUNCATE => (Entry::Truncate(stamped, word(1)?), 2),
            PUNCH => (Entry::Punch(stamped, word(1)?, word(2)?), 3),
            LINK if first == LINK => (Entry::End, 1),
            LINK if delta == 0 => (Entry::Link(high), 1),
            SYNCED if first == SYNCED => (Entry::Synced, 1),
            VOID if first == VOID => (Entry::Void, 1),
            VOID => (Entry::Freed(stamped), 1),
            _ => return Err(Damaged),
        };
        Ok(Some(entry))
    }
}

/// Returns the checksum of a record: of where and when it was written, and of its bytes.
pub fn record_checksum(offset: u64, stamp: u64, bytes: &[u8]) -> u32 {
    append_checksum(place_checksum(offset, stamp, bytes.len() as u64), bytes)
}

/// Goes on with a checksum behind so many zeros.
pub fn append_zeros(mut sum: u32, length: u64) -> u32 {
    static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
    let mut rest = length;
    while rest > 0 {
        let some = rest.min(ZEROS.len() as u64);
        sum = append_checksum(sum, &ZEROS[..some as usize]);
        rest -= some;
    }
    sum
}

/// Begins the checksum of a record, with where and when it was written and how long it is.
pub fn place_checksum(offset: u64, stamp: u64, length: u64) -> u32 {
    let mut place = [0; 24];
    place[..8].copy_from_slice(&offset.to_le_bytes());
    place[8..16].copy_from_slice(&stamp.to_le_bytes());
    place[16..].copy_from_slice(&length.to_le_bytes());
    crc32c::crc32c(&place)
}

/// From here on carry-less multiplication of all bytes is the fastest way.
const LONG_BYTES: usize = short_checksum::BYTES_END;

/// Goes on with a CRC-32C.
pub fn append_checksum(sum: u32, bytes: &[u8]) -> u32 {
    if bytes.len() < LONG_BYTES {
        let short = short_checksum::append(sum, bytes);
        return short.unwrap_or_else(|| crc32c::crc32c_append(sum, bytes));
    }
    // What that library goes on from is not turned over yet.
    let mut digest = Digest::new_with_init_state(CrcAlgorithm::Crc32Iscsi, u64::from(!sum));
    digest.update(bytes);
    digest.finalize() as u32
}

/// Returns the checksum of a truncation or a hole, which have no bytes.
pub fn words_checksum(words: &[u64]) -> u32 {
    words.iter().fold(0, |sum, word| crc32c::crc32c_append(sum, &word.to_le_bytes()))
}

/// Returns the checksum of a word that says that a segment is free, which is never zero.
pub fn freed_checksum(stamp: u64) -> u32 {
    words_checksum(&[u64::MAX, stamp]).max(1)
}

/// What the first word of a run has instead of a stamp.
fn run_check(run: &Run) -> u64 {
    let sum = words_checksum(&[run.offset, u64::from(run.length), u64::from(run.position)]);
    u64::from(sum) & DELTA_MAX
}

fn stride_check(stride: u64) -> u32 {
    words_checksum(&[stride])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry() -> impl Strategy<Value = Entry> {
        let stamped = || {
            (0..=DELTA_MAX as u32, any::<u32>())
                .prop_map(|(delta, checksum)| Stamped { delta, checksum })
        };
        prop_oneof![
            (any::<u64>(), any::<u32>(), any::<u64>(), any::<u32>()).prop_map(
                |(offset, length, stride, position)| {
                    Entry::Run(Run { offset, length, stride, position })
                }
            ),
            stamped().prop_map(Entry::Record),
            (stamped(), any::<u64>()).prop_map(|(it, size)| Entry::Truncate(it, size)),
            (stamped(), any::<u64>(), any::<u64>())
                .prop_map(|(it, offset, length)| Entry::Punch(it, offset, length)),
            (1u32..).prop_map(Entry::Link),
            Just(Entry::End),
            Just(Entry::Synced),
            Just(Entry::Void),
            stamped().prop_filter("told from a void", |it| it.checksum > 0).prop_map(Entry::Freed),
        ]
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_decoded(entry in entry()) {
            let (words, count) = entry.encode();
            prop_assert_ne!(words[0], 0, "it is published");
            prop_assert_eq!(Entry::decode(&words[..count]), Ok(Some((entry, count))));
            prop_assert_eq!(Entry::decode(&words[..count - 1]).ok().flatten(), None, "cut short");
        }

        #[test]
        fn one_flipped_bit_of_a_run_is_noticed(
            offset: u64, length: u32, stride: u64, position: u32, bit in 3u32..256
        ) {
            let run = Run { offset, length, stride, position };
            let (mut words, _) = Entry::Run(run).encode();
            words[(bit / 64) as usize] ^= 1 << (bit % 64);
            prop_assert_eq!(Entry::decode(&words), Err(Damaged));
        }

        #[test]
        fn both_ways_give_the_same_checksum(
            bytes in prop::collection::vec(any::<u8>(), LONG_BYTES - 400..3 * LONG_BYTES), sum: u32
        ) {
            prop_assert_eq!(append_checksum(sum, &bytes), crc32c::crc32c_append(sum, &bytes));
        }

        #[test]
        fn no_words_are_too_strange(words in prop::collection::vec(any::<u64>(), 0..6)) {
            let _ = Entry::decode(&words);
        }
    }

    #[test]
    fn zeros_have_the_checksum_of_a_record_of_them() {
        for length in [1, 1 << 16, (1 << 16) + 1, 300_000] {
            let bytes = vec![0; length as usize];
            let sum = append_zeros(place_checksum(7, 3, length), length);
            assert_eq!(sum, record_checksum(7, 3, &bytes));
        }
    }

    #[test]
    fn a_checksum_tells_place_and_time_from_each_other() {
        let sums = [(0, 1, "ab"), (1, 0, "ab"), (0, 1, "ba"), (0, 1, "abc")]
            .map(|(offset, stamp, bytes)| record_checksum(offset, stamp, bytes.as_bytes()));
        for (index, sum) in sums.iter().enumerate() {
            assert!(!sums[..index].contains(sum));
        }
    }
}
