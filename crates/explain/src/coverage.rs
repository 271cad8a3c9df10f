//! How long at least one thread is inside a call, in bounded memory.
//!
//! The calls of one thread follow each other, so the time that a thread covers in a bin is
//! exact. Of each bin are kept the sum over threads, the largest, and the number of threads.
//! Where one thread was active, or one covered the whole bin, the union over threads is exact as
//! well. Elsewhere it lies between the largest and the sum (or the whole bin), and the estimate
//! supposes that the threads' calls lie independently in the bin.

use crate::grid::Grid;
use plimsoll_stored::{Malformed, Reader, Stored, get_sparse, put_sparse};

/// What threads covered of one bin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Covered {
    /// Sum over threads, in nanoseconds.
    pub sum: u64,
    /// The largest of one thread.
    pub max: u64,
    /// Threads that were active.
    pub threads: u32,
}

impl Stored for Covered {
    fn put(&self, out: &mut Vec<u8>) {
        self.sum.put(out);
        self.max.put(out);
        self.threads.put(out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (sum, (max, threads)) = Stored::get(from)?;
        if max <= sum { Ok(Covered { sum, max, threads }) } else { Err(Malformed) }
    }
}

/// Time that threads spent inside calls of one kind, by bin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Coverage {
    grid: Grid,
    /// Empty until the first call.
    bins: Vec<Covered>,
}

/// A wall time, estimated between two bounds. All three are equal where it is exact.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct BusyTime {
    /// Estimate in seconds.
    pub seconds: f64,
    /// It is at least this.
    pub at_least_seconds: f64,
    /// It is at most this.
    pub at_most_seconds: f64,
}

impl Coverage {
    pub fn new(grid: Grid) -> Self {
        Coverage { grid, bins: Vec::new() }
    }

    fn flush(&mut self, bin: usize, covered: u64) {
        if self.bins.is_empty() {
            self.bins = vec![Covered::default(); self.grid.bins()];
        }
        let Some(own) = self.bins.get_mut(bin) else { return };
        own.sum = own.sum.saturating_add(covered);
        own.max = own.max.max(covered);
        own.threads = own.threads.saturating_add(1);
    }

    /// Appends it, without its grid.
    pub fn put(&self, out: &mut Vec<u8>) {
        self.bins.is_empty().put(out);
        put_sparse(&self.bins, out);
    }

    /// Reads what was written of a coverage of this grid.
    pub fn get(from: &mut Reader<'_>, grid: Grid) -> Result<Self, Malformed> {
        let is_empty = bool::get(from)?;
        Ok(Coverage { grid, bins: get_sparse(from, if is_empty { 0 } else { grid.bins() })? })
    }

    /// Adds what other threads covered.
    pub fn merge(&mut self, other: Coverage) {
        if self.bins.is_empty() {
            self.bins = other.bins;
            return;
        }
        for (own, other) in self.bins.iter_mut().zip(&other.bins) {
            own.sum = own.sum.saturating_add(other.sum);
            own.max = own.max.max(other.max);
            own.threads = own.threads.saturating_add(other.threads);
        }
    }

    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// True before the first call.
    pub fn is_empty(&self) -> bool {
        self.bins.is_empty()
    }

    /// A bin; zero where there was no call.
    pub fn bin(&self, bin: usize) -> Covered {
        self.bins.get(bin).copied().unwrap_or_default()
    }

    /// Returns the wall time during which at least one thread was inside a call.
    pub fn busy(&self) -> BusyTime {
        let mut busy = BusyTime::default();
        for (bin, covered) in self.bins.iter().enumerate() {
            let width = self.grid.inside_ns(bin);
            let (low, high) = (covered.max.min(width), covered.sum.min(width));
            busy.at_least_seconds += low as f64 * 1e-9;
            busy.at_most_seconds += high as f64 * 1e-9;
            busy.seconds += self.union_ns(bin) * 1e-9;
        }
        busy
    }

    /// Returns the same in one bin, estimated in nanoseconds.
    pub fn union_ns(&self, bin: usize) -> f64 {
        let (covered, width) = (self.bin(bin), self.grid.inside_ns(bin));
        let (low, high) = (covered.max.min(width), covered.sum.min(width));
        union_estimate(&covered, width).clamp(low as f64, high as f64)
    }
}

/// Expected union of intervals that lie independently in a bin.
fn union_estimate(covered: &Covered, width: u64) -> f64 {
    if covered.threads <= 1 || covered.max >= width {
        return covered.max.min(width) as f64;
    }
    let width = width as f64;
    let threads = f64::from(covered.threads);
    let idle = (1.0 - covered.sum as f64 / (threads * width)).max(0.0);
    width * (1.0 - idle.powf(threads))
}

/// Where one thread is in a [`Coverage`].
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cursor {
    bin: usize,
    bin_end: u64,
    frontier: u64,
    covered: u64,
}

impl Cursor {
    /// Adds a call. What lies before the end of an earlier call is not counted again, so that
    /// damaged times cost no more work than sound ones.
    #[inline]
    pub fn add(&mut self, coverage: &mut Coverage, start: u64, end: u64) {
        let start = start.max(self.frontier);
        if start >= end {
            return;
        }
        self.frontier = end;
        if end <= self.bin_end {
            self.covered += end - start;
            return;
        }
        self.cross(coverage, start, end);
    }

    #[inline(never)]
    fn cross(&mut self, coverage: &mut Coverage, start: u64, end: u64) {
        let grid = coverage.grid;
        grid.spread(start, end, |bin, ns| {
            if bin != self.bin {
                self.finish(coverage);
                self.bin = bin;
            }
            self.covered += ns;
        });
        self.bin_end = grid.end(self.bin);
    }

    /// Hands over what is pending, at the end of the thread.
    pub fn finish(&mut self, coverage: &mut Coverage) {
        if self.covered > 0 {
            coverage.flush(self.bin, self.covered);
            self.covered = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(threads: &[&[(u64, u64)]]) -> Coverage {
        let mut coverage = Coverage::new(Grid::new(1000, 10));
        for calls in threads {
            let mut cursor = Cursor::default();
            calls.iter().for_each(|(start, end)| cursor.add(&mut coverage, *start, *end));
            cursor.finish(&mut coverage);
        }
        coverage
    }

    fn nanos(seconds: f64) -> u64 {
        (seconds * 1e9).round() as u64
    }

    #[test]
    fn one_thread_is_exact_however_short_its_calls() {
        let busy = of(&[&[(0, 3), (10, 14), (500, 900), (950, 951)]]).busy();
        assert_eq!(nanos(busy.seconds), 408);
        assert_eq!((busy.at_least_seconds, busy.at_most_seconds), (busy.seconds, busy.seconds));
    }

    #[test]
    fn long_calls_of_several_threads_unite() {
        let busy = of(&[&[(0, 256)], &[(128, 512)]]).busy();
        assert_eq!(nanos(busy.seconds), 512);
        assert_eq!(busy.at_least_seconds, busy.at_most_seconds);
    }

    #[test]
    fn short_calls_of_several_threads_have_bounds() {
        let busy = of(&[&[(0, 64)], &[(64, 128)]]).busy();
        assert_eq!((nanos(busy.at_least_seconds), nanos(busy.at_most_seconds)), (64, 128));
        assert_eq!(nanos(busy.seconds), 96, "two halves of a bin, laid independently");
    }

    #[test]
    fn overlapping_calls_of_one_thread_count_once() {
        assert_eq!(nanos(of(&[&[(0, 100), (50, 60), (90, 110)]]).busy().seconds), 110);
    }

    #[test]
    fn merging_is_adding_threads() {
        let mut a = of(&[&[(0, 64)]]);
        a.merge(of(&[&[(300, 400)], &[(64, 128)]]));
        assert_eq!(a, of(&[&[(64, 128)], &[(0, 64)], &[(300, 400)]]));
    }
}
