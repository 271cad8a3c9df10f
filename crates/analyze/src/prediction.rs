//! Whether what happens tells what comes: correlations of the whole by window and lag (Patel, section 5).

use crate::by_days::{ByDays, Estimate};
use crate::lane::DAY_MINUTES;
use crate::minutes::WINDOWS;
use crate::timeline::Timeline;

/// Lags of the whole, in windows.
pub const SYSTEM_LAGS: usize = 13;

/// A correlation for each window and lag.
#[derive(Debug, Clone, Default)]
pub struct Correlations {
    /// By window ([`WINDOWS`]) and lag.
    pub by_window: Vec<Vec<Option<Correlated>>>,
}

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Correlated {
    /// Pairs of which both are known.
    pub pairs: u64,
    /// Pearson's coefficient.
    pub r: Estimate,
}

/// Correlates a series with another that follows it.
pub fn correlate(
    line: &Timeline,
    first: &[Option<u64>],
    second: &[Option<u64>],
    drawn: &ByDays,
) -> Correlations {
    let by_window = WINDOWS.into_iter().map(|width| {
        let (x, y) = (line.windows(first, width), line.windows(second, width));
        let of_lag = |lag: usize| at_lag(&x, &y, lag, width, drawn);
        (0..SYSTEM_LAGS).map(of_lag).collect()
    });
    Correlations { by_window: by_window.collect() }
}

/// Sums of a day: pairs, both values, their squares and their product.
type Sums = [f64; 6];

fn at_lag(
    x: &[Option<u64>],
    y: &[Option<u64>],
    lag: usize,
    width: usize,
    drawn: &ByDays,
) -> Option<Correlated> {
    let later = y.get(lag..)?;
    let pairs = || x.iter().zip(later).enumerate();
    let known = || pairs().filter_map(|(place, (x, y))| Some((place, (*x)?, (*y)?)));
    let count = known().count();
    if count < 3 {
        return None;
    }
    let mean = |of: &dyn Fn((usize, u64, u64)) -> u64| {
        let sum: u128 = known().map(|it| u128::from(of(it))).sum();
        sum as f64 / count as f64
    };
    let (x_mean, y_mean) = (mean(&|it| it.1), mean(&|it| it.2));
    let mut days: Vec<Sums> = Vec::new();
    for (place, x, y) in known() {
        let day = place * width / DAY_MINUTES;
        if days.len() <= day {
            days.resize(day + 1, [0.0; 6]);
        }
        let (x, y) = (x as f64 - x_mean, y as f64 - y_mean);
        let more = [1.0, x, y, x * x, y * y, x * y];
        days[day].iter_mut().zip(more).for_each(|(sum, it)| *sum += it);
    }
    days.retain(|day| day[0] > 0.0);
    let r = drawn.of_sums(&days, |[n, x, y, xx, yy, xy]| {
        let (xx, yy, xy) = (xx - x * x / n, yy - y * y / n, xy - x * y / n);
        (xx > 0.0 && yy > 0.0).then(|| (xy / (xx.sqrt() * yy.sqrt())).clamp(-1.0, 1.0))
    })?;
    Some(Correlated { pairs: count as u64, r })
}
