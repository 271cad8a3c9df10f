//! A distribution in a few numbers, each with what is known of its certainty.

use plimsoll_stats::outlier::ModifiedZ;
use plimsoll_stats::{FiveNumberSummary, Sample, series_median_interval};

/// Confidence of every interval that is stated.
pub const CONFIDENCE: f64 = 0.95;

/// One or more values, summarised. Outliers are counted, never dropped.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    /// Number of values, at least 1.
    pub n: usize,
    /// Smallest value.
    pub min: f64,
    /// Lower quartile (type 7).
    pub q1: f64,
    /// Median.
    pub median: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Upper quartile (type 7).
    pub q3: f64,
    /// Largest value.
    pub max: f64,
    /// Standard deviation with divisor n - 1; `None` for one value.
    pub sd: Option<f64>,
    /// 95 % interval of the median, wider where values repeat each other; `None` below twenty,
    /// which cannot tell how much they do.
    pub median_interval: Option<(f64, f64)>,
    /// Values below q1 - 1.5 IQR.
    pub outliers_low: usize,
    /// Values above q3 + 1.5 IQR.
    pub outliers_high: usize,
    /// Values whose modified Z score exceeds 3.5; `None` where more than half are equal.
    pub outliers_z: Option<usize>,
    /// The largest value that is not a high outlier.
    pub whisker_high: f64,
    /// The smallest value that is not a low outlier.
    pub whisker_low: f64,
}

impl Distribution {
    /// The distribution of values in the order in which they were measured; `None` if there are
    /// none, or one is not finite.
    pub fn new(values: Vec<f64>) -> Option<Self> {
        let interval = series_median_interval(&values, CONFIDENCE).ok();
        let sample = &Sample::new(values).ok()?;
        let five = FiveNumberSummary::new(sample);
        let z = ModifiedZ::new(sample);
        Some(Distribution {
            n: sample.n(),
            min: five.min,
            q1: five.q1,
            median: five.median,
            mean: sample.mean(),
            q3: five.q3,
            max: five.max,
            sd: sample.sd(),
            median_interval: interval.map(|it| (it.low, it.high)),
            outliers_low: five.outliers_low.len(),
            outliers_high: five.outliers_high.len(),
            outliers_z: z.map(|z| sample.values().iter().filter(|v| z.is_outlier(**v)).count()),
            whisker_high: five.whisker_high,
            whisker_low: five.whisker_low,
        })
    }
}

/// The median of the values, which are put in order; `None` if there are none.
pub(crate) fn median_of(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    plimsoll_stats::sample::quantile_sorted(values, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_has_no_spread_and_none_has_no_distribution() {
        let one = Distribution::new(vec![0.5]).unwrap();
        assert_eq!((one.n, one.min, one.median, one.max), (1, 0.5, 0.5, 0.5));
        assert_eq!((one.sd, one.median_interval, one.outliers_z), (None, None, None));
        assert_eq!(Distribution::new(vec![]), None);
        assert_eq!(Distribution::new(vec![f64::NAN]), None);
    }

    #[test]
    fn an_outlier_is_marked_and_stays() {
        let mut values = vec![1.0, 1.1, 0.9, 1.05, 0.95, 1.02, 0.98];
        values.push(0.1);
        let it = Distribution::new(values).unwrap();
        assert_eq!((it.n, it.min, it.outliers_low, it.outliers_high), (8, 0.1, 1, 0));
        assert_eq!((it.outliers_z, it.median_interval), (Some(1), None));
    }
}
