//! Samples that are the same for any order of their values: those with the smallest hashes.

use plimsoll_stored::{Malformed, Reader, Stored, get_at_most};

/// At most `size` values, each equally likely to be among them.
#[derive(Debug, Clone)]
pub(crate) struct HashSample<T> {
    size: usize,
    /// Values with a hash of at most this are taken.
    limit: u64,
    values: Vec<(u64, T)>,
    seen: u64,
}

impl<T: Copy + Ord + Stored> HashSample<T> {
    /// Appends what is kept in the end, in the order of the hashes.
    pub fn put(&self, out: &mut Vec<u8>) {
        let mut kept = self.clone();
        kept.shrink();
        kept.values.sort_unstable();
        kept.values.put(out);
        kept.seen.put(out);
    }

    /// Reads what was written of a sample of this size.
    pub fn get(from: &mut Reader<'_>, size: usize) -> Result<Self, Malformed> {
        let values: Vec<(u64, T)> = get_at_most(from, size)?;
        let seen = u64::get(from)?;
        // The limit is that of a sample with room; it falls when the sample grows.
        Ok(HashSample { size, limit: u64::MAX, values, seen })
    }
}

impl<T: Copy + Ord> HashSample<T> {
    pub fn new(size: usize) -> Self {
        HashSample { size, limit: u64::MAX, values: Vec::new(), seen: 0 }
    }

    /// Offers a value; `make` runs only if it is taken.
    #[inline]
    pub fn offer(&mut self, hash: u64, make: impl FnOnce() -> T) {
        self.seen += 1;
        if hash <= self.limit {
            self.take(hash, make());
        }
    }

    #[inline(never)]
    fn take(&mut self, hash: u64, value: T) {
        self.values.push((hash, value));
        if self.values.len() >= 2 * self.size {
            self.shrink();
        }
    }

    /// Keeps the smallest hashes only.
    fn shrink(&mut self) {
        if self.values.len() > self.size {
            self.values.sort_unstable();
            self.values.truncate(self.size);
            self.limit = self.values.last().map_or(u64::MAX, |(hash, _)| *hash);
        }
    }

    /// Adds the values of another sample.
    pub fn merge(&mut self, other: HashSample<T>) {
        self.seen = self.seen.saturating_add(other.seen);
        self.values.extend(other.values);
        self.shrink();
    }

    /// Values that were offered.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Returns the sample, in the order of the values.
    pub fn into_values(mut self) -> Vec<T> {
        self.shrink();
        let mut values: Vec<T> = self.values.into_iter().map(|(_, value)| value).collect();
        values.sort_unstable();
        values
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_stats::random::mix;

    use super::*;

    fn offered(range: impl Iterator<Item = u64>) -> HashSample<u64> {
        let mut sample = HashSample::new(50);
        range.for_each(|value| sample.offer(mix(value), || value));
        sample
    }

    #[test]
    fn order_and_division_do_not_matter() {
        let forward = offered(0..10_000);
        assert_eq!(forward.seen(), 10_000);
        assert!(forward.values.len() < 100, "twice as many are not kept");
        let mut halves = offered((5000..10_000).rev());
        halves.merge(offered(0..5000));
        let values = forward.into_values();
        assert_eq!(values, offered((0..10_000).rev()).into_values());
        assert_eq!(values, halves.into_values());
        assert_eq!(values.len(), 50);
        let mean = values.iter().sum::<u64>() as f64 / 50.0;
        assert!((3500.0..6500.0).contains(&mean), "{mean}");
    }

    #[test]
    fn few_values_are_all_kept() {
        assert_eq!(offered(0..3).into_values(), [0, 1, 2]);
    }
}
