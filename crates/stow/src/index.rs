//! The merged index: what a file consists of, sorted and without stamps, in one small file of the container.
//!
//! It is a cache: everything in it can be made again from the slot pages, and it is used only while the logs are as they were
//! when it was written. What was written later is laid over it.
//!
//! The file is a header, a line for each log, a line for each block (its fence), the blocks of runs, and the blocks of singles.
//! Header and lines have one checksum, and each block has one of its own, so that opening takes about the same time however much
//! is in it.

use crate::header::FORMAT_VERSION;
use crate::index_entry::{RUN_BYTES, SINGLE_BYTES, number};
use crate::pieces::Stamp;
use crate::{Id, LastStamps};

/// Its name in the container.
pub const INDEX: &str = "index";

/// Largest index: a reader that is given more than this reads the slot pages.
pub const INDEX_BYTES_MAX: u64 = 4 << 30;

const MAGIC: &[u8; 8] = b"plimsidx";
const HEADER_BYTES: usize = 128;
const CHECKSUM_AT: usize = HEADER_BYTES - 8;
const LOG_BYTES: usize = 24;
const FENCE_BYTES: usize = 24;

/// Entries of a block: about a page.
pub const RUNS_PER_BLOCK: usize = 128;
/// As for runs.
pub const SINGLES_PER_BLOCK: usize = 272;

/// What the index knows of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexedLog {
    /// Its bytes at that time; what is behind them is not in the index.
    pub size: u64,
    /// Nothing in it was later.
    pub intended: u64,
    /// The last that was found in it.
    pub highest: u64,
}

/// A container, as its index must know it.
#[derive(Debug, Clone, Copy)]
pub struct IndexedContainer {
    /// Its id, which copies have as well.
    pub id: Id,
    /// Its marker, which they have not.
    pub marker: (u64, Option<u64>),
    /// The node that reads it.
    pub node: Id,
    /// A stamp that is later than all that was written.
    pub next: u64,
}

/// What is told of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence {
    /// Where its first part begins in the file.
    pub first: u64,
    /// Where the furthest part of this block and all before it ends.
    pub reach: u64,
    /// How many entries it has.
    pub entries: u32,
    /// Of its bytes.
    pub checksum: u32,
}

/// The beginning of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexHead {
    /// The container that it belongs to.
    pub container: Id,
    /// The node that wrote it: what is in it may not be durable.
    pub node: Id,
    /// The marker of the very container that it was written for, as its file system knows it: the number, and when it was made.
    pub marker: (u64, Option<u64>),
    /// The size of the file.
    pub size: u64,
    /// Nothing in it was written later.
    pub stamp: Stamp,
    /// What it knows of each log.
    pub logs: Vec<IndexedLog>,
    /// The blocks of runs.
    pub runs: Vec<Fence>,
    /// The blocks of singles.
    pub singles: Vec<Fence>,
}

impl IndexHead {
    /// Returns the bytes to store before the blocks.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&(self.logs.len() as u32).to_le_bytes());
        bytes[16..32].copy_from_slice(&self.container.bytes());
        bytes[32..48].copy_from_slice(&self.node.bytes());
        let words = [
            self.size,
            self.stamp.sequence,
            u64::from(self.stamp.seat),
            self.runs.len() as u64,
            self.singles.len() as u64,
            self.marker.0,
            self.marker.1.unwrap_or_default(),
        ];
        for (word, place) in words.iter().zip(bytes[48..].chunks_exact_mut(8)) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        for log in &self.logs {
            for word in [log.size, log.intended, log.highest] {
                bytes.extend(word.to_le_bytes());
            }
        }
        for fence in self.runs.iter().chain(&self.singles) {
            bytes.extend(fence.first.to_le_bytes());
            bytes.extend(fence.reach.to_le_bytes());
            bytes.extend(fence.entries.to_le_bytes());
            bytes.extend(fence.checksum.to_le_bytes());
        }
        let sum = checksum(&bytes);
        bytes[CHECKSUM_AT..CHECKSUM_AT + 4].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Returns how many bytes the beginning has, from its first ones.
    ///
    /// # Errors
    /// Says what is wrong with them.
    pub fn bytes_of(first: &[u8], file_bytes: u64) -> Result<u64, String> {
        let first = first.get(..HEADER_BYTES).ok_or("it is cut short")?;
        if &first[..8] != MAGIC {
            return Err("it does not begin as an index does".into());
        }
        let version = number(&first[8..12]);
        if version != u64::from(FORMAT_VERSION) {
            return Err(format!("it has format {version}"));
        }
        let lines = number(&first[12..16]).checked_mul(LOG_BYTES as u64);
        let blocks = number(&first[72..80]).checked_add(number(&first[80..88]));
        let fences = blocks.and_then(|it| it.checked_mul(FENCE_BYTES as u64));
        let bytes = lines.zip(fences).and_then(|(lines, fences)| lines.checked_add(fences));
        bytes
            .and_then(|it| it.checked_add(HEADER_BYTES as u64))
            .filter(|it| *it <= file_bytes && file_bytes <= INDEX_BYTES_MAX)
            .ok_or_else(|| "it is cut short".into())
    }

    /// Reads the beginning, all of it and nothing more.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn decode(bytes: &[u8], file_bytes: u64) -> Result<Self, String> {
        if Self::bytes_of(bytes, file_bytes)? != bytes.len() as u64 {
            return Err("it is cut short".into());
        }
        if number(&bytes[CHECKSUM_AT..CHECKSUM_AT + 4]) != u64::from(checksum(bytes)) {
            return Err("its checksum differs".into());
        }
        let word = |at: usize| number(&bytes[at..at + 8]);
        let (lines, fences) =
            bytes[HEADER_BYTES..].split_at(number(&bytes[12..16]) as usize * LOG_BYTES);
        let line = |it: &[u8]| IndexedLog {
            size: number(&it[..8]),
            intended: number(&it[8..16]),
            highest: number(&it[16..24]),
        };
        let fence = |it: &[u8]| Fence {
            first: number(&it[..8]),
            reach: number(&it[8..16]),
            entries: number(&it[16..20]) as u32,
            checksum: number(&it[20..24]) as u32,
        };
        let mut runs: Vec<Fence> = fences.chunks_exact(FENCE_BYTES).map(fence).collect();
        let singles = runs.split_off((word(72) as usize).min(runs.len()));
        let head = IndexHead {
            container: id(&bytes[16..32]),
            node: id(&bytes[32..48]),
            marker: (word(88), Some(word(96)).filter(|it| *it > 0)),
            size: word(48),
            stamp: Stamp { sequence: word(56), seat: word(64) as u32 },
            logs: lines.chunks_exact(LOG_BYTES).map(line).collect(),
            runs,
            singles,
        };
        head.is_possible(file_bytes - bytes.len() as u64)
            .then_some(head)
            .ok_or_else(|| "it contradicts itself".into())
    }

    fn is_possible(&self, block_bytes: u64) -> bool {
        let bytes = |fences: &[Fence], each: usize, most: usize| {
            let is_possible = |it: &Fence| (1..=most as u32).contains(&it.entries);
            let entries: u64 = fences.iter().map(|it| u64::from(it.entries)).sum();
            let is_sorted = fences.is_sorted_by(|a, b| a.first <= b.first && a.reach <= b.reach);
            (is_sorted && fences.iter().all(is_possible)).then_some(entries * each as u64)
        };
        let runs = bytes(&self.runs, RUN_BYTES, RUNS_PER_BLOCK);
        let singles = bytes(&self.singles, SINGLE_BYTES, SINGLES_PER_BLOCK);
        let is_whole =
            runs.zip(singles).is_some_and(|(runs, singles)| runs + singles == block_bytes);
        let mut sizes = self.logs.iter().map(|it| it.size).chain([self.size]);
        // No file is larger.
        is_whole && sizes.all(|it| it <= i64::MAX as u64)
    }

    /// Returns why it cannot be used with these logs, of which `last` tells the last stamps; `None` if it can.
    pub fn refusal(
        &self,
        container: &IndexedContainer,
        last: impl Fn(u32) -> Option<LastStamps>,
    ) -> Option<String> {
        if self.container != container.id {
            return Some("it is another container's".into());
        }
        // Nothing in it says that it is true: whoever hands over a container could have it say anything.
        let (number, made) = container.marker;
        if self.marker.0 != number || made.is_some() && self.marker.1 != made {
            return Some("it came with a copy, or from another place".into());
        }
        if self.stamp.sequence >= container.next {
            return Some("it is newer than all that was written".into());
        }
        for (number, log) in (0..).zip(&self.logs) {
            let Some(last) = last(number) else {
                return Some(format!("nothing is known of log {number}"));
            };
            let is_sure = self.node == container.node && last.is_here;
            if !is_sure && last.durable < log.highest {
                return Some(format!("what it says of log {number} was never durable"));
            }
            if last.intended < log.intended {
                return Some(format!("it is newer than log {number}"));
            }
            if last.intended != log.intended && last.intended <= self.stamp.sequence {
                return Some(format!("it does not know all of log {number}"));
            }
        }
        None
    }
}

fn checksum(bytes: &[u8]) -> u32 {
    let before = crc32c::crc32c(&bytes[..CHECKSUM_AT]);
    crc32c::crc32c_append(before, &bytes[HEADER_BYTES..])
}

fn id(bytes: &[u8]) -> Id {
    let mut all = [0; 16];
    all.copy_from_slice(bytes);
    Id::from_bytes(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn head() -> IndexHead {
        let fence = |first| Fence { first, reach: first + 10, entries: 3, checksum: 9 };
        IndexHead {
            container: Id::from_bytes([3; 16]),
            node: Id::from_bytes([4; 16]),
            marker: (55, Some(66)),
            size: 1 << 40,
            stamp: Stamp { sequence: 77, seat: 1 },
            logs: vec![IndexedLog { size: 4096, intended: 7, highest: 6 }; 2],
            runs: vec![fence(0), fence(5)],
            singles: vec![fence(9)],
        }
    }

    fn file_bytes() -> u64 {
        (head().encode().len() + 6 * RUN_BYTES + 3 * SINGLE_BYTES) as u64
    }

    #[test]
    fn what_was_encoded_is_decoded() {
        let bytes = head().encode();
        assert_eq!(IndexHead::decode(&bytes, file_bytes()), Ok(head()));
        for length in 0..bytes.len() {
            assert!(IndexHead::decode(&bytes[..length], file_bytes()).is_err());
        }
        assert!(IndexHead::decode(&bytes, file_bytes() + 1).is_err());
        let mut huge = head();
        huge.logs[1].size = 1 << 63;
        assert!(IndexHead::decode(&huge.encode(), file_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn one_flipped_bit_is_noticed(bit in 0usize..8 * 248) {
            let mut bytes = head().encode();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let is_unused = (CHECKSUM_AT + 4..HEADER_BYTES).contains(&(bit / 8));
            prop_assert!(IndexHead::decode(&bytes, file_bytes()).is_err() || is_unused);
        }

        #[test]
        fn no_bytes_are_too_strange(bytes: Vec<u8>, file_bytes: u64) {
            let _ = IndexHead::decode(&bytes, file_bytes);
        }
    }
}
