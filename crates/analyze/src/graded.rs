//! How many minutes of each day are below bounds around a quantile, so that the quantile of any days that are drawn again is found without reading their minutes again.

use plimsoll_stats::Sample;

use crate::by_days::{ByDays, Estimate};

/// Bounds on each side of the quantile, closer to each other near to it.
const SIDE: usize = 12;

/// Minutes of days, counted at bounds around a quantile of all of them.
#[derive(Debug, Clone)]
pub struct Graded {
    quantile: f64,
    /// In their order; no two are equal.
    bounds: Vec<f64>,
    days: Vec<GradedDay>,
}

#[derive(Debug, Clone)]
struct GradedDay {
    minutes: f64,
    /// By bound: minutes below it,
    below: Vec<f64>,
    /// and those below or at it.
    up_to: Vec<f64>,
}

/// Where between two bounds, by their places: the share that the second one counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Between {
    /// The bound at or below.
    pub low: usize,
    /// The bound at or above.
    pub high: usize,
    /// From 0 to 1.
    pub share: f64,
}

impl Between {
    /// Returns what lies there between what is known of each bound.
    pub fn of(self, at: impl Fn(usize) -> Option<f64>) -> Option<f64> {
        let low = at(self.low)?;
        if self.share == 0.0 {
            return Some(low);
        }
        Some(low + (at(self.high)? - low) * self.share)
    }
}

impl Graded {
    /// Counts the minutes of days, which are sorted. `sample` has all of them.
    pub fn new(days: &[Vec<f64>], sample: &Sample, quantile: f64) -> Self {
        let beside = |number: usize| (number as f64 / SIDE as f64).powi(2);
        let lower = (1..=SIDE).rev().map(|it| quantile * (1.0 - beside(it)));
        let upper = (0..=SIDE).map(|it| quantile + (1.0 - quantile) * beside(it));
        let mut bounds: Vec<f64> =
            lower.chain(upper).filter_map(|it| sample.quantile(it.clamp(0.0, 1.0)).ok()).collect();
        bounds.dedup();
        let of_day = |day: &Vec<f64>| GradedDay {
            minutes: day.len() as f64,
            below: bounds.iter().map(|it| day.partition_point(|value| value < it) as f64).collect(),
            up_to: bounds
                .iter()
                .map(|it| day.partition_point(|value| value <= it) as f64)
                .collect(),
        };
        let days = days.iter().map(of_day).collect();
        Graded { quantile, bounds, days }
    }

    /// Returns the bounds.
    pub fn bounds(&self) -> &[f64] {
        &self.bounds
    }

    /// Returns where the quantile of the minutes of these days is; nothing where they have none.
    pub fn place(&self, days: &[u32]) -> Option<Between> {
        let days = || days.iter().map(|day| &self.days[*day as usize]);
        let wanted = self.quantile * days().map(|it| it.minutes).sum::<f64>();
        let last = self.bounds.len().checked_sub(1)?;
        let mut before = 0.0;
        for bound in 0..=last {
            let below: f64 = days().map(|it| it.below[bound]).sum();
            if wanted < below && bound > 0 {
                let share = (wanted - before) / (below - before);
                let share = if below > before { share.clamp(0.0, 1.0) } else { 0.0 };
                return Some(Between { low: bound - 1, high: bound, share });
            }
            let up_to: f64 = days().map(|it| it.up_to[bound]).sum();
            if wanted <= up_to {
                return Some(Between { low: bound, high: bound, share: 0.0 });
            }
            before = up_to;
        }
        Some(Between { low: last, high: last, share: 0.0 })
    }

    /// Returns the quantile with its interval.
    pub fn estimate(&self, exact: f64, drawn: &ByDays) -> Option<Estimate> {
        let drawn = drawn.for_days(self.days.len());
        let of = |days: &[u32]| self.place(days)?.of(|bound| self.bounds.get(bound).copied());
        let about = drawn.estimate(self.days.len(), of)?;
        Some(about.moved_to(exact))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_stats::Random;

    fn graded(days: &[Vec<f64>], quantile: f64) -> (Graded, f64) {
        let sample = Sample::new(days.iter().flatten().copied().collect()).unwrap();
        let mut sorted = days.to_vec();
        sorted.iter_mut().for_each(|it| it.sort_by(f64::total_cmp));
        (Graded::new(&sorted, &sample, quantile), sample.quantile(quantile).unwrap())
    }

    #[test]
    fn quantiles_of_days_that_are_drawn_are_about_those_of_their_minutes() {
        let mut random = Random::new(3);
        let days: Vec<Vec<f64>> =
            (0..20).map(|_| (0..200).map(|_| random.gamma(1.5)).collect()).collect();
        let (graded, _) = graded(&days, 0.75);
        for drawn in [[0u32, 0, 3, 9], [5, 6, 7, 8], [19, 1, 19, 1]] {
            let all = drawn.iter().flat_map(|day| days[*day as usize].clone()).collect();
            let exact = Sample::new(all).unwrap().quantile(0.75).unwrap();
            let found = graded.place(&drawn).unwrap().of(|it| Some(graded.bounds()[it])).unwrap();
            assert!((found - exact).abs() < 0.02 * exact, "{found} {exact}");
        }
    }

    #[test]
    fn what_many_minutes_have_alike_is_the_quantile_as_it_is() {
        let day: Vec<f64> = (0..100).map(|it| if it < 60 { 0.0 } else { f64::from(it) }).collect();
        let (graded, exact) = graded(&vec![day; 9], 0.25);
        assert_eq!(exact, 0.0);
        let estimate = graded.estimate(exact, &ByDays::new(9, 1)).unwrap().interval.unwrap();
        assert_eq!((estimate.low, estimate.high), (0.0, 0.0));
    }
}
