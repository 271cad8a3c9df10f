//! Correlations of a target with itself and between its reads and writes, for all windows and lags, in sums that join exactly.

use crate::minutes::{Minutes, WINDOWS};
use crate::sums::{Known, PairSums};

/// Lags of targets and servers, in windows.
pub const TARGET_LAGS: usize = 6;

/// Minutes at each end of a stretch from which pairs with its neighbour are worked out: the widest window with the longest lag, one more that the end cuts,
/// and an outage that goes over the end.
pub const EDGE_MINUTES: usize = 240;

/// Sums for each window and lag.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LagSums {
    sums: [[PairSums; TARGET_LAGS]; WINDOWS.len()],
}

plimsoll_stored::stored! { LagSums { sums } }

impl LagSums {
    /// Returns the sums of a series with itself.
    pub fn of(minutes: &Minutes, first_minute: u64) -> Self {
        let mut all = LagSums::default();
        for (sums, width) in all.sums.iter_mut().zip(WINDOWS) {
            let windows = minutes.windows(first_minute, width);
            let known = windows.as_known();
            add_lags(sums, &known, &known);
        }
        all
    }

    /// Returns the sums of reads with reads, writes with writes, and reads with writes that follow them.
    pub fn of_both(reads: &Minutes, writes: &Minutes, first_minute: u64) -> [Self; 3] {
        let mut all = [LagSums::default(); 3];
        for (window, width) in WINDOWS.into_iter().enumerate() {
            let reads = reads.windows(first_minute, width);
            let writes = writes.windows(first_minute, width);
            let (reads, writes) = (reads.as_known(), writes.as_known());
            let pairs = [(&reads, &reads), (&writes, &writes), (&reads, &writes)];
            for (sums, (x, y)) in all.iter_mut().zip(pairs) {
                add_lags(&mut sums.sums[window], x, y);
            }
        }
        all
    }

    /// Adds what another one has.
    pub fn plus(&mut self, other: &LagSums) {
        self.each(other, PairSums::plus);
    }

    /// Takes away what another one has.
    pub fn minus(&mut self, other: &LagSums) {
        self.each(other, PairSums::minus);
    }

    fn each(&mut self, other: &LagSums, change: fn(&mut PairSums, &PairSums)) {
        let own = self.sums.iter_mut().flatten();
        own.zip(other.sums.iter().flatten()).for_each(|(own, other)| change(own, other));
    }

    /// Returns the sums of a window (one of [`WINDOWS`]) and a lag.
    pub fn at(&self, window: usize, lag: usize) -> &PairSums {
        &self.sums[window][lag]
    }
}

fn add_lags(sums: &mut [PairSums], x: &Known<'_>, y: &Known<'_>) {
    sums.iter_mut().enumerate().for_each(|(lag, sums)| sums.add_lagged(x, y, lag));
}
