//! A figure in words.

use plimsoll_analyze::Estimate;

/// "1.75 (1.61 to 1.9)".
pub(super) fn figure(estimate: &Estimate, show: impl Fn(f64) -> String) -> String {
    match estimate.interval {
        Some(interval) => {
            format!("{} ({} to {})", show(estimate.value), show(interval.low), show(interval.high))
        }
        None => format!("{} (too few days to say how sure)", show(estimate.value)),
    }
}
