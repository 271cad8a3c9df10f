//! A set of measurements, checked once and kept sorted.

use crate::StatsError;
use crate::error::check_finite;
use crate::moments;

/// One or more finite values in ascending order.
///
/// The order of measurement is not kept; what depends on it (autocorrelation,
/// effective sample size) takes the series itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    sorted: Vec<f64>,
}

impl Sample {
    /// Checks and sorts the values. Negative zero becomes zero.
    ///
    /// # Errors
    /// [`StatsError::Empty`], or [`StatsError::NotFinite`] with the position of
    /// the first NaN or infinity.
    pub fn new(mut values: Vec<f64>) -> Result<Self, StatsError> {
        if values.is_empty() {
            return Err(StatsError::Empty);
        }
        check_finite(&values)?;
        for value in &mut values {
            *value += 0.0;
        }
        moments::sort(&mut values);
        Ok(Self { sorted: values })
    }

    /// Returns the values in ascending order.
    pub fn values(&self) -> &[f64] {
        &self.sorted
    }

    /// Returns the number of values, at least 1.
    pub fn n(&self) -> usize {
        self.sorted.len()
    }

    /// Returns the smallest value.
    pub fn min(&self) -> f64 {
        self.sorted[0]
    }

    /// Returns the largest value.
    pub fn max(&self) -> f64 {
        self.sorted[self.n() - 1]
    }

    /// Returns the middle value, or the midpoint of the two middle values.
    pub fn median(&self) -> f64 {
        interpolate(&self.sorted, 0.5)
    }

    /// Returns the quantile of type 7; see [`quantile_sorted`].
    ///
    /// # Errors
    /// [`StatsError::OutOfRange`] unless `0 <= p <= 1`.
    pub fn quantile(&self, p: f64) -> Result<f64, StatsError> {
        quantile_sorted(&self.sorted, p).ok_or(StatsError::OutOfRange {
            what: "quantile probability",
            value: p,
            range: "between 0 and 1",
        })
    }

    /// Returns the lower and upper quartile, of type 7.
    pub fn quartiles(&self) -> (f64, f64) {
        (interpolate(&self.sorted, 0.25), interpolate(&self.sorted, 0.75))
    }

    /// Interquartile range, from type 7 quartiles.
    pub fn iqr(&self) -> f64 {
        let (q1, q3) = self.quartiles();
        moments::saturating_difference(q3, q1)
    }

    /// Returns the arithmetic mean, by compensated summation.
    pub fn mean(&self) -> f64 {
        moments::mean(&self.sorted).clamp(self.min(), self.max())
    }

    /// Returns the standard deviation with divisor n - 1, in two passes.
    ///
    /// `None` for a single value, whose spread is unknown rather than zero, and
    /// where the result exceeds the range of a double.
    pub fn sd(&self) -> Option<f64> {
        if self.n() < 2 {
            return None;
        }
        if self.min() == self.max() {
            return Some(0.0);
        }
        let scale = moments::safe_scale(moments::max_abs(&self.sorted));
        let mean = self.mean() * scale;
        let squares = moments::sum(self.sorted.iter().map(|v| (v * scale - mean).powi(2)));
        let sd = (squares / (self.n() - 1) as f64).sqrt() / scale;
        sd.is_finite().then_some(sd)
    }

    /// Returns the coefficient of variation, sd / mean.
    ///
    /// `None` where [`sd`](Self::sd) is, and where the mean is not positive: the
    /// ratio has a meaning only for quantities with a true zero.
    pub fn cov(&self) -> Option<f64> {
        let mean = self.mean();
        let ratio = self.sd()? / mean;
        (mean > 0.0 && ratio.is_finite()).then_some(ratio)
    }
}

impl TryFrom<Vec<f64>> for Sample {
    type Error = StatsError;

    fn try_from(values: Vec<f64>) -> Result<Self, StatsError> {
        Self::new(values)
    }
}

impl TryFrom<&[f64]> for Sample {
    type Error = StatsError;

    fn try_from(values: &[f64]) -> Result<Self, StatsError> {
        Self::new(values.to_vec())
    }
}

/// Returns the quantile of ascending values by linear interpolation at (n - 1) p.
///
/// Type 7 of Hyndman & Fan, "Sample quantiles in statistical packages", The
/// American Statistician 50 (1996); the default of R and numpy. `None` for an
/// empty slice and unless `0 <= p <= 1`. The slice must be sorted and finite.
pub fn quantile_sorted(sorted: &[f64], p: f64) -> Option<f64> {
    if sorted.is_empty() || !(0.0..=1.0).contains(&p) {
        return None;
    }
    Some(interpolate(sorted, p))
}

/// Returns the quantile of a slice known to be non-empty, for a p known to be in range.
pub(crate) fn interpolate(sorted: &[f64], p: f64) -> f64 {
    let last = sorted.len() - 1;
    let position = last as f64 * p;
    let below = (position.floor() as usize).min(last);
    let above = (below + 1).min(last);
    between(sorted[below], sorted[above], position - below as f64)
}

/// Returns the point a fraction of the way from `low` to `high`; never outside them.
fn between(low: f64, high: f64, fraction: f64) -> f64 {
    let span = high - low;
    let point = if span.is_finite() {
        low + fraction * span
    } else {
        low * (1.0 - fraction) + high * fraction
    };
    point.max(low).min(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(values: &[f64]) -> Sample {
        Sample::try_from(values).unwrap()
    }

    #[test]
    fn rejects_what_is_not_data() {
        assert_eq!(Sample::new(vec![]), Err(StatsError::Empty));
        let error = Sample::new(vec![1.0, f64::NAN]).unwrap_err();
        assert_eq!(error.to_string(), "cannot use value NaN at position 1: not a finite number");
        assert!(Sample::new(vec![f64::NEG_INFINITY]).is_err());
    }

    #[test]
    fn one_value_has_a_median_but_no_spread() {
        let one = sample(&[3.0]);
        assert_eq!((one.n(), one.median(), one.mean()), (1, 3.0, 3.0));
        assert_eq!(one.quantile(0.99), Ok(3.0));
        assert_eq!((one.sd(), one.cov()), (None, None));
    }

    #[test]
    fn equal_values_have_exactly_no_spread() {
        let equal = sample(&[0.1; 7]);
        assert_eq!((equal.sd(), equal.cov()), (Some(0.0), Some(0.0)));
        assert_eq!(equal.mean(), 0.1);
    }

    #[test]
    fn quantile_refuses_a_probability_out_of_range() {
        let two = sample(&[1.0, 2.0]);
        for p in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert!(two.quantile(p).is_err(), "{p}");
        }
        assert_eq!(quantile_sorted(&[], 0.5), None);
    }

    #[test]
    fn extreme_magnitudes_do_not_overflow() {
        let wide = sample(&[-f64::MAX, f64::MAX]);
        assert_eq!(wide.median(), 0.0);
        assert_eq!(wide.sd(), None);
        let tiny = sample(&[1e-300, 3e-300]);
        assert!((tiny.sd().unwrap() / 2e-300_f64 - 1.0 / 2f64.sqrt()).abs() < 1e-15);
    }

    #[test]
    fn spread_survives_a_large_offset() {
        let offset = sample(&[1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0]);
        assert!((offset.sd().unwrap() - 30f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn variation_needs_a_positive_mean() {
        assert_eq!(sample(&[-1.0, 1.0]).cov(), None);
        assert_eq!(sample(&[-2.0, -1.0]).cov(), None);
    }
}
