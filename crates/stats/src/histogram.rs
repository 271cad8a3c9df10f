//! Histograms that account for every observation.

use crate::StatsError;

/// The most bins a histogram may have.
pub const MAX_BINS: usize = 1 << 20;

/// Counts of observations in adjoining bins, and of those in none.
///
/// `None` and NaN count as missing; values below, above and infinite count as
/// underflow and overflow. So [`n`](Self::n) is always the number recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    edges: Vec<f64>,
    counts: Vec<u64>,
    last_closed: bool,
    underflow: u64,
    overflow: u64,
    missing: u64,
}

impl Histogram {
    /// Bins of equal width from `low` to `high`.
    ///
    /// A bin holds its lower edge and not its upper one, except the last, which
    /// holds both (the convention of numpy).
    ///
    /// # Errors
    /// [`StatsError::OutOfRange`] unless `low < high`, both and their difference
    /// finite, `1 <= bins <=` [`MAX_BINS`], and the width is large enough to tell
    /// the edges apart.
    pub fn equal_width(low: f64, high: f64, bins: usize) -> Result<Self, StatsError> {
        check_bins(bins)?;
        let width = (high - low) / bins as f64;
        let mut edges: Vec<f64> = (0..=bins).map(|i| low + i as f64 * width).collect();
        edges[bins] = high;
        if !width.is_finite() || !edges.windows(2).all(|pair| pair[0] < pair[1]) {
            return Err(StatsError::OutOfRange {
                what: "histogram width",
                value: high - low,
                range: "positive, finite and wide enough for its bins",
            });
        }
        Ok(Self::with_edges(edges, true))
    }

    /// One bin for each power of two: bin k holds 2^k <= x < 2^(k+1), for k from
    /// `first` to `last`.
    ///
    /// Zero and negative values have no logarithm and count as underflow.
    ///
    /// # Errors
    /// [`StatsError::OutOfRange`] unless `-1022 <= first <= last <= 1022`.
    pub fn log2(first: i32, last: i32) -> Result<Self, StatsError> {
        for (what, exponent) in [("first exponent", first), ("last exponent", last)] {
            if !(-1022..=1022).contains(&exponent) || first > last {
                return Err(StatsError::OutOfRange {
                    what,
                    value: f64::from(exponent),
                    range: "ascending and within -1022 to 1022",
                });
            }
        }
        let edges = (first..=last + 1).map(power_of_two).collect();
        Ok(Self::with_edges(edges, false))
    }

    fn with_edges(edges: Vec<f64>, last_closed: bool) -> Self {
        Self {
            counts: vec![0; edges.len() - 1],
            edges,
            last_closed,
            underflow: 0,
            overflow: 0,
            missing: 0,
        }
    }

    /// Counts one observation.
    pub fn record(&mut self, observation: Option<f64>) {
        match observation {
            Some(value) if !value.is_nan() => *self.place(value) += 1,
            _ => self.missing += 1,
        }
    }

    /// Returns the counter a value belongs to.
    fn place(&mut self, value: f64) -> &mut u64 {
        let bins = self.counts.len();
        let edges_at_most = self.edges.partition_point(|&edge| edge <= value);
        if edges_at_most == 0 {
            &mut self.underflow
        } else if edges_at_most <= bins {
            &mut self.counts[edges_at_most - 1]
        } else if self.last_closed && value == self.edges[bins] {
            &mut self.counts[bins - 1]
        } else {
            &mut self.overflow
        }
    }

    /// Returns the edges, one more than there are bins.
    pub fn edges(&self) -> &[f64] {
        &self.edges
    }

    /// Returns the count of each bin.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Returns the number of values below the first edge.
    pub fn underflow(&self) -> u64 {
        self.underflow
    }

    /// Returns the number of values beyond the last edge.
    pub fn overflow(&self) -> u64 {
        self.overflow
    }

    /// Observations without a value.
    pub fn missing(&self) -> u64 {
        self.missing
    }

    /// Observations recorded, wherever they were counted.
    pub fn n(&self) -> u64 {
        self.counts.iter().sum::<u64>() + self.underflow + self.overflow + self.missing
    }
}

impl Extend<Option<f64>> for Histogram {
    fn extend<I: IntoIterator<Item = Option<f64>>>(&mut self, observations: I) {
        observations.into_iter().for_each(|o| self.record(o));
    }
}

impl Extend<f64> for Histogram {
    fn extend<I: IntoIterator<Item = f64>>(&mut self, values: I) {
        values.into_iter().for_each(|v| self.record(Some(v)));
    }
}

fn check_bins(bins: usize) -> Result<(), StatsError> {
    if (1..=MAX_BINS).contains(&bins) {
        return Ok(());
    }
    Err(StatsError::OutOfRange {
        what: "number of bins",
        value: bins as f64,
        range: "between 1 and 1048576",
    })
}

/// 2^k, exact, for exponents of normal doubles.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_observation_is_counted_once() {
        let mut h = Histogram::equal_width(0.0, 4.0, 4).unwrap();
        h.extend([-1.0, 0.0, 0.5, 1.0, 4.0, 4.1, f64::INFINITY, f64::NAN]);
        h.record(None);
        assert_eq!(h.counts(), [2, 1, 0, 1]);
        assert_eq!((h.underflow(), h.overflow(), h.missing()), (1, 2, 2));
        assert_eq!(h.n(), 9);
    }

    #[test]
    fn powers_of_two_open_their_bin() {
        let mut h = Histogram::log2(-1, 1).unwrap();
        assert_eq!(h.edges(), [0.5, 1.0, 2.0, 4.0]);
        h.extend([0.0, -3.0, 0.5, 1.0, 1.99, 2.0, 4.0]);
        assert_eq!(h.counts(), [1, 2, 1]);
        assert_eq!((h.underflow(), h.overflow()), (2, 1));
    }

    #[test]
    fn impossible_bins_are_refused() {
        for (low, high, bins) in [
            (0.0, 1.0, 0),
            (0.0, 1.0, usize::MAX),
            (1.0, 1.0, 3),
            (2.0, 1.0, 3),
            (f64::NAN, 1.0, 3),
            (0.0, f64::INFINITY, 3),
            (-f64::MAX, f64::MAX, 3),
            (1.0, 1.0 + f64::EPSILON, 3),
        ] {
            assert!(Histogram::equal_width(low, high, bins).is_err(), "{low} {high} {bins}");
        }
        let said = Histogram::equal_width(5.0, 2.0, 3).unwrap_err().to_string();
        assert!(said.contains("-3"), "the width that it would have: {said}");
        assert!(Histogram::log2(3, 2).is_err());
        assert!(Histogram::log2(i32::MIN, i32::MAX).is_err());
    }
}
