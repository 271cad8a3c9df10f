//! What is written: data that no storage can compress, and that any process can compute again from
//! the seed, the file's index and the offset.
//!
//! The bytes of a file repeat a *tape* of random bytes, which the seed gives, once per
//! [`PERIOD`]: so a transfer is written straight from the tape, whatever its offset, and the
//! loop has nothing to do but I/O. Only a burst that is to be verified also *stamps* each block
//! of 4 KiB with its seed, file and offset: a block that lies elsewhere, that belongs to an older
//! burst, or that lost a bit is then recognized.
//!
//! Storage that deduplicates finds the tape's blocks again after a period; only stamped blocks are
//! all different. Stamping is part of the measured time, so it is done only for bursts that request
//! it.

use plimsoll_stats::random::mix;

use crate::memory::Memory;
use crate::mismatch::Mismatch;
use crate::transfers::Transfer;

/// Longer than the records and windows of what compresses on the fly (ZFS: 128 KiB and LZ4's
/// 64 KiB unless set otherwise), short enough for a core's own cache.
const PERIOD: usize = 1 << 20;

/// Smaller blocks are not moved about by any storage in use.
const BLOCK: u64 = 4096;
const STAMP: usize = 16;

/// The data of one seed.
#[derive(Debug)]
pub(crate) struct Content {
    seed: u64,
    /// As long as a period and the longest transfer, which so never wraps around.
    tape: Memory,
}

impl Content {
    /// Returns the data for transfers of at most `transfer` bytes.
    pub fn new(seed: u64, transfer: usize) -> Result<Self, String> {
        let mut tape = Memory::new(PERIOD + transfer)?;
        let (first, rest) = tape.bytes_mut().split_at_mut(PERIOD);
        for (index, word) in first.chunks_exact_mut(8).enumerate() {
            word.copy_from_slice(&mix(mix(seed).wrapping_add(index as u64)).to_le_bytes());
        }
        for again in rest.chunks_mut(PERIOD) {
            again.copy_from_slice(&first[..again.len()]);
        }
        Ok(Self { seed, tape })
    }

    /// Returns the memory that unstamped transfers are written from.
    pub fn tape(&self) -> &Memory {
        &self.tape
    }

    /// The same, to be kept.
    pub fn tape_mut(&mut self) -> &mut Memory {
        &mut self.tape
    }

    /// Returns where on the tape the bytes from `offset` on are.
    pub fn place_on_tape(offset: u64) -> usize {
        (offset % PERIOD as u64) as usize
    }

    /// Fills a transfer's memory with its part of the tape.
    pub fn copy(&self, transfer: &Transfer, memory: &mut [u8]) {
        memory.copy_from_slice(self.unstamped(transfer.offset, memory.len()));
    }

    /// Puts the stamps of all its blocks into a transfer's memory.
    pub fn stamp(&self, transfer: &Transfer, memory: &mut [u8]) {
        for (at, part) in stamps_of(transfer.offset, memory.len()) {
            let stamp = self.stamp_of(transfer.file, at);
            let start = (at + part.start as u64 - transfer.offset) as usize;
            memory[start..start + part.len()].copy_from_slice(&stamp[part]);
        }
    }

    /// Looks for the first byte that is not what a verified burst wrote there.
    pub fn compare(&self, transfer: &Transfer, memory: &[u8]) -> Result<(), (u64, Mismatch)> {
        // The stamps first: they tell what kind of wrong it is.
        for (at, part) in stamps_of(transfer.offset, memory.len()) {
            let stamp = self.stamp_of(transfer.file, at);
            let start = (at + part.start as u64 - transfer.offset) as usize;
            if memory[start..start + part.len()] != stamp[part] {
                self.compare_data(transfer, &memory[..start])?;
                return Err((at.max(transfer.offset), self.judge(transfer, memory, at)));
            }
        }
        self.compare_data(transfer, memory)
    }

    /// Everything but the stamps.
    fn compare_data(&self, transfer: &Transfer, memory: &[u8]) -> Result<(), (u64, Mismatch)> {
        let expected = self.unstamped(transfer.offset, memory.len());
        let mut start = 0;
        let compare_until = |start: usize, end: usize| {
            if memory[start..end] == expected[start..end] {
                return Ok(());
            }
            let mut pairs = memory[start..end].iter().zip(&expected[start..end]);
            let at = start + pairs.position(|(found, expected)| found != expected).unwrap_or(0);
            let (found, expected) = (memory[at], expected[at]);
            Err((transfer.offset + at as u64, Mismatch::Changed { found, expected }))
        };
        for (at, part) in stamps_of(transfer.offset, memory.len()) {
            let stamp_start = (at + part.start as u64 - transfer.offset) as usize;
            compare_until(start, stamp_start)?;
            start = stamp_start + part.len();
        }
        compare_until(start, memory.len())
    }

    /// Returns what a block with a wrong stamp is.
    fn judge(&self, transfer: &Transfer, memory: &[u8], at: u64) -> Mismatch {
        let Some(start) = at.checked_sub(transfer.offset) else { return Mismatch::OtherData };
        let start = start as usize;
        let block = &memory[start..memory.len().min(start + BLOCK as usize)];
        if block.iter().all(|byte| *byte == 0) {
            return Mismatch::Zeros;
        }
        if block == self.unstamped(at, block.len()) {
            return Mismatch::Unstamped;
        }
        let has_data_of =
            |offset| block.get(STAMP..) == Some(&self.unstamped(offset, block.len())[STAMP..]);
        match block.get(..STAMP).and_then(|stamp| self.read_stamp(stamp)) {
            Some((file, offset)) if has_data_of(offset) => Mismatch::Misplaced { file, offset },
            _ if has_data_of(at) => Mismatch::ChangedStamp,
            _ => Mismatch::OtherData,
        }
    }

    fn unstamped(&self, offset: u64, length: usize) -> &[u8] {
        let start = Self::place_on_tape(offset);
        &self.tape.bytes()[start..start + length]
    }

    fn stamp_of(&self, file: u32, block_offset: u64) -> [u8; STAMP] {
        let whose = self.tag() ^ u64::from(file);
        let mut stamp = [0; STAMP];
        stamp[..8].copy_from_slice(&whose.to_le_bytes());
        stamp[8..].copy_from_slice(&(mix(whose) ^ block_offset).to_le_bytes());
        stamp
    }

    /// Returns whose stamp it is, if this seed's.
    fn read_stamp(&self, stamp: &[u8]) -> Option<(u32, u64)> {
        let word = |at: usize| Some(u64::from_le_bytes(stamp.get(at..at + 8)?.try_into().ok()?));
        let whose = word(0)?;
        let file = u32::try_from(whose ^ self.tag()).ok()?;
        let offset = word(8)? ^ mix(whose);
        (offset.is_multiple_of(BLOCK) && i64::try_from(offset).is_ok()).then_some((file, offset))
    }

    fn tag(&self) -> u64 {
        mix(self.seed ^ STAMP_SALT)
    }
}

/// Keeps stamps different from words of the tape.
const STAMP_SALT: u64 = 0x7374_616d_7073_0001;

/// Returns the blocks whose stamps lie in a stretch of a file, and which part of each does.
fn stamps_of(offset: u64, length: usize) -> impl Iterator<Item = (u64, std::ops::Range<usize>)> {
    let end = offset + length as u64;
    let first = offset - offset % BLOCK;
    let blocks = (0..).map(move |it| first + it * BLOCK).take_while(move |at| *at < end);
    blocks.filter_map(move |at| {
        let part_start = offset.saturating_sub(at).min(STAMP as u64) as usize;
        let part_end = (end - at).min(STAMP as u64) as usize;
        (part_start < part_end).then_some((at, part_start..part_end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(content: &Content, transfer: &Transfer) -> Vec<u8> {
        let mut memory = vec![0; transfer.length as usize];
        content.copy(transfer, &mut memory);
        content.stamp(transfer, &mut memory);
        memory
    }

    fn whole(length: u32) -> Transfer {
        Transfer { file: 3, offset: 1 << 20, length }
    }

    proptest! {
        // Each case fills a tape, which takes its time without optimisation.
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn what_was_written_in_one_size_is_right_in_another(
            offset in 0u64..3 << 20, length in 1u32..20_000, cut in 0u32..20_000, seed: u64,
        ) {
            let content = Content::new(seed, 20_000).unwrap();
            let transfer = Transfer { file: 1, offset, length };
            let memory = written(&content, &transfer);
            let cut = cut % length;
            let first = Transfer { length: cut, ..transfer };
            let second =
                Transfer { offset: offset + u64::from(cut), length: length - cut, ..transfer };
            prop_assert_eq!(content.compare(&first, &memory[..cut as usize]), Ok(()));
            prop_assert_eq!(content.compare(&second, &memory[cut as usize..]), Ok(()));
        }

        #[test]
        fn any_changed_byte_is_found(at in 0usize..20_000, by in 1u8.., offset in 0u64..10_000) {
            let content = Content::new(5, 20_000).unwrap();
            let transfer = Transfer { file: 1, offset, length: 20_000 };
            let mut memory = written(&content, &transfer);
            memory[at] ^= by;
            let (found_at, _) = content.compare(&transfer, &memory).unwrap_err();
            // A stamp is wrong as a whole, and a block is told by its stamp.
            let found_at = (found_at - offset) as usize;
            prop_assert!(found_at <= at && at < found_at + STAMP, "{found_at} {at}");
        }
    }

    #[test]
    fn says_what_kind_of_wrong_it_is() {
        let content = Content::new(5, 1 << 20).unwrap();
        let transfer = whole(16 << 10);
        let right = written(&content, &transfer);
        let judged = |change: &dyn Fn(&mut [u8])| {
            let mut memory = right.clone();
            change(&mut memory);
            content.compare(&transfer, &memory).unwrap_err()
        };
        let at = |block: u64| transfer.offset + block * BLOCK;
        let swapped = judged(&|memory| {
            let (first, second) = memory.split_at_mut(8192);
            first[4096..].swap_with_slice(&mut second[..4096]);
        });
        assert_eq!(swapped, (at(1), Mismatch::Misplaced { file: 3, offset: at(2) }));
        assert_eq!(judged(&|memory| memory[8192..12_288].fill(0)), (at(2), Mismatch::Zeros));
        let stale = written(&Content::new(6, 1 << 20).unwrap(), &transfer);
        let old = judged(&|memory| memory[4096..8192].copy_from_slice(&stale[4096..8192]));
        assert_eq!(old, (at(1), Mismatch::OtherData));
        let other_file = written(&content, &Transfer { file: 0, ..transfer });
        let crossed = judged(&|memory| memory[..4096].copy_from_slice(&other_file[..4096]));
        assert_eq!(crossed, (at(0), Mismatch::Misplaced { file: 0, offset: at(0) }));
        let plain = judged(&|memory| content.copy(&transfer, memory));
        assert_eq!(plain, (at(0), Mismatch::Unstamped));
        assert_eq!(judged(&|memory| memory[3] ^= 1), (at(0), Mismatch::ChangedStamp));
        let flipped = judged(&|memory| memory[5000] ^= 0x10);
        let expected = right[5000];
        assert_eq!(
            flipped,
            (transfer.offset + 5000, Mismatch::Changed { found: expected ^ 0x10, expected })
        );
    }

    #[test]
    fn the_data_does_not_compress() {
        let content = Content::new(9, 0).unwrap();
        let words: std::collections::HashSet<&[u8]> =
            content.tape().bytes()[..PERIOD].chunks(8).collect();
        assert_eq!(words.len(), PERIOD / 8, "a word of eight bytes comes twice");
        let mut counts = [0u32; 256];
        content.tape().bytes()[..PERIOD].iter().for_each(|byte| counts[usize::from(*byte)] += 1);
        // 4096 of each byte on average, with a standard deviation of 64.
        assert!(counts.iter().all(|count| count.abs_diff(4096) < 400), "{counts:?}");
    }
}
