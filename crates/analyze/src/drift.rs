//! Whether load stays as it is over the time that is looked at: where it does not, figures of the whole mix unlike times.

use crate::by_days::{ByDays, Estimate, LEAST_DAYS};
use crate::open_day::BOTH;
use crate::timeline::Timeline;

/// A change by less is not worth a word.
const LEAST_CHANGE: f64 = 1.25;

/// What the last third of the days has over the first one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// Days of a third.
    pub days: usize,
    /// Mean minute of the last third over that of the first.
    pub last_over_first: Estimate,
}

impl Drift {
    /// Returns whether load changed, beyond chance and by enough to matter.
    pub fn is_clear(&self) -> bool {
        let interval = self.last_over_first.interval;
        interval.is_some_and(|it| it.low > LEAST_CHANGE || it.high < 1.0 / LEAST_CHANGE)
    }
}

/// Compares the first and the last third of the days, of reads and of writes; nothing where there are too few.
pub fn drifts(line: &Timeline, drawn: &ByDays) -> [Option<Drift>; BOTH] {
    [0, 1].map(|direction: usize| {
        let of_day = |places: std::ops::Range<usize>| {
            let known = || line.bytes[direction][places.clone()].iter().flatten();
            let n = known().count() as f64;
            (n > 0.0).then(|| [known().map(|it| *it as f64).sum(), n])
        };
        let days: Vec<[f64; 2]> = line.days().filter_map(|it| of_day(it.0)).collect();
        let third = days.len() / 3;
        if third < LEAST_DAYS {
            return None;
        }
        let ends = days[..third].iter().zip(&days[days.len() - third..]);
        // A day of the one end is drawn with a day of the other: they have nothing to do with each other.
        let pairs: Vec<[f64; 4]> =
            ends.map(|(first, last)| [first[0], first[1], last[0], last[1]]).collect();
        let over = |[first, n_first, last, n_last]: &[f64; 4]| {
            (*first > 0.0).then(|| (last / n_last) / (first / n_first))
        };
        Some(Drift { days: third, last_over_first: drawn.of_sums(&pairs, over)? })
    })
}
