//! What is written: pages that say whose they are.
//!
//! Every 4 KiB page of an attempt begins with its identity and ends with a pattern that
//! depends on the race alone. So a page that is missing, old, torn or in the wrong place is found
//! by reading it back, whatever the router believed.

use plimsoll_route::Attempt;

/// Data is written in whole pages; the last one of an attempt may hold less.
pub(crate) const PAGE_BYTES: usize = 4096;

const STAMP_BYTES: usize = 64;

/// The bytes on the device for this many bytes of data.
pub(crate) fn padded(length_bytes: u64) -> u64 {
    length_bytes.next_multiple_of(PAGE_BYTES as u64)
}

/// Writes and checks the pages of one race.
pub(crate) struct Stamps {
    race: u64,
    body: Vec<u8>,
}

impl Stamps {
    pub fn new(race: u64) -> Self {
        let mut state = race | 1;
        let mut next = || {
            // xorshift64: a pattern that no file system takes for zeros or compresses away.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()
        };
        let body = (0..PAGE_BYTES / 8).flat_map(|_| next()).collect();
        Stamps { race, body }
    }

    /// Fills memory that was not used for this race before.
    pub fn fill(&self, memory: &mut [u8]) {
        for page in memory.chunks_exact_mut(PAGE_BYTES) {
            page.copy_from_slice(&self.body);
        }
    }

    /// Puts the identity onto every page of an attempt.
    pub fn put(&self, attempt: &Attempt, memory: &mut [u8]) {
        let pages = memory.chunks_exact_mut(PAGE_BYTES);
        for (page, memory) in pages.enumerate() {
            memory[..STAMP_BYTES].copy_from_slice(&self.stamp(attempt, page as u64));
        }
    }

    /// Which pages are not what was written there. `first_page` is that of `memory`.
    pub fn wrong_pages(
        &self,
        attempt: &Attempt,
        first_page: u64,
        memory: &[u8],
    ) -> impl Iterator<Item = u64> {
        let pages = memory.chunks_exact(PAGE_BYTES).zip(first_page..);
        let is_right = |page: &[u8], number: u64| {
            page[..STAMP_BYTES] == self.stamp(attempt, number)
                && page[STAMP_BYTES..] == self.body[STAMP_BYTES..]
        };
        pages.filter(move |(page, number)| !is_right(page, *number)).map(|(_, number)| number)
    }

    fn stamp(&self, attempt: &Attempt, page: u64) -> [u8; STAMP_BYTES] {
        let write = attempt.write;
        let words = [
            u64::from_le_bytes(*b"plimsoll"),
            self.race,
            u64::from(write.writer) << 32 | u64::from(write.sequence),
            u64::from(write.part) << 32 | u64::from(attempt.target.0),
            attempt.offset_bytes,
            attempt.length_bytes,
            page,
            u64::from(attempt.attempt.slot) << 32 | u64::from(attempt.attempt.generation),
        ];
        let mut stamp = [0; STAMP_BYTES];
        for (bytes, word) in stamp.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        stamp
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_route::{AttemptId, TargetId, WriteId};

    fn attempt(sequence: u32) -> Attempt {
        Attempt {
            attempt: AttemptId { slot: 1, generation: 2 },
            write: WriteId { writer: 3, sequence, part: 0 },
            target: TargetId(1),
            offset_bytes: 0,
            length_bytes: 10_000,
        }
    }

    #[test]
    fn every_changed_page_is_found() {
        let stamps = Stamps::new(7);
        let mut memory = vec![0; padded(10_000) as usize];
        stamps.fill(&mut memory);
        stamps.put(&attempt(0), &mut memory);
        let wrong = |stamps: &Stamps, sequence, first_page, memory: &[u8]| -> Vec<u64> {
            stamps.wrong_pages(&attempt(sequence), first_page, memory).collect()
        };
        assert!(wrong(&stamps, 0, 0, &memory).is_empty());
        assert!(wrong(&stamps, 0, 1, &memory[PAGE_BYTES..]).is_empty());
        assert_eq!(wrong(&stamps, 1, 0, &memory), [0, 1, 2]);
        assert_eq!(wrong(&Stamps::new(8), 0, 0, &memory), [0, 1, 2]);
        for at in [0, 63, 64, 4095, 4096, 12_287] {
            let mut torn = memory.clone();
            torn[at] ^= 1;
            assert_eq!(wrong(&stamps, 0, 0, &torn), [at as u64 / 4096]);
        }
    }
}
