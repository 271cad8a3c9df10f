//! Which transfer comes when, and where it lies.

use std::ops::Range;

use plimsoll_domain::burst::Pattern;

use crate::{Burst, Permutation};

/// One call to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Transfer {
    /// Index of the file in the burst's paths.
    pub file: u32,
    /// Where in the file.
    pub offset: u64,
    /// How many bytes.
    pub length: u32,
}

/// All transfers of a burst, computed when they are asked for.
#[derive(Debug, Clone)]
pub(crate) struct Transfers {
    files: u64,
    offset: u64,
    chunk: u64,
    transfer: u64,
    /// Bytes from the first to the last place where a transfer may lie.
    span: u64,
    count: u64,
    order: Option<Permutation>,
}

impl Transfers {
    /// Returns the transfers of a checked burst.
    pub fn new(burst: &Burst) -> Self {
        let transfer = burst.transfer.get();
        let span = burst.span.unwrap_or(burst.bytes).get();
        let places = span.div_ceil(transfer);
        let is_random = burst.pattern == Pattern::Random;
        Self {
            files: burst.paths.len() as u64,
            offset: burst.offset.get(),
            // One file has no turns to take.
            chunk: if burst.paths.len() > 1 { burst.chunk.get() } else { u64::MAX },
            transfer,
            span,
            count: burst.bytes.get().div_ceil(transfer),
            order: is_random.then(|| Permutation::new(places, burst.seed)),
        }
    }

    /// Returns the number of transfers.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the transfer that comes after `index` others.
    pub fn nth(&self, index: u64) -> Transfer {
        let place = self.order.as_ref().map_or(index, |order| order.at(index));
        let position = place * self.transfer;
        let length = self.transfer.min(self.span - position) as u32;
        let (file, offset) = self.lies_at(position);
        Transfer { file: file as u32, offset, length }
    }

    /// Returns where in the file `file` transfers may lie; empty when the file gets none.
    pub fn region(&self, file: usize) -> Range<u64> {
        if self.files == 1 {
            return self.offset..self.offset + self.span;
        }
        let chunks = self.span / self.chunk;
        let (rounds, rest) = (chunks / self.files, chunks % self.files);
        let file = file as u64;
        let bytes = rounds * self.chunk
            + match file.cmp(&rest) {
                std::cmp::Ordering::Less => self.chunk,
                std::cmp::Ordering::Equal => self.span % self.chunk,
                std::cmp::Ordering::Greater => 0,
            };
        self.offset..self.offset + bytes
    }

    fn lies_at(&self, position: u64) -> (u64, u64) {
        if self.files == 1 {
            return (0, self.offset + position);
        }
        let (chunk, within) = (position / self.chunk, position % self.chunk);
        (chunk % self.files, self.offset + chunk / self.files * self.chunk + within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::burst::tests_support::burst;
    use plimsoll_domain::Bytes;
    use proptest::prelude::*;

    fn dealt(files: u64, chunk: u64, bytes: u64, transfer: u64) -> Burst {
        let mut burst = burst("/0");
        burst.paths = (0..files).map(|it| format!("/{it}").into()).collect();
        (burst.chunk, burst.bytes) = (Bytes::new(chunk), Bytes::new(bytes));
        burst.transfer = Bytes::new(transfer);
        burst
    }

    #[test]
    fn chunks_are_dealt_in_turns() {
        let transfers = Transfers::new(&dealt(3, 8, 28, 4));
        let all: Vec<_> = (0..transfers.count()).map(|it| transfers.nth(it)).collect();
        let at = |file, offset, length| Transfer { file, offset, length };
        assert_eq!(
            all,
            [
                at(0, 0, 4),
                at(0, 4, 4),
                at(1, 0, 4),
                at(1, 4, 4),
                at(2, 0, 4),
                at(2, 4, 4),
                at(0, 8, 4)
            ]
        );
        assert_eq!([0, 1, 2].map(|it| transfers.region(it)), [0..12, 0..8, 0..8]);
    }

    #[test]
    fn the_last_one_may_be_shorter() {
        let transfers = Transfers::new(&dealt(1, 0, 10, 4));
        let lengths: Vec<_> = (0..transfers.count()).map(|it| transfers.nth(it).length).collect();
        assert_eq!(lengths, [4, 4, 2]);
    }

    proptest! {
        #[test]
        fn every_byte_of_every_region_once(
            files in 1u64..5, turns in 1u64..4, transfer in 1u64..9, bytes in 1u64..200,
            offset in 0u64..100, random: bool, seed: u64,
        ) {
            let mut burst = dealt(files, turns * transfer, bytes.max(transfer), transfer);
            burst.offset = Bytes::new(offset);
            burst.seed = seed;
            burst.pattern = if random { Pattern::Random } else { Pattern::Sequential };
            let transfers = Transfers::new(&burst);
            let mut touched = vec![std::collections::BTreeSet::new(); files as usize];
            for transfer in (0..transfers.count()).map(|it| transfers.nth(it)) {
                for byte in transfer.offset..transfer.offset + u64::from(transfer.length) {
                    prop_assert!(touched[transfer.file as usize].insert(byte));
                }
            }
            for (file, bytes) in touched.into_iter().enumerate() {
                prop_assert!(bytes.into_iter().eq(transfers.region(file)));
            }
        }

        #[test]
        fn a_span_gives_distinct_places_in_it(span in 1u64..300, share in 1u64..4, seed: u64) {
            let mut burst = dealt(2, 8, 4 * span.div_ceil(share), 4);
            burst.span = Some(Bytes::new(4 * span));
            burst.pattern = Pattern::Random;
            burst.seed = seed;
            let transfers = Transfers::new(&burst);
            let mut places = std::collections::BTreeSet::new();
            for transfer in (0..transfers.count()).map(|it| transfers.nth(it)) {
                let region = transfers.region(transfer.file as usize);
                prop_assert!(region.contains(&transfer.offset) && transfer.offset + 4 <= region.end);
                prop_assert!(places.insert((transfer.file, transfer.offset)));
            }
            prop_assert_eq!(places.len() as u64, span.div_ceil(share));
        }
    }
}
