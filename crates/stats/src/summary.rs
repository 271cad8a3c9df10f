//! The five-number summary with Tukey's fences.

use crate::Sample;

/// How many interquartile ranges beyond the quartiles the fences stand.
///
/// Tukey, "Exploratory Data Analysis" (1977), the inner fences.
pub const FENCE_FACTOR: f64 = 1.5;

/// What a box plot draws, and what lies outside the box's whiskers.
///
/// Outliers are marked, never dropped: every other field counts them in.
#[derive(Debug, Clone, PartialEq)]
pub struct FiveNumberSummary {
    /// Number of values.
    pub n: usize,
    /// Smallest value.
    pub min: f64,
    /// Lower quartile (type 7).
    pub q1: f64,
    /// Median.
    pub median: f64,
    /// Upper quartile (type 7).
    pub q3: f64,
    /// Largest value.
    pub max: f64,
    /// q1 - 1.5 IQR.
    pub lower_fence: f64,
    /// q3 + 1.5 IQR.
    pub upper_fence: f64,
    /// Smallest value not below the lower fence.
    pub whisker_low: f64,
    /// Largest value not above the upper fence.
    pub whisker_high: f64,
    /// Values below the lower fence, ascending.
    pub outliers_low: Vec<f64>,
    /// Values above the upper fence, ascending.
    pub outliers_high: Vec<f64>,
}

impl FiveNumberSummary {
    /// Summarises a sample.
    pub fn new(sample: &Sample) -> Self {
        let values = sample.values();
        let n = values.len();
        let (q1, q3) = sample.quartiles();
        let reach = FENCE_FACTOR * sample.iqr();
        let (lower_fence, upper_fence) = (q1 - reach, q3 + reach);
        let first = values.partition_point(|&v| v < lower_fence).min(n - 1);
        let end = values.partition_point(|&v| v <= upper_fence).max(1);
        Self {
            n,
            min: sample.min(),
            q1,
            median: sample.median(),
            q3,
            max: sample.max(),
            lower_fence,
            upper_fence,
            whisker_low: values[first],
            whisker_high: values[end - 1],
            outliers_low: values[..first].to_vec(),
            outliers_high: values[end..].to_vec(),
        }
    }

    /// Returns whether a value lies beyond a fence.
    pub fn is_outlier(&self, value: f64) -> bool {
        value < self.lower_fence || value > self.upper_fence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(values: &[f64]) -> FiveNumberSummary {
        FiveNumberSummary::new(&Sample::try_from(values).unwrap())
    }

    #[test]
    fn marks_the_outlier_and_keeps_it() {
        let s = summary(&[1.0, 2.0, 3.0, 4.0, 100.0]);
        assert_eq!((s.q1, s.median, s.q3), (2.0, 3.0, 4.0));
        assert_eq!((s.lower_fence, s.upper_fence), (-1.0, 7.0));
        assert_eq!((s.whisker_low, s.whisker_high, s.max), (1.0, 4.0, 100.0));
        assert_eq!(s.outliers_high, [100.0]);
        assert!(s.is_outlier(100.0) && !s.is_outlier(7.0));
    }

    #[test]
    fn equal_values_fence_themselves_in() {
        let s = summary(&[5.0; 4]);
        assert_eq!((s.whisker_low, s.whisker_high), (5.0, 5.0));
        assert!(s.outliers_low.is_empty() && s.outliers_high.is_empty());
        assert!(s.is_outlier(5.1));
    }

    #[test]
    fn extremes_and_single_values_are_summarised() {
        assert_eq!(summary(&[1.0]).whisker_high, 1.0);
        let s = summary(&[-f64::MAX, 0.0, f64::MAX]);
        assert_eq!((s.whisker_low, s.whisker_high), (-f64::MAX, f64::MAX));
    }
}
