//! Decides when enough was measured.
//!
//! Measures of storage are correlated in time, so the interval of a median is that of a series, which is widened by
//! the correlation ([`plimsoll_stats::series`]). This also compensates for looking after every round: intervals at the
//! moment of stopping are narrow partly by luck. In simulations they covered the median in 95 % of experiments
//! or more, with correlations up to 0.8, and in 92 to 95 % where values have two or three modes that last and the median is
//! near a gap (`cargo bench --bench coverage`; docs/benchmarking.md has the table). Where a target is fast for a while
//! and slow for a while, an interval may be narrow because only one of the two was seen. The interval must therefore have
//! stayed narrow for the last third of the measures, and one that errs ten times less often must be narrow too, or hardly wider.

use std::collections::BTreeMap;

use plimsoll_stats::Sample;
use plimsoll_stats::series::{SeriesInterval, bounds, least, series_median_interval, worth};

use crate::warm_up::warm_up_rounds;

/// What was measured so far, by setting; `K` identifies a setting.
#[derive(Debug, Clone)]
pub struct Stopping<K> {
    precision: f64,
    confidence: f64,
    series: BTreeMap<K, Series>,
    /// Measures of each setting before the current run.
    before_run: BTreeMap<K, usize>,
}

/// The measures of one setting.
#[derive(Debug, Clone, Default)]
struct Series {
    values: Vec<f64>,
    /// The interval of their median.
    interval: Option<SeriesInterval>,
    /// How many there were when the interval became narrow enough, and it stayed so since.
    narrow_since: Option<usize>,
}

impl Series {
    /// Half the width of the interval over the median.
    fn half_width(&self) -> Option<f64> {
        self.interval.map(|it| (it.high - it.low) / 2.0 / it.estimate)
    }

    /// Returns whether half its width is at most `precision`, and that of a surer interval as well, or hardly more than its own.
    fn is_narrow(&self, precision: f64, confidence: f64) -> bool {
        let (Some(it), Ok(sample)) = (self.interval, Sample::try_from(&self.values[..])) else {
            return false;
        };
        let surer = 1.0 - (1.0 - confidence) / SURER;
        let (low, high) = bounds(&self.values, &sample, it.effective_n, surer);
        let surer_width = (high - low) / 2.0 / it.estimate;
        self.half_width().is_some_and(|width| {
            width <= precision && surer_width <= precision.max(HARDLY_WIDER * width)
        })
    }

    /// Returns how many measures are enough if the interval stays narrow.
    fn enough(&self) -> Option<usize> {
        self.narrow_since.map(confirmed)
    }
}

/// An interval that errs this many times less often …
const SURER: f64 = 10.0;
/// … is 1.4 times as wide where values lie close together, twice as wide at most by chance, and much wider where
/// there is a gap near the median.
const HARDLY_WIDER: f64 = 2.0;

/// Returns the number of measures that are needed: the interval must have been narrow for a third of them.
fn confirmed(narrow_since: usize) -> usize {
    (3 * narrow_since).div_ceil(2)
}

/// Returns the fewest measures of each setting after which a run can end.
pub fn earliest(confidence: f64) -> usize {
    confirmed(least(confidence))
}

/// How well the median of one setting is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Known {
    /// Measures.
    pub n: usize,
    /// Least number of independent measures that would say as much.
    pub effective_n: f64,
    /// Median of the measures.
    pub median: f64,
    /// Interval of the median; `None` if the measures are too few for one.
    pub interval: Option<(f64, f64)>,
    /// Half the interval's width over the median; `None` without an interval.
    pub relative_half_width: Option<f64>,
    /// More measures that are likely to be needed; 0 when precise enough.
    pub more: u64,
}

/// Whether to go on.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict<K> {
    /// Whether every setting is known well enough.
    pub reached: bool,
    /// Each setting.
    pub settings: Vec<(K, Known)>,
    /// More rounds that are likely to be needed, for the setting that needs most.
    pub more_rounds: u64,
    /// First rounds of this run that differ from the later ones. They are counted all the same.
    pub warm_up_rounds: usize,
}

/// What is missing to the precision that was asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shortfall {
    /// Settings whose median is not known precisely enough.
    pub settings: usize,
    /// All settings of the plan.
    pub of: usize,
    /// Half the width of the widest interval over its median; `None` where one has no interval yet.
    pub half_width: Option<f64>,
    /// Rounds of each setting that are likely to be enough, all counted.
    pub rounds: u64,
}

impl<K: Ord + Clone> Stopping<K> {
    /// Creates it before anything was measured. `precision` and `confidence` are as in
    /// [`Repeat`](crate::plan::Repeat).
    pub fn new(precision: f64, confidence: f64) -> Self {
        let (series, before_run) = (BTreeMap::new(), BTreeMap::new());
        Stopping { precision, confidence, series, before_run }
    }

    /// Begins a run, whose first rounds may be warm-up again.
    pub fn begin_run(&mut self) {
        let lengths = self.series.iter().map(|(key, series)| (key.clone(), series.values.len()));
        self.before_run = lengths.collect();
    }

    /// Adds the aggregate bandwidth of an instance. What is not a positive number is left out: a
    /// failed instance has none.
    pub fn observe(&mut self, key: &K, bandwidth: f64) {
        if bandwidth.is_finite() && bandwidth > 0.0 {
            let series = self.series.entry(key.clone()).or_default();
            series.values.push(bandwidth);
            series.interval = series_median_interval(&series.values, self.confidence).ok();
            let is_narrow = series.is_narrow(self.precision, self.confidence);
            let now = series.values.len();
            series.narrow_since = is_narrow.then(|| series.narrow_since.unwrap_or(now));
        }
    }

    /// Returns whether everything is known well enough. `settings` is how many settings the plan has: one
    /// of which nothing was measured is not known.
    pub fn verdict(&self, settings: usize) -> Verdict<K> {
        let known: Vec<(K, Known)> = self
            .series
            .iter()
            .filter_map(|(key, series)| Some((key.clone(), self.known(series)?)))
            .collect();
        let complete = known.len() >= settings && !known.is_empty();
        let more_rounds = known.iter().map(|(_, known)| known.more).max().unwrap_or(0);
        let this_run: Vec<&[f64]> = self
            .series
            .iter()
            .map(|(key, series)| &series.values[self.before_run.get(key).copied().unwrap_or(0)..])
            .collect();
        Verdict {
            reached: complete && more_rounds == 0,
            settings: known,
            more_rounds,
            warm_up_rounds: warm_up_rounds(&this_run),
        }
    }

    /// Returns what is missing to the precision, for this many settings; `None` if nothing is.
    pub fn shortfall(&self, settings: usize) -> Option<Shortfall> {
        let verdict = self.verdict(settings);
        let known = |it: &&(K, Known)| it.1.more == 0;
        let open: Vec<&Known> =
            verdict.settings.iter().filter(|it| !known(it)).map(|it| &it.1).collect();
        let widths: Option<Vec<f64>> = open.iter().map(|it| it.relative_half_width).collect();
        let unmeasured = settings.saturating_sub(verdict.settings.len());
        let rounds = open.iter().map(|it| it.n as u64 + it.more).max();
        (!verdict.reached).then(|| Shortfall {
            settings: open.len() + unmeasured,
            of: settings,
            half_width: widths
                .filter(|_| unmeasured == 0)
                .and_then(|it| it.into_iter().reduce(f64::max)),
            rounds: rounds.unwrap_or(0).max(earliest(self.confidence) as u64),
        })
    }

    fn known(&self, series: &Series) -> Option<Known> {
        let sample = Sample::try_from(&series.values[..]).ok()?;
        let n = sample.n();
        let relative_half_width = series.half_width();
        let more = match (series.enough(), relative_half_width) {
            (Some(enough), _) => enough.saturating_sub(n) as f64,
            // An interval shrinks with the square root of the number.
            (None, Some(width)) => {
                (n as f64 * ((width / self.precision).powi(2) - 1.0)).ceil().max(1.0)
            }
            (None, None) => (earliest(self.confidence) as f64 - n as f64).max(1.0),
        };
        Some(Known {
            n,
            effective_n: series.interval.map_or_else(|| worth(&series.values), |it| it.effective_n),
            median: sample.median(),
            interval: series.interval.map(|it| (it.low, it.high)),
            relative_half_width,
            more: more as u64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_stats::Random;

    /// A third or more of the values lie at half of the others: the interval may just miss them.
    #[test]
    fn an_interval_beside_a_gap_is_not_trusted() {
        let mut missed = 0;
        for seed in 0..20 {
            let mut random = Random::new(seed);
            let low = 34 + seed as usize % 5;
            let mut values: Vec<f64> = (0..100)
                .map(|it| if it < low { 50.0 } else { 100.0 } + 0.1 * random.normal())
                .collect();
            random.shuffle(&mut values);
            let interval = series_median_interval(&values, 0.95).ok();
            let series = Series { values, interval, narrow_since: None };
            if series.half_width().is_some_and(|width| width <= 0.05) && low > 35 {
                missed += 1;
                assert!(!series.is_narrow(0.05, 0.95), "{low} of 100, seed {seed}");
            }
        }
        assert!(missed > 3, "{missed}");
        let close: Vec<f64> = (0..40).map(|it| 100.0 + f64::from(it * 7 % 40) / 40.0).collect();
        let interval = series_median_interval(&close, 0.95).ok();
        assert!(Series { values: close, interval, narrow_since: None }.is_narrow(0.05, 0.95));
    }

    /// A target that is at half speed in 45 % of the time, for a while each: who stops when the slow half happens to be
    /// rare has an interval that misses the median. 92 of 100 experiments or more are to be right.
    #[test]
    fn a_run_that_stops_early_was_not_just_lucky() {
        let (mut right, experiments) = (0, 100);
        for seed in 0..experiments {
            let mut random = Random::new(seed);
            let (mut behind, mut stopping) = (random.normal(), Stopping::new(0.2, 0.95));
            for _ in 0..200 {
                behind = 0.8 * behind + 0.6 * random.normal();
                let is_slow = behind < -0.125_661; // The 45 % quantile of normal values.
                stopping.observe(
                    &(),
                    (if is_slow { 50.0 } else { 100.0 }) * (1.0 + 0.03 * random.normal()),
                );
                if stopping.verdict(1).reached {
                    break;
                }
            }
            // Of the upper mode, one value in eleven is below the median: 1.335 standard deviations.
            let (low, high) = stopping.verdict(1).settings[0].1.interval.unwrap();
            right += u64::from(low <= 96.0 && 96.0 <= high);
        }
        assert!(right >= 92, "{right} of {experiments}");
    }
}
