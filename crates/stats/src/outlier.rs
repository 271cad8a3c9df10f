//! The median absolute deviation, and how far a value stands from the median.

use crate::Sample;
use crate::moments::{saturating_difference, sort};
use crate::sample::interpolate;

/// The 0.75 quantile of the standard normal distribution, as the source rounds it.
pub const NORMAL_CONSISTENCY: f64 = 0.6745;

/// Magnitude of the modified Z score beyond which the source calls a value a
/// potential outlier.
pub const OUTLIER_SCORE: f64 = 3.5;

/// Returns the median absolute deviation: the median of |x - median|, without a factor.
pub fn mad(sample: &Sample) -> f64 {
    let median = sample.median();
    let mut deviations: Vec<f64> =
        sample.values().iter().map(|&v| saturating_difference(v, median).abs()).collect();
    sort(&mut deviations);
    interpolate(&deviations, 0.5)
}

/// The modified Z score, M = 0.6745 (x - median) / MAD.
///
/// Iglewicz & Hoaglin, "How to Detect and Handle Outliers" (ASQC, 1993).
///
/// A MAD of zero means that at least half of the values equal the median. There is
/// then no scale to judge a distance by: the score would be infinite for the
/// smallest departure, and a substitute scale would flag or pass values at the
/// whim of the substitute. [`ModifiedZ::new`] says so with `None`; Tukey's fences
/// or a look at the distribution remain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModifiedZ {
    /// Number of values behind the scale.
    pub n: usize,
    /// Median of the sample.
    pub median: f64,
    /// Median absolute deviation, positive.
    pub mad: f64,
}

impl ModifiedZ {
    /// Returns the scale of a sample; `None` if its MAD is zero.
    pub fn new(sample: &Sample) -> Option<Self> {
        let mad = mad(sample);
        (mad > 0.0).then(|| Self { n: sample.n(), median: sample.median(), mad })
    }

    /// Returns the score of a value; NaN and infinities score themselves.
    pub fn score(&self, value: f64) -> f64 {
        NORMAL_CONSISTENCY * ((value - self.median) / self.mad)
    }

    /// Returns whether the score's magnitude exceeds [`OUTLIER_SCORE`].
    pub fn is_outlier(&self, value: f64) -> bool {
        self.score(value).abs() > OUTLIER_SCORE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_the_textbook_case() {
        let sample = Sample::new(vec![1.0, 2.0, 3.0, 4.0, 100.0]).unwrap();
        let z = ModifiedZ::new(&sample).unwrap();
        assert_eq!((z.median, z.mad), (3.0, 1.0));
        assert_eq!(z.score(3.0), 0.0);
        assert!(z.is_outlier(100.0) && !z.is_outlier(1.0));
    }

    #[test]
    fn no_scale_without_spread() {
        let mostly_equal = Sample::new(vec![2.0, 2.0, 2.0, 9.0]).unwrap();
        assert_eq!(mad(&mostly_equal), 0.0);
        assert_eq!(ModifiedZ::new(&mostly_equal), None);
        assert_eq!(ModifiedZ::new(&Sample::new(vec![1.0]).unwrap()), None);
    }
}
