//! Bytes that were touched more than once, in bounded memory.
//!
//! Disjoint ranges of a file are kept in order. When there are too many, only those in a sample
//! of the file's regions are kept on: half of the regions, then a quarter, chosen by a hash of
//! their number, and what was seen there stands for the whole.

use plimsoll_stored::stored;

/// Ranges that are kept; the next one halves the sample. Small enough for inserting in a list.
const EXTENTS_MAX: usize = 1024;

/// Bytes of a region, as a power of two.
const REGION_SHIFT: u32 = 16;

/// Times that the sample is halved at most.
const HALVINGS_MAX: u32 = 40;

/// Regions of one request that are looked at once the file is sampled.
const REGIONS_MAX: u64 = 1024;

/// Ranges of a file, and how much of them was touched again.
#[derive(Debug, Clone, Default)]
pub(crate) struct Extents {
    /// Start and end, ascending, with gaps between them.
    ranges: Vec<(u64, u64)>,
    /// One in 2^halvings regions is sampled.
    halvings: u32,
    /// All bytes added.
    bytes: u64,
    /// Bytes added and bytes that had been there already, within the sample.
    sampled: u64,
    repeated: u64,
    /// A part of the file that stays in any sample has too many ranges: what was counted by then stands for all.
    has_ended: bool,
}

/// Bytes touched again, by the same process in the same file and direction; scaled up where a
/// sample stands for the whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RepeatedBytes {
    /// Bytes that were touched again after the first time.
    pub repeated: u64,
    /// All bytes, each time they were touched.
    pub bytes: u64,
    /// True when a sample stands for the whole somewhere.
    pub is_estimate: bool,
}

stored! { RepeatedBytes { repeated, bytes, is_estimate } }

impl RepeatedBytes {
    /// Returns the part of the bytes that had been touched before; `None` without bytes.
    pub fn share(&self) -> Option<f64> {
        (self.bytes > 0).then(|| self.repeated as f64 / self.bytes as f64)
    }

    pub(crate) fn merge(&mut self, other: &RepeatedBytes) {
        self.repeated = self.repeated.saturating_add(other.repeated);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.is_estimate |= other.is_estimate;
    }
}

impl Extents {
    /// Adds a request.
    #[inline]
    pub fn add(&mut self, offset: u64, bytes: u64) {
        let end = offset.saturating_add(bytes);
        self.bytes = self.bytes.saturating_add(end - offset);
        if self.has_ended {
            return;
        }
        if self.halvings == 0 {
            self.sampled = self.bytes;
            self.insert(offset, end);
        } else {
            self.add_sampled(offset, end);
        }
        if self.ranges.len() > EXTENTS_MAX {
            self.halve();
        }
    }

    fn add_sampled(&mut self, offset: u64, end: u64) {
        let (first, last) = (offset >> REGION_SHIFT, end.saturating_sub(1) >> REGION_SHIFT);
        for region in first..=last.min(first.saturating_add(REGIONS_MAX)) {
            if is_sampled(region, self.halvings) {
                let start = offset.max(region << REGION_SHIFT);
                let end = end.min(region_end(region));
                self.sampled = self.sampled.saturating_add(end.saturating_sub(start));
                self.insert(start, end);
            }
        }
    }

    /// Unites a range with those that are there.
    #[inline]
    fn insert(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        // The common case: behind everything so far.
        match self.ranges.last_mut() {
            None => return self.ranges.push((start, end)),
            Some(last) if start > last.1 => return self.ranges.push((start, end)),
            Some(last) if start == last.1 => {
                last.1 = end;
                return;
            }
            Some(_) => {}
        }
        self.insert_between(start, end);
    }

    fn insert_between(&mut self, start: u64, end: u64) {
        let from = self.ranges.partition_point(|range| range.1 < start);
        let to = from + self.ranges[from..].partition_point(|range| range.0 <= end);
        if from == to {
            self.ranges.insert(from, (start, end));
            return;
        }
        let overlap = |range: &(u64, u64)| range.1.min(end).saturating_sub(range.0.max(start));
        let repeated = self.ranges[from..to].iter().map(overlap).fold(0, u64::saturating_add);
        self.repeated = self.repeated.saturating_add(repeated);
        let united = (self.ranges[from].0.min(start), self.ranges[to - 1].1.max(end));
        self.ranges[from] = united;
        self.ranges.drain(from + 1..to);
    }

    /// Keeps half of the regions. What was counted so far is halved with them.
    fn halve(&mut self) {
        let all: u64 = length(&self.ranges);
        while self.ranges.len() > EXTENTS_MAX / 2 && self.halvings < HALVINGS_MAX {
            self.halvings += 1;
            let mut kept = Vec::with_capacity(EXTENTS_MAX + 1);
            for (start, end) in &self.ranges {
                keep_sampled(*start, *end, self.halvings, &mut kept);
            }
            self.ranges = kept;
        }
        // Whoever knows the hash can choose regions that are in every sample.
        self.has_ended = self.ranges.len() > EXTENTS_MAX / 2;
        let part = length(&self.ranges) as f64 / (all as f64).max(1.0);
        self.sampled = (self.sampled as f64 * part) as u64;
        self.repeated = (self.repeated as f64 * part) as u64;
    }

    /// Bytes touched more than once: exact, or all bytes times the share in the sample.
    pub fn repeated(&self) -> RepeatedBytes {
        let bytes = self.bytes;
        if self.halvings == 0 {
            return RepeatedBytes { repeated: self.repeated, bytes, is_estimate: false };
        }
        let share = self.repeated as f64 / (self.sampled as f64).max(1.0);
        let repeated = (bytes as f64 * share.min(1.0)) as u64;
        RepeatedBytes { repeated, bytes, is_estimate: true }
    }

    /// Returns the bytes that are in both, scaled up.
    pub fn common(&self, other: &Extents) -> u64 {
        let halvings = self.halvings.max(other.halvings);
        let (mut a, mut b) = (self.ranges.iter().peekable(), other.ranges.iter().peekable());
        let mut common = 0u64;
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            let (start, end) = (x.0.max(y.0), x.1.min(y.1));
            if start < end {
                common = common.saturating_add(sampled_bytes(start, end, halvings));
            }
            if x.1 < y.1 {
                a.next()
            } else {
                b.next()
            };
        }
        common.saturating_mul(1 << halvings)
    }
}

fn length(ranges: &[(u64, u64)]) -> u64 {
    ranges.iter().fold(0, |sum, range| sum.saturating_add(range.1 - range.0))
}

fn region_end(region: u64) -> u64 {
    region.saturating_add(1).saturating_mul(1 << REGION_SHIFT)
}

/// Adds the parts of a range that lie in sampled regions.
fn keep_sampled(start: u64, end: u64, halvings: u32, kept: &mut Vec<(u64, u64)>) {
    let (first, last) = (start >> REGION_SHIFT, end.saturating_sub(1) >> REGION_SHIFT);
    for region in first..=last.min(first.saturating_add(REGIONS_MAX)) {
        if !is_sampled(region, halvings) {
            continue;
        }
        let part = (start.max(region << REGION_SHIFT), end.min(region_end(region)));
        match kept.last_mut() {
            Some(last) if last.1 == part.0 => last.1 = part.1,
            _ => kept.push(part),
        }
    }
}

fn sampled_bytes(start: u64, end: u64, halvings: u32) -> u64 {
    if halvings == 0 {
        return end - start;
    }
    let mut kept = Vec::new();
    keep_sampled(start, end, halvings, &mut kept);
    length(&kept)
}

#[inline]
fn is_sampled(region: u64, halvings: u32) -> bool {
    plimsoll_stats::random::mix(region) & ((1 << halvings) - 1) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(requests: &[(u64, u64)]) -> Extents {
        let mut extents = Extents::default();
        requests.iter().for_each(|(offset, bytes)| extents.add(*offset, *bytes));
        extents
    }

    #[test]
    fn overlaps_are_counted_exactly() {
        let extents = of(&[(0, 100), (100, 100), (300, 100), (50, 300), (0, 400)]);
        let repeated = extents.repeated();
        assert_eq!((repeated.repeated, repeated.bytes), (600, 1000));
        assert!(!repeated.is_estimate);
        assert_eq!(extents.ranges, [(0, 400)]);
    }

    #[test]
    fn common_bytes_of_two() {
        let (a, b) = (of(&[(0, 100), (200, 100)]), of(&[(50, 200)]));
        assert_eq!(a.common(&b), 100);
        assert_eq!(b.common(&a), 100);
        let touching = of(&[(100, 100)]);
        assert_eq!((touching.common(&a), a.common(&touching)), (0, 0), "they touch only");
        let (c, d) = (of(&[(0, 100), (150, 50)]), of(&[(50, 50), (120, 80)]));
        assert_eq!((c.common(&d), d.common(&c)), (100, 100));
        assert_eq!(a.common(&Extents::default()), 0);
        assert_eq!(of(&[(0, 1 << 40)]).common(&of(&[(5, 1 << 30)])), 1 << 30);
    }

    /// One of some regions stands for all of them.
    #[test]
    fn common_bytes_of_a_sample_are_scaled_up() {
        let strided = |from: u64, to: u64| (from..to).map(|i| (i * 65536, 100)).collect::<Vec<_>>();
        let (a, b) = (of(&strided(0, 20_000)), of(&strided(10_000, 30_000)));
        assert!(a.halvings > 0 && b.halvings > 0);
        let common = a.common(&b) as f64 / 1_000_000.0;
        assert!((common - 1.0).abs() < 0.3, "{common}");
    }

    /// What is written piece by piece is one range.
    #[test]
    fn ranges_that_touch_are_united() {
        assert_eq!(of(&[(0, 10), (10, 10), (20, 5)]).ranges, [(0, 25)]);
        assert_eq!(of(&[(0, 10), (11, 10)]).ranges, [(0, 10), (11, 21)]);
        assert_eq!(of(&[(20, 10), (10, 10), (0, 5)]).ranges, [(0, 5), (10, 30)]);
        assert_eq!(of(&[(0, 10), (20, 10), (10, 5)]).ranges, [(0, 15), (20, 30)]);
        assert_eq!(of(&[(20, 10), (5, 0)]).ranges, [(20, 30)]);
    }

    #[test]
    fn many_ranges_are_sampled_and_estimated() {
        let strided = |count: u64| (0..count).map(|i| (i * 8192, 100)).collect::<Vec<_>>();
        let mut requests = strided(200_000);
        requests.extend(strided(100_000));
        let repeated = of(&requests).repeated();
        assert!(repeated.is_estimate);
        let share = repeated.share().unwrap();
        assert!((share - 1.0 / 3.0).abs() < 0.05, "{share}");
        assert_eq!(repeated.bytes, 30_000_000);
        assert_eq!(of(&strided(200_000)).repeated().repeated, 0);
        let mut touched_early = strided(1_000);
        touched_early.extend(strided(10_000));
        let share = of(&touched_early).repeated().share().unwrap();
        assert!((share - 1.0 / 11.0).abs() < 0.05, "{share}");
    }

    #[test]
    fn as_many_ranges_as_there_is_room_for_are_exact() {
        let apart = |count: u64| of(&(0..count).map(|i| (i * 200, 100)).collect::<Vec<_>>());
        assert!(!apart(EXTENTS_MAX as u64).repeated().is_estimate);
        assert!(apart(EXTENTS_MAX as u64 + 1).repeated().is_estimate);
    }

    /// Each request lies in several regions, of which some are in the sample.
    #[test]
    fn long_requests_are_sampled_by_their_parts() {
        let mut extents = Extents::default();
        let mut add = |count: u64| {
            for i in 0..count {
                extents.add(i * 700_000, 400_000);
                assert!(extents.ranges.len() <= EXTENTS_MAX);
            }
        };
        add(40_000);
        add(20_000);
        let share = extents.repeated().share().unwrap();
        assert!((share - 1.0 / 3.0).abs() < 0.05, "{share}");
        assert_eq!(extents.sampled - extents.repeated, length(&extents.ranges), "each byte once");
        let is_kept = |range: &(u64, u64)| is_sampled(range.0 >> REGION_SHIFT, extents.halvings);
        assert!(extents.ranges.iter().all(is_kept));
    }

    /// The attack: ranges in a region that stays in every sample, all of which were looked at with each call.
    #[test]
    fn ranges_that_stay_in_any_sample_are_not_counted_for_ever() {
        let region = 121_820_060_813_531;
        assert!(is_sampled(region, HALVINGS_MAX));
        let add = |times: u64| {
            let mut extents = Extents::default();
            for i in 0..times {
                extents.add((region << REGION_SHIFT) + i % 20_000 * 2, 1);
            }
            extents
        };
        let extents = add(20_000);
        assert!(extents.ranges.len() <= EXTENTS_MAX + 1, "{}", extents.ranges.len());
        assert!(extents.has_ended && extents.repeated().is_estimate);
        assert_eq!((extents.repeated().bytes, extents.repeated().repeated), (20_000, 0));
        assert_eq!(add(40_000).bytes, 40_000);
    }

    #[test]
    fn absurd_requests_are_harmless() {
        let mut extents = Extents::default();
        for i in 0..5000 {
            extents.add(i << 50, 1);
            assert!(extents.ranges.len() <= EXTENTS_MAX);
        }
        for i in 0..50 {
            extents.add(i << 40, u64::MAX);
            extents.add(u64::MAX, u64::MAX);
            extents.add(u64::MAX - 1, 9);
            extents.add(5, 0);
        }
        assert_eq!(extents.common(&of(&[(0, u64::MAX)])), extents.common(&extents));
        assert!(extents.repeated().is_estimate);
        assert!(extents.repeated().repeated <= extents.repeated().bytes);
    }
}
