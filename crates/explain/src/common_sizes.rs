//! The most common sizes of requests, exact as far as bounded memory allows.
//!
//! A process counts every size that it uses. When it uses too many, the rarest are dropped, and
//! so are all but the most common when it hands its counts over. What was dropped is bounded:
//! no size has more requests than its count and what may have been missed. Dropping depends on
//! one process's events alone, so the counts are the same for any number of threads.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use crate::number_map::NumberState;
use plimsoll_stored::{Malformed, Reader, Stored};

/// Sizes that a process counts at a time.
const SIZES_MAX: usize = 4096;
/// Sizes that a process hands over: of all its files together, and of each.
pub(crate) const SIZES_OF_PROCESS: usize = 64;
pub(crate) const SIZES_OF_FILE: usize = 4;
/// Sizes that are reported.
const SIZES_REPORTED: usize = 8;

/// Requests by exact size.
#[derive(Debug, Clone, Default)]
pub(crate) struct SizeCounts {
    calls: HashMap<u64, u64, NumberState>,
    /// The last size, and requests of it that are not in the map yet.
    recent: (u64, u64),
    missed_at_most: u64,
}

impl Stored for SizeCounts {
    fn put(&self, out: &mut Vec<u8>) {
        let mut settled = self.clone();
        settled.settle();
        let calls: BTreeMap<u64, u64> = settled.calls.into_iter().collect();
        calls.put(out);
        self.missed_at_most.put(out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let calls: BTreeMap<u64, u64> = Stored::get(from)?;
        let (calls, recent) = (calls.into_iter().collect(), (0, 0));
        Ok(SizeCounts { calls, recent, missed_at_most: Stored::get(from)? })
    }
}

impl SizeCounts {
    #[inline]
    pub fn add(&mut self, bytes: u64) {
        if bytes != self.recent.0 {
            self.change_size(bytes);
        }
        self.recent.1 += 1;
    }

    #[inline(never)]
    fn change_size(&mut self, bytes: u64) {
        self.settle();
        self.recent.0 = bytes;
        if self.calls.len() >= SIZES_MAX {
            self.keep(SIZES_MAX / 2);
        }
    }

    fn settle(&mut self) {
        let (bytes, calls) = self.recent;
        if calls > 0 {
            let sum = self.calls.entry(bytes).or_insert(0);
            *sum = sum.saturating_add(calls);
            self.recent.1 = 0;
        }
    }

    /// Drops all but the most common; of equally common ones the largest.
    fn keep(&mut self, sizes: usize) {
        if self.calls.len() <= sizes {
            return;
        }
        let ordered = ordered(&self.calls);
        let dropped = ordered.get(sizes).map_or(0, |size| size.calls);
        self.missed_at_most = self.missed_at_most.saturating_add(dropped);
        self.calls = ordered[..sizes].iter().map(|size| (size.bytes, size.calls)).collect();
    }

    /// Adds at most this many sizes of another.
    pub fn take(&mut self, mut other: SizeCounts, sizes: usize) {
        other.settle();
        other.keep(sizes);
        self.merge(other);
    }

    /// Adds all sizes of another.
    pub fn merge(&mut self, mut other: SizeCounts) {
        self.settle();
        other.settle();
        for (bytes, calls) in other.calls {
            let sum = self.calls.entry(bytes).or_insert(0);
            *sum = sum.saturating_add(calls);
        }
        self.missed_at_most = self.missed_at_most.saturating_add(other.missed_at_most);
    }

    /// Returns the most common, most requests first.
    pub fn finish(mut self) -> CommonSizes {
        self.settle();
        let mut sizes = ordered(&self.calls);
        sizes.truncate(SIZES_REPORTED);
        CommonSizes { sizes, missed_at_most: self.missed_at_most }
    }
}

fn ordered(calls: &HashMap<u64, u64, NumberState>) -> Vec<CommonSize> {
    let sizes = calls.iter().map(|(bytes, calls)| CommonSize { bytes: *bytes, calls: *calls });
    let mut sizes: Vec<CommonSize> = sizes.collect();
    sizes.sort_unstable_by_key(|size| (Reverse(size.calls), Reverse(size.bytes)));
    sizes
}

/// A size of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommonSize {
    /// Bytes asked for.
    pub bytes: u64,
    /// Requests of exactly this size; more by at most [`CommonSizes::missed_at_most`].
    pub calls: u64,
}

/// The most common sizes, most requests first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommonSizes {
    /// At most eight.
    pub sizes: Vec<CommonSize>,
    /// Requests of any one size that may be missing from its count. 0 when all are exact.
    pub missed_at_most: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sizes: impl Iterator<Item = u64>) -> SizeCounts {
        let mut counts = SizeCounts::default();
        sizes.for_each(|bytes| counts.add(bytes));
        counts
    }

    fn told(sizes: &CommonSizes) -> Vec<(u64, u64)> {
        sizes.sizes.iter().map(|size| (size.bytes, size.calls)).collect()
    }

    #[test]
    fn few_sizes_are_exact() {
        let found = of([0, 7, 7, 4096, 7, 4096, 0, 0, 0].into_iter()).finish();
        assert_eq!(told(&found), [(0, 4), (7, 3), (4096, 2)]);
        assert_eq!(found.missed_at_most, 0);
        assert_eq!(SizeCounts::default().finish(), CommonSizes::default());
    }

    #[test]
    fn a_common_size_among_very_many_is_found_within_its_bound() {
        let many = (0..100_000u64).flat_map(|index| [1 << 20, 1_000_001 + index * 8]);
        let found = of(many).finish();
        let CommonSize { bytes, calls } = found.sizes[0];
        assert_eq!(bytes, 1 << 20);
        assert!((1..1000).contains(&found.missed_at_most), "{found:?}");
        assert!((calls..=calls + found.missed_at_most).contains(&100_000));
    }

    #[test]
    fn the_order_of_processes_does_not_matter() {
        let process = |first: u64| of((0..500).flat_map(move |i| [first + i % 100, 5, 5]));
        let (mut one, mut other) = (SizeCounts::default(), SizeCounts::default());
        for index in 0..20 {
            one.take(process(index * 10), SIZES_OF_PROCESS);
            other.take(process(190 - index * 10), SIZES_OF_PROCESS);
        }
        let found = one.finish();
        assert_eq!(found, other.finish());
        assert_eq!((found.sizes[0].bytes, found.sizes[0].calls), (5, 20_000 + 5));
        assert_eq!(found.missed_at_most, 20 * 5, "36 sizes of 5 requests, 20 times");
    }
}
