//! Times of high and of low activity (Patel, section 4).

use std::ops::Range;

use plimsoll_stats::Sample;

use crate::by_days::{ByDays, Estimate};
use crate::graded::Graded;

/// Runs of minutes at or beyond a quantile.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Phases {
    /// Bytes of a minute from which on, or up to which, it counts; nothing where quantiles are equal and phases say nothing.
    pub bound: Option<f64>,
    /// Lengths in minutes, in the order of time.
    pub lengths: Vec<u32>,
    /// Those that end where nothing is known, and may have been longer.
    pub censored: u64,
    /// Minutes from the start of one to that of the next, where all between is known.
    pub intervals: Vec<u32>,
    /// Mean length in minutes.
    pub mean_length: Option<Estimate>,
    /// Mean time from start to start in minutes.
    pub mean_interval: Option<Estimate>,
}

/// Which end of the distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// At or above the upper quantile.
    High,
    /// At or below the lower one.
    Low,
}

impl Level {
    fn has(self, value: u64, bound: f64) -> bool {
        match self {
            Level::High => value as f64 >= bound,
            Level::Low => value as f64 <= bound,
        }
    }
}

/// A series with its days, and what is known of it as a whole.
#[derive(Debug, Clone, Copy)]
pub struct Course<'a> {
    /// All minutes, by place.
    pub series: &'a [Option<u64>],
    /// All minutes that are known.
    pub sample: &'a Sample,
    /// Places of each day.
    pub days: &'a [Range<usize>],
    /// Minutes of each day that are known, sorted.
    pub sorted: &'a [Vec<f64>],
}

impl Phases {
    /// Finds phases in a series. Quantiles are of all minutes that are known, and so they are wherever days are drawn again: what counts as high is itself not certain.
    pub fn of(course: Course<'_>, (low, high): (f64, f64), level: Level, drawn: &ByDays) -> Self {
        let Course { series, sample, days, sorted } = course;
        let bounds = sample.quantile(low).ok().zip(sample.quantile(high).ok());
        let Some((at_low, at_high)) = bounds.filter(|(low, high)| low < high) else {
            return Phases::default();
        };
        let (quantile, bound) = match level {
            Level::High => (high, at_high),
            Level::Low => (low, at_low),
        };
        let mut phases = Phases { bound: Some(bound), ..Phases::default() };
        find(series, level, bound, |found| phases.take(found));
        let graded = Graded::new(sorted, sample, quantile);
        // By bound and day: phases, their minutes, times between, their minutes.
        let sums: Vec<Vec<[f64; 4]>> =
            graded.bounds().iter().map(|bound| by_day(series, level, *bound, days)).collect();
        let estimate = |count: usize, exact: Option<f64>| {
            let drawn = drawn.for_days(days.len());
            let of = |some: &[u32]| {
                let at = |bound: usize| {
                    let of_days = some.iter().map(|day| &sums[bound][*day as usize]);
                    let (n, sum) = of_days
                        .fold((0.0, 0.0), |(n, sum), it| (n + it[count], sum + it[count + 1]));
                    (n > 0.0).then(|| sum / n)
                };
                graded.place(some)?.of(at)
            };
            let exact = exact?;
            let about = drawn.estimate(days.len(), of);
            Some(about.map_or(Estimate { value: exact, interval: None }, |it| it.moved_to(exact)))
        };
        phases.mean_length = estimate(0, mean(&phases.lengths));
        phases.mean_interval = estimate(2, mean(&phases.intervals));
        phases
    }

    fn take(&mut self, found: Found) {
        self.lengths.push(found.minutes);
        self.censored += u64::from(found.is_cut);
        self.intervals.extend(found.after);
    }
}

/// A phase.
struct Found {
    /// The place of its first minute that is known to be of it.
    place: usize,
    minutes: u32,
    /// Whether it begins or ends where nothing is known.
    is_cut: bool,
    /// Minutes from the start of the one before it.
    after: Option<u32>,
}

/// Calls for each phase.
fn find(series: &[Option<u64>], level: Level, bound: f64, mut each: impl FnMut(Found)) {
    let mut start = 0;
    for known in series.split(Option::is_none) {
        let is_in = |it: &Option<u64>| it.is_some_and(|it| level.has(it, bound));
        let (mut place, mut last_start) = (0, None);
        for run in known.chunk_by(|one, next| is_in(one) == is_in(next)) {
            if is_in(&run[0]) {
                let is_cut = place == 0 || place + run.len() == known.len();
                let after = last_start.map(|start: usize| (place - start) as u32);
                each(Found { place: start + place, minutes: run.len() as u32, is_cut, after });
                // Where the first one began is not known.
                last_start = (place > 0).then_some(place).or(last_start);
            }
            place += run.len();
        }
        start += known.len() + 1;
    }
}

/// Returns of each day, by the place at which they begin: phases, their minutes, times between, their minutes.
fn by_day(
    series: &[Option<u64>],
    level: Level,
    bound: f64,
    days: &[Range<usize>],
) -> Vec<[f64; 4]> {
    let mut sums = vec![[0.0; 4]; days.len()];
    find(series, level, bound, |found| {
        let day = days.partition_point(|it| it.start <= found.place).saturating_sub(1);
        if let Some(sums) = sums.get_mut(day) {
            sums[0] += 1.0;
            sums[1] += f64::from(found.minutes);
            sums[2] += f64::from(u8::from(found.after.is_some()));
            sums[3] += f64::from(found.after.unwrap_or(0));
        }
    });
    sums
}

fn mean(values: &[u32]) -> Option<f64> {
    let sum: u64 = values.iter().map(|it| u64::from(*it)).sum();
    (!values.is_empty()).then(|| sum as f64 / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phases(series: &[Option<u64>], level: Level) -> Phases {
        let known: Vec<f64> = series.iter().flatten().map(|it| *it as f64).collect();
        let Ok(sample) = Sample::new(known) else { return Phases::default() };
        let (day, sorted) = (0..series.len(), vec![sample.values().to_vec()]);
        let days = [day];
        let course = Course { series, sample: &sample, days: &days, sorted: &sorted };
        Phases::of(course, (0.25, 0.75), level, &ByDays::new(1, 1))
    }

    #[test]
    fn phases_are_maximal_runs_and_arrive_from_start_to_start() {
        let series: Vec<Option<u64>> =
            [1, 9, 9, 1, 2, 2, 9, 1, 1, 2, 9, 9, 2, 2, 2, 2].map(Some).to_vec();
        let high = phases(&series, Level::High);
        assert_eq!(
            (high.lengths.as_slice(), high.intervals.as_slice()),
            (&[2, 1, 2][..], &[5, 4][..])
        );
        let length = high.mean_length.unwrap();
        assert_eq!((high.censored, length.value, length.interval), (0, 5.0 / 3.0, None));
        let low = phases(&series, Level::Low);
        assert_eq!((low.lengths.as_slice(), low.censored), (&[1, 1, 2][..], 1));
        assert_eq!(low.intervals, [4], "where the first one began is not known");
    }

    #[test]
    fn a_phase_ends_where_nothing_is_known() {
        let mut series: Vec<Option<u64>> =
            [1, 9, 9, 9, 9, 1, 1, 9, 1, 1, 1, 1, 1].map(Some).to_vec();
        series[3] = None;
        let high = phases(&series, Level::High);
        assert_eq!((high.lengths.as_slice(), high.censored), (&[2, 1, 1][..], 2));
        assert!(high.intervals.is_empty(), "of the one after the gap the start is not known");
        assert_eq!(high.mean_interval, None);
    }

    #[test]
    fn equal_quantiles_say_nothing() {
        assert_eq!(phases(&[Some(3); 20], Level::High), Phases::default());
    }
}
