//! Times of high and of low activity (Patel, section 4).

use plimsoll_stats::Sample;

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
}

/// Which end of the distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// At or above the upper quantile.
    High,
    /// At or below the lower one.
    Low,
}

impl Phases {
    /// Finds phases in a series. Quantiles are of all minutes that are known.
    pub fn of(
        series: &[Option<u64>],
        sample: Option<&Sample>,
        (low, high): (f64, f64),
        level: Level,
    ) -> Self {
        let Some(sample) = sample else { return Phases::default() };
        let bounds = sample.quantile(low).ok().zip(sample.quantile(high).ok());
        let Some((low, high)) = bounds.filter(|(low, high)| low < high) else {
            return Phases::default();
        };
        let bound = if level == Level::High { high } else { low };
        let is_in = |value: u64| match level {
            Level::High => value as f64 >= bound,
            Level::Low => value as f64 <= bound,
        };
        let mut phases = Phases { bound: Some(bound), ..Phases::default() };
        for known in series.split(Option::is_none) {
            phases.take(known, &is_in);
        }
        phases
    }

    /// Takes minutes between two that are missing.
    fn take(&mut self, known: &[Option<u64>], is_in: &dyn Fn(u64) -> bool) {
        let is_in = |it: &Option<u64>| it.is_some_and(is_in);
        let (mut place, mut last_start) = (0, None);
        for run in known.chunk_by(|one, next| is_in(one) == is_in(next)) {
            if is_in(&run[0]) {
                self.lengths.push(run.len() as u32);
                let is_cut = place == 0 || place + run.len() == known.len();
                self.censored += u64::from(is_cut);
                // Where the first one began is not known.
                if let Some(start) = last_start {
                    self.intervals.push((place - start) as u32);
                }
                last_start = (place > 0).then_some(place).or(last_start);
            }
            place += run.len();
        }
    }

    /// Returns the mean length in minutes.
    pub fn mean_length(&self) -> Option<f64> {
        mean(&self.lengths)
    }

    /// Returns the mean time from start to start in minutes.
    pub fn mean_interval(&self) -> Option<f64> {
        mean(&self.intervals)
    }
}

fn mean(values: &[u32]) -> Option<f64> {
    let sum: u64 = values.iter().map(|it| u64::from(*it)).sum();
    (!values.is_empty()).then(|| sum as f64 / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phases(series: &[Option<u64>], level: Level) -> Phases {
        let known = series.iter().flatten().map(|it| *it as f64).collect();
        Phases::of(series, Sample::new(known).ok().as_ref(), (0.25, 0.75), level)
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
        assert_eq!((high.censored, high.mean_length()), (0, Some(5.0 / 3.0)));
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
    }

    #[test]
    fn equal_quantiles_say_nothing() {
        assert_eq!(phases(&[Some(3); 20], Level::High), Phases::default());
        assert_eq!(phases(&[], Level::Low), Phases::default());
    }
}
