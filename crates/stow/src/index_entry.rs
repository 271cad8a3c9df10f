//! The entries of a merged index: runs of parts, and single parts.

use std::ops::Range;

use crate::word::PAGE_BYTES;

/// Bytes of a run: many parts that are one stride apart in the file and side by side in a log.
pub const RUN_BYTES: usize = 32;
/// Bytes of a single part.
pub const SINGLE_BYTES: usize = 15;
/// Bits of a single: how far it is behind the first of its block, its length less one, its log, and where it is there.
const DELTA_BITS: u32 = 36;
const LENGTH_BITS: u32 = 26;
const LOG_BITS: u32 = 12;
const POSITION_BITS: u32 = 46;
/// Bits of a run's stride, below the number of parts between slot pages.
const STRIDE_BITS: u32 = 48;

/// Longest single.
pub const LENGTH_MAX: u64 = 1 << LENGTH_BITS;
/// How far the singles of a block may be apart.
pub const DELTA_MAX: u64 = (1 << DELTA_BITS) - 1;
/// Longest stride of a run.
pub const STRIDE_MAX: u64 = (1 << STRIDE_BITS) - 1;
/// Where the logs of an index end at most.
pub const POSITION_MAX: u64 = (1 << POSITION_BITS) - 1;

/// A part of the file, and where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Where it begins in the file.
    pub start: u64,
    /// Its bytes.
    pub length: u64,
    /// The number of its log.
    pub log: u32,
    /// Where it begins there.
    pub position: u64,
}

impl Extent {
    /// Returns where it ends in the file.
    pub fn end(&self) -> u64 {
        self.start + self.length
    }

    /// Returns its bytes in the file.
    pub fn range(&self) -> Range<u64> {
        self.start..self.end()
    }

    /// Returns the part of it that is this range, if it has all of it.
    pub fn cut(&self, range: &Range<u64>) -> Option<Extent> {
        let into = range.start.checked_sub(self.start).filter(|_| range.end <= self.end())?;
        let length = range.end.checked_sub(range.start)?;
        let position = self.position + into;
        Some(Extent { start: range.start, length, log: self.log, position })
    }
}

/// Parts of one length: each `stride` bytes behind the one before in the file, and directly behind it in the log, but for the slot
/// pages that come in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexRun {
    /// The first of them.
    pub first: Extent,
    /// Bytes from the beginning of one to that of the next.
    pub stride: u64,
    /// How many there are.
    pub count: u32,
    /// After so many comes the rest of a page and a slot page; 0 if there is none.
    pub every: u16,
}

impl IndexRun {
    /// Returns where the last one ends in the file.
    pub fn end(&self) -> u64 {
        self.first.end() + self.stride * u64::from(self.count.saturating_sub(1))
    }

    /// Returns the part after so many others.
    pub fn part(&self, step: u64) -> Extent {
        let Extent { start, length, log, position } = self.first;
        let (pages, step_in) = match u64::from(self.every) {
            0 => (0, step),
            every => (step / every, step % every),
        };
        let position = position + pages * self.period() + step_in * length;
        Extent { start: start + step * self.stride, length, log, position }
    }

    /// Returns the part of it that has all bytes of a range, if one has.
    pub fn around(&self, range: &Range<u64>) -> Option<Extent> {
        let step = range.start.checked_sub(self.first.start)? / self.stride;
        let part = (step < u64::from(self.count)).then(|| self.part(step))?;
        part.cut(range)
    }

    /// Returns the bytes of a log from one part behind a slot page to the next such.
    pub fn period(&self) -> u64 {
        (u64::from(self.every) * self.first.length).next_multiple_of(PAGE_BYTES) + PAGE_BYTES
    }

    /// Returns the bytes to store; `None` if they do not fit.
    pub fn encode(&self) -> Option<[u8; RUN_BYTES]> {
        let Extent { start, length, log, position } = self.first;
        let length = u32::try_from(length).ok().filter(|it| u64::from(*it) <= LENGTH_MAX)?;
        let stride = (self.stride < 1 << STRIDE_BITS)
            .then_some(u64::from(self.every) << STRIDE_BITS | self.stride)?;
        let place = (log < 1 << LOG_BITS && position <= POSITION_MAX)
            .then_some(u64::from(log) << 48 | position)?;
        let mut bytes = [0; RUN_BYTES];
        bytes[..8].copy_from_slice(&start.to_le_bytes());
        bytes[8..16].copy_from_slice(&stride.to_le_bytes());
        bytes[16..20].copy_from_slice(&length.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.count.to_le_bytes());
        bytes[24..].copy_from_slice(&place.to_le_bytes());
        Some(bytes)
    }

    /// Reads a run; `None` if it is impossible.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (start, steps) = (number(bytes.get(..8)?), number(bytes.get(8..16)?));
        let (stride, every) = (steps & ((1 << STRIDE_BITS) - 1), (steps >> STRIDE_BITS) as u16);
        let (length, count) = (number(bytes.get(16..20)?), number(bytes.get(20..24)?) as u32);
        let place = number(bytes.get(24..32)?);
        let (log, position) = ((place >> 48) as u32, place & ((1 << 48) - 1));
        let first = Extent { start, length, log, position };
        let run = IndexRun { first, stride, count, every };
        // No number below is beyond what 64 bits hold.
        let is_possible = (1..=LENGTH_MAX).contains(&length) && count > 0 && stride >= length;
        let end = stride.checked_mul(u64::from(count))?.checked_add(start)?;
        (is_possible && end < i64::MAX as u64).then_some(run)
    }
}

/// Returns the bytes of a single part, as far behind `base` as it is; `None` if they do not fit.
pub fn encode_single(it: &Extent, base: u64) -> Option<[u8; SINGLE_BYTES]> {
    let delta = it.start.checked_sub(base).filter(|delta| *delta <= DELTA_MAX)?;
    let length = it.length.checked_sub(1).filter(|length| *length < LENGTH_MAX)?;
    let is_possible = it.log < 1 << LOG_BITS && it.position <= POSITION_MAX;
    let mut word = u128::from(it.position);
    word = word << LOG_BITS | u128::from(it.log);
    word = word << LENGTH_BITS | u128::from(length);
    word = word << DELTA_BITS | u128::from(delta);
    let mut bytes = [0; SINGLE_BYTES];
    bytes.copy_from_slice(&word.to_le_bytes()[..SINGLE_BYTES]);
    is_possible.then_some(bytes)
}

/// Reads a single part; `None` if it is impossible.
pub fn decode_single(bytes: &[u8], base: u64) -> Option<Extent> {
    let bytes = bytes.get(..SINGLE_BYTES)?;
    let word = bytes.iter().rev().fold(0u128, |word, byte| word << 8 | u128::from(*byte));
    let bits = |from: u32, count: u32| (word >> from) as u64 & ((1 << count) - 1);
    let start = base.checked_add(bits(0, DELTA_BITS))?;
    let length = bits(DELTA_BITS, LENGTH_BITS) + 1;
    let log = bits(DELTA_BITS + LENGTH_BITS, LOG_BITS) as u32;
    let position = bits(DELTA_BITS + LENGTH_BITS + LOG_BITS, POSITION_BITS);
    let is_possible = start.checked_add(length)? <= i64::MAX as u64;
    is_possible.then_some(Extent { start, length, log, position })
}

/// Reads a number, the lowest byte of which comes first.
pub(crate) fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn entries_are_read_back(
            start in 0u64..1 << 60, delta in 0..=DELTA_MAX, length in 1..=LENGTH_MAX,
            log in 0u32..4096, position in 0..=POSITION_MAX, more in 0u64..1 << 20, count in 2u32..1000, every: u16,
        ) {
            let single = Extent { start: start + delta, length, log, position };
            let bytes = encode_single(&single, start).unwrap();
            prop_assert_eq!(decode_single(&bytes, start), Some(single));
            let run = IndexRun { first: single, stride: length + more, count, every };
            prop_assert_eq!(IndexRun::decode(&run.encode().unwrap()), Some(run));
        }

        #[test]
        fn no_bytes_are_too_strange(bytes in prop::collection::vec(any::<u8>(), 0..40), base: u64) {
            let single = decode_single(&bytes, base);
            prop_assert!(single.is_none_or(|it| it.end() > it.start));
            if let Some(run) = IndexRun::decode(&bytes) {
                let last = run.part(u64::from(run.count) - 1);
                prop_assert_eq!(last.end(), run.end());
            }
        }
    }
}
