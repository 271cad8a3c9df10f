//! Intervals by drawing whole days again: minutes of a day hang together, and days somewhat.

use std::borrow::Cow;

use plimsoll_stats::Random;
use plimsoll_stats::sample::quantile_sorted;

/// Days below which nothing is said of how sure a figure is.
pub const LEAST_DAYS: usize = 7;

/// How often days are drawn.
const DRAWS: usize = 999;

/// An interval of 95 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A figure, and how sure it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// Where it may lie; nothing where there are too few days to tell.
    pub interval: Option<Interval>,
}

impl Estimate {
    /// Returns it in another unit.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        let interval =
            self.interval.map(|it| Interval { low: it.low * factor, high: it.high * factor });
        Estimate { value: self.value * factor, interval }
    }

    /// Returns the figure as it is known exactly, where its interval was found by one that is nearly the same.
    #[must_use]
    pub fn moved_to(self, exact: f64) -> Self {
        let by = exact - self.value;
        let moved = |it: Interval| Interval { low: it.low + by, high: it.high + by };
        Estimate { value: exact, interval: self.interval.map(moved) }
    }
}

/// Draws blocks of days that follow each other, as many as there are days, again and again (Künsch, "The jackknife and the bootstrap for
/// general stationary observations", 1989; blocks go round the end). A block has the cube root of the number of days.
#[derive(Debug, Clone)]
pub struct ByDays {
    days: usize,
    seed: u64,
    draws: Vec<Vec<u32>>,
}

impl ByDays {
    /// Draws for so many days.
    pub fn new(days: usize, seed: u64) -> Self {
        if days < LEAST_DAYS {
            return ByDays { days, seed, draws: Vec::new() };
        }
        let block = block_days(days);
        let mut random = Random::new(seed);
        let mut draw = || {
            let mut drawn = Vec::with_capacity(days);
            while drawn.len() < days {
                let start = random.index(days);
                let some = (start..start + block).map(|day| (day % days) as u32);
                drawn.extend(some.take(days - drawn.len()));
            }
            drawn
        };
        ByDays { days, seed, draws: (0..DRAWS).map(|_| draw()).collect() }
    }

    /// Returns how many days there are.
    pub fn days(&self) -> usize {
        self.days
    }

    /// Returns draws for so many days, or weeks, or whatever else there is one of after the other.
    pub fn for_days(&self, days: usize) -> Cow<'_, ByDays> {
        if days == self.days {
            return Cow::Borrowed(self);
        }
        Cow::Owned(ByDays::new(days, self.seed))
    }

    /// Returns a figure of all days with its interval. `of` gets days, some of them more than once.
    pub fn estimate(&self, days: usize, of: impl Fn(&[u32]) -> Option<f64>) -> Option<Estimate> {
        let all: Vec<u32> = (0..days as u32).collect();
        let value = of(&all)?;
        let drawn: Option<Vec<f64>> = self.draws.iter().map(|days| of(days)).collect();
        let interval = drawn.filter(|it| !it.is_empty()).and_then(|mut drawn| {
            // Of what may be without bound nothing is said.
            if !drawn.iter().all(|it| it.is_finite()) {
                return None;
            }
            drawn.sort_by(f64::total_cmp);
            let (low, high) = (quantile_sorted(&drawn, 0.025)?, quantile_sorted(&drawn, 0.975)?);
            let widen = |end: f64| value + (end - value) * self.widening();
            Some(Interval { low: widen(low), high: widen(high) })
        });
        Some(Estimate { value, interval })
    }

    /// Returns by how much intervals are too narrow: the spread of few blocks is told from these blocks themselves. As of a mean of so many values: the quantile of Student's
    /// distribution over that of the normal one (its first two terms), and n over n - 1 below the root.
    fn widening(&self) -> f64 {
        let blocks = (self.days as f64 / block_days(self.days) as f64).max(2.0);
        let z: f64 = 1.96;
        let student = 1.0 + (z * z + 1.0) / (4.0 * (blocks - 1.0));
        student * (blocks / (blocks - 1.0)).sqrt()
    }

    /// Returns the mean of values, one of each day, with its interval.
    pub fn mean(&self, values: &[f64]) -> Option<Estimate> {
        let days: Vec<[f64; 2]> = values.iter().map(|it| [*it, 1.0]).collect();
        self.of_sums(&days, |[sum, n]| (*n > 0.0).then(|| sum / n))
    }

    /// Returns the standard deviation over the mean of values, one of each day, with its interval.
    pub fn cov(&self, values: &[f64]) -> Option<Estimate> {
        // About the mean of all, so that squares lose nothing.
        let centre = values.iter().sum::<f64>() / values.len().max(1) as f64;
        let days: Vec<[f64; 3]> =
            values.iter().map(|it| [1.0, it - centre, (it - centre) * (it - centre)]).collect();
        self.of_sums(&days, |sums| cov_of(sums, centre))
    }

    /// Returns the median of the values of all days, with its interval. A day may have any number of them.
    pub fn median(&self, days: &[Vec<f64>]) -> Option<Estimate> {
        let drawn = self.for_days(days.len());
        drawn.estimate(days.len(), |drawn| {
            let values = drawn.iter().flat_map(|day| &days[*day as usize]);
            median(values.copied().collect())
        })
    }

    /// Returns a figure that is worked out from sums of days, with its interval.
    pub fn of_sums<const N: usize>(
        &self,
        days: &[[f64; N]],
        of: impl Fn(&[f64; N]) -> Option<f64>,
    ) -> Option<Estimate> {
        let drawn = self.for_days(days.len());
        drawn.estimate(days.len(), |drawn| {
            let mut sums = [0.0; N];
            for day in drawn {
                sums.iter_mut().zip(days[*day as usize]).for_each(|(sum, it)| *sum += it);
            }
            of(&sums)
        })
    }
}

/// Returns the sum of the first over the sum of the second number of days that follow each other, with its interval.
pub fn ratio_of_days(days: &[[f64; 2]], seed: u64) -> Option<Estimate> {
    let drawn = ByDays::new(days.len(), seed);
    drawn.of_sums(days, |[sum, n]| (*n > 0.0).then(|| sum / n))
}

/// Returns the standard deviation over the mean, from sums about a centre: how many, deviations and their squares.
pub fn cov_of([n, sum, squares]: &[f64; 3], centre: f64) -> Option<f64> {
    let variance = (squares - sum * sum / n) / (n - 1.0);
    let mean = centre + sum / n;
    (mean > 0.0 && *n > 1.0).then(|| variance.max(0.0).sqrt() / mean)
}

/// Returns the median; values may be infinite, and then so may it.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    let (middle, is_even) = (values.len() / 2, values.len().is_multiple_of(2));
    if values.is_empty() {
        return None;
    }
    let (below, high, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let high = *high;
    if !is_even {
        return Some(high);
    }
    let low = below.iter().copied().max_by(f64::total_cmp)?;
    Some(if high.is_finite() { low.midpoint(high) } else { high })
}

fn block_days(days: usize) -> usize {
    (days as f64).cbrt().round().max(1.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_mean_is_about_what_it_should_be() {
        let (mut covered, seeds) = (0, 200);
        for seed in 0..seeds {
            let mut random = Random::new(seed);
            let days: Vec<[f64; 2]> = (0..90).map(|_| [random.normal() + 5.0, 1.0]).collect();
            let drawn = ByDays::new(days.len(), 1);
            let mean = drawn.of_sums(&days, |[sum, n]| Some(sum / n)).unwrap();
            let interval = mean.interval.unwrap();
            covered += u32::from(interval.low <= 5.0 && 5.0 <= interval.high);
        }
        assert!((183..=198).contains(&covered), "{covered} of {seeds}");
    }

    #[test]
    fn a_few_days_say_nothing_of_their_spread() {
        let drawn = ByDays::new(6, 1);
        let mean = drawn.of_sums(&[[1.0], [2.0]], |[sum]| Some(*sum)).unwrap();
        assert_eq!(mean, Estimate { value: 3.0, interval: None });
    }

    #[test]
    fn medians_are_between_the_middle_values_and_may_be_without_bound() {
        assert_eq!((median(vec![]), median(vec![3.0, 1.0, 2.0])), (None, Some(2.0)));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(vec![1.0, f64::INFINITY]), Some(f64::INFINITY));
        let days = vec![vec![1.0, f64::INFINITY]; 9];
        assert_eq!(ByDays::new(9, 1).median(&days).unwrap().interval, None);
    }
}
