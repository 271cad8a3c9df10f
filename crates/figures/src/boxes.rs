//! A sample as a box with whiskers.

use plimsoll_report::html::BoxSummary;
use plimsoll_stats::{FiveNumberSummary, Sample, median_interval};

/// Returns the box of a sample; the interval of its median needs six values.
pub fn summary(name: String, sample: &Sample) -> BoxSummary {
    let five = FiveNumberSummary::new(sample);
    let interval = median_interval(sample, 0.95).ok();
    BoxSummary {
        name,
        count: five.n as u64,
        low: five.whisker_low,
        first_quartile: five.q1,
        median: five.median,
        third_quartile: five.q3,
        high: five.whisker_high,
        median_interval: interval.map(|interval| (interval.low, interval.high)),
        outliers: [five.outliers_low, five.outliers_high].concat(),
    }
}
