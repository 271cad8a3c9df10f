//! How strongly neighbours in a series are correlated.

use crate::moments::{max_abs, mean, safe_scale};

/// Fewer values say nothing about their correlation.
pub const LEAST: usize = 5;

/// One-sided 5 % point of the normal distribution: the correlation of independent neighbours
/// stays below this over the root of their number 19 times in 20.
const DISTINGUISHABLE: f64 = 1.645;

/// Beyond this a series of any usual length says nothing at all.
const STRONGEST: f64 = 0.95;

/// The correlation of neighbours in a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LagOne {
    /// Number of values.
    pub n: usize,
    /// The usual estimate, with divisor n.
    pub raw: f64,
    /// The same without its bias, 0 to 0.95. A short series shows less correlation than there is:
    /// by (1 + 3 ρ) / n (Marriott & Pope, "Bias in the Estimation of Autocorrelations",
    /// Biometrika 41, 1954).
    pub corrected: f64,
}

impl LagOne {
    /// Of a series; `None` below [`LEAST`] values, or if they do not vary.
    pub fn of(series: &[f64]) -> Option<Self> {
        Self::above(series, 0.0)
    }

    /// The same where deviations up to `floor` do not matter to the question asked: independent
    /// deviations of that size are taken to lie over the series. A drift of a thousandth does
    /// not make measures repeat each other when the question is whether they differ by a tenth.
    pub fn above(series: &[f64], floor: f64) -> Option<Self> {
        if series.len() < LEAST {
            return None;
        }
        let scale = safe_scale(max_abs(series).max(floor));
        let centre = mean(series) * scale;
        let deviations: Vec<f64> = series.iter().map(|value| value * scale - centre).collect();
        let n = series.len() as f64;
        let spread = product_at(&deviations, 0) + n * (floor * scale).powi(2);
        // What is left of equal values is rounding.
        let rounding = n * (centre.abs() * 1e-14).powi(2);
        if !spread.is_finite() || spread <= rounding {
            return None;
        }
        Some(Self::from_raw(series.len(), product_at(&deviations, 1) / spread))
    }

    /// Returns an estimate that was made elsewhere, of at least [`LEAST`] values.
    pub fn from_raw(n: usize, raw: f64) -> Self {
        let size = n.max(LEAST) as f64;
        let corrected = ((raw + 1.0 / size) / (1.0 - 3.0 / size)).clamp(0.0, STRONGEST);
        LagOne { n, raw, corrected }
    }

    /// Returns whether independent values would hardly show so much.
    pub fn is_distinguishable(&self) -> bool {
        self.raw > DISTINGUISHABLE / (self.n as f64).sqrt()
    }

    /// Steps after which a value is worth a new one; 1 where correlation cannot be told from none.
    pub fn time(&self) -> f64 {
        if self.is_distinguishable() { autoregressive_time(self.corrected) } else { 1.0 }
    }
}

/// Returns the integrated autocorrelation time of an autoregressive series: (1 + ρ) / (1 - ρ).
pub fn autoregressive_time(correlation: f64) -> f64 {
    let correlation = correlation.clamp(0.0, 0.999);
    (1.0 + correlation) / (1.0 - correlation)
}

/// Returns the least length of blocks whose means, in an autoregressive series, are correlated with those
/// of their neighbours by at most `most`.
pub fn block_length(correlation: f64, most: f64) -> usize {
    let is_enough = |length: &usize| correlation_of_blocks(correlation, *length) <= most;
    (1..1000).find(is_enough).unwrap_or(1000)
}

/// The correlation of the means of neighbouring blocks of an autoregressive series.
pub fn correlation_of_blocks(correlation: f64, length: usize) -> f64 {
    let rho = correlation.clamp(0.0, STRONGEST);
    let far = rho.powi(length.min(1000) as i32);
    let variance = length as f64 * (1.0 - rho * rho) - 2.0 * rho * (1.0 - far);
    rho * (1.0 - far) * (1.0 - far) / variance
}

/// Returns the sum of the products of deviations `lag` apart.
pub(crate) fn product_at(deviations: &[f64], lag: usize) -> f64 {
    let later = deviations.get(lag..).unwrap_or_default();
    deviations.iter().zip(later).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    fn autoregressive(n: usize, rho: f64, random: &mut Random) -> Vec<f64> {
        let mut value = random.normal();
        let step = |_| {
            value = rho * value + (1.0 - rho * rho).sqrt() * random.normal();
            value
        };
        (0..n).map(step).collect()
    }

    /// The mean over short series comes out right, where the usual estimate is too small.
    #[test]
    fn short_series_are_not_taken_for_independent() {
        let mut random = Random::new(1);
        let found: Vec<LagOne> =
            (0..2000).filter_map(|_| LagOne::of(&autoregressive(30, 0.6, &mut random))).collect();
        let average = |of: fn(&LagOne) -> f64| found.iter().map(of).sum::<f64>() / 2000.0;
        assert!((average(|it| it.raw) - 0.5).abs() < 0.03, "{}", average(|it| it.raw));
        assert!((average(|it| it.corrected) - 0.6).abs() < 0.03);
    }

    #[test]
    fn independent_values_count_in_full_nearly_always() {
        let mut random = Random::new(2);
        let full = (0..400).filter(|_| {
            LagOne::of(&autoregressive(20, 0.0, &mut random)).is_some_and(|it| it.time() == 1.0)
        });
        assert!(full.count() >= 375);
    }

    #[test]
    fn a_drift_below_the_floor_does_not_count() {
        let drift: Vec<f64> = (0..20).map(|it| 1.0 + f64::from(it) * 1e-4).collect();
        assert!(LagOne::of(&drift).unwrap().time() > 3.0);
        assert!(LagOne::above(&drift, 0.04).unwrap().time() < 1.01);
    }

    #[test]
    fn nothing_to_correlate() {
        assert_eq!(LagOne::of(&[]), None);
        assert_eq!(LagOne::of(&[1.0, 2.0, 3.0, 4.0]), None);
        assert_eq!(LagOne::of(&[0.1; 30]), None);
        assert!(LagOne::of(&[f64::MAX, -f64::MAX, f64::MAX, 0.0, 1.0]).is_some());
    }

    #[test]
    fn lengths_of_blocks() {
        // Of independent values any block will do; those of a strong correlation are long.
        assert_eq!([0.0, 0.09, 0.2, 0.5, 0.8].map(|rho| block_length(rho, 0.1)), [1, 1, 3, 8, 27]);
        assert!((autoregressive_time(0.8) - 9.0).abs() < 1e-12);
    }
}
