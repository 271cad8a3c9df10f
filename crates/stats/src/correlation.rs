//! Correlation of series in which observations may be missing.
//!
//! A missing observation is `None`. It takes its pair out of the sum (pairwise
//! deletion); it is never a zero. A NaN is not a missing value but an error, so that
//! a fault upstream cannot pass for a gap.

use crate::StatsError;
use crate::moments::{max_abs, mean, safe_scale, sum};

/// Pairs below which a correlation says nothing: two points always lie on a line.
pub const MIN_PAIRS: usize = 3;

/// A correlation coefficient and the number of pairs behind it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Correlation {
    /// Pairs with both observations present.
    pub pairs: usize,
    /// Pearson's coefficient; `None` with fewer than [`MIN_PAIRS`] pairs or if one
    /// side does not vary.
    pub r: Option<f64>,
}

/// Pearson's product-moment correlation of two series of equal length.
///
/// # Errors
/// [`StatsError::LengthMismatch`]; [`StatsError::NotFinite`] for a NaN or infinity.
pub fn pearson(x: &[Option<f64>], y: &[Option<f64>]) -> Result<Correlation, StatsError> {
    cross_correlation(x, y, 0)
}

/// Correlation of x at time t with y at time t + lag.
///
/// A positive lag asks whether y follows x. Means and variances are those of the
/// pairs that overlap. A lag beyond the series leaves no pairs.
///
/// # Errors
/// As [`pearson`].
pub fn cross_correlation(
    x: &[Option<f64>],
    y: &[Option<f64>],
    lag: isize,
) -> Result<Correlation, StatsError> {
    if x.len() != y.len() {
        return Err(StatsError::LengthMismatch { left: x.len(), right: y.len() });
    }
    check_present(x)?;
    check_present(y)?;
    let shift = lag.unsigned_abs().min(x.len());
    let (earlier, later) = if lag >= 0 { (x, y) } else { (y, x) };
    let pairs = earlier.iter().zip(&later[shift..]);
    let (left, right): (Vec<f64>, Vec<f64>) = pairs.filter_map(|(a, b)| (*a).zip(*b)).unzip();
    Ok(Correlation { pairs: left.len(), r: coefficient(&left, &right) })
}

/// Correlation of a series with itself `lag` steps later.
///
/// This is the correlation of the overlapping pairs, as in pandas' `autocorr`, not
/// the estimate with one mean and variance for all lags that spectral analysis
/// prefers and [`crate::effective`] uses.
///
/// # Errors
/// As [`pearson`].
pub fn autocorrelation(x: &[Option<f64>], lag: usize) -> Result<Correlation, StatsError> {
    cross_correlation(x, x, lag.min(x.len()) as isize)
}

fn check_present(series: &[Option<f64>]) -> Result<(), StatsError> {
    for (position, value) in series.iter().enumerate() {
        if let &Some(value) = value
            && !value.is_finite()
        {
            return Err(StatsError::NotFinite { position, value });
        }
    }
    Ok(())
}

fn coefficient(x: &[f64], y: &[f64]) -> Option<f64> {
    if x.len() < MIN_PAIRS {
        return None;
    }
    let (dx, dy) = (unit_deviations(x)?, unit_deviations(y)?);
    let r = sum(dx.iter().zip(&dy).map(|(a, b)| a * b));
    Some(r.clamp(-1.0, 1.0))
}

/// Deviations from the mean, scaled to a vector of length 1; `None` if all values
/// are equal.
fn unit_deviations(values: &[f64]) -> Option<Vec<f64>> {
    if values.iter().all(|v| *v == values[0]) {
        return None;
    }
    let scale = safe_scale(max_abs(values));
    let centre = mean(values) * scale;
    let mut deviations: Vec<f64> = values.iter().map(|v| v * scale - centre).collect();
    // Deviations may be tiny beside the values: bring the largest to 1 before squaring.
    let largest = max_abs(&deviations);
    deviations.iter_mut().for_each(|d| *d /= largest);
    let length = sum(deviations.iter().map(|d| d * d)).sqrt();
    deviations.iter_mut().for_each(|d| *d /= length);
    Some(deviations)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn present(values: &[f64]) -> Vec<Option<f64>> {
        values.iter().copied().map(Some).collect()
    }

    #[test]
    fn missing_is_not_zero() {
        let x = [Some(1.0), Some(2.0), None, Some(4.0), Some(5.0)];
        let y = [Some(2.0), Some(4.0), Some(-99.0), Some(8.0), None];
        let got = pearson(&x, &y).unwrap();
        assert_eq!(got.pairs, 3);
        assert!((got.r.unwrap() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn a_positive_lag_means_y_follows() {
        let x = present(&[0.0, 1.0, 0.0, 3.0, 0.0, 2.0, 0.0, 0.0]);
        let y = present(&[9.0, 0.0, 1.0, 0.0, 3.0, 0.0, 2.0, 0.0]);
        let at = |lag| cross_correlation(&x, &y, lag).unwrap();
        assert!((at(1).r.unwrap() - 1.0).abs() < 1e-15);
        assert_eq!(at(1).pairs, 7);
        assert!(at(-1).r.unwrap() < 0.5);
    }

    #[test]
    fn undefined_is_none() {
        let constant = present(&[0.1; 6]);
        let varied = present(&[1.0, 2.0, 3.0, 1.0, 2.0, 3.0]);
        assert_eq!(pearson(&constant, &varied).unwrap().r, None);
        assert_eq!(pearson(&varied[..2], &varied[..2]).unwrap().r, None);
        assert_eq!(pearson(&[], &[]).unwrap(), Correlation { pairs: 0, r: None });
        let far = [isize::MIN, -7, 7, isize::MAX];
        for lag in far {
            assert_eq!(cross_correlation(&varied, &varied, lag).unwrap().pairs, 0);
        }
        assert_eq!(autocorrelation(&varied, usize::MAX).unwrap().pairs, 0);
    }

    #[test]
    fn faults_are_not_gaps() {
        let good = present(&[1.0, 2.0, 3.0]);
        let bad = present(&[1.0, f64::NAN, 3.0]);
        assert!(matches!(pearson(&good, &bad), Err(StatsError::NotFinite { position: 1, .. })));
        assert!(pearson(&good, &good[..2]).is_err());
    }

    #[test]
    fn extreme_magnitudes() {
        let huge = present(&[-f64::MAX, 0.0, f64::MAX]);
        let tiny = present(&[1e-310, 2e-310, 3e-310]);
        assert!((pearson(&huge, &tiny).unwrap().r.unwrap() - 1.0).abs() < 1e-12);
    }
}
