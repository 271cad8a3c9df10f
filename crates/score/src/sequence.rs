//! How long targets are slow, and how long they are not (Xie 5.4).
//!
//! A measure is what one target took in one instance: its bytes over the time until the last of
//! them was there, over its peak where peaks are known. In an instance with one target this is the
//! instance's EAB, as in the paper. A measure is low when it lies under the t-quantile of all measures,
//! of whatever setting, so that a share t is always low.

use std::collections::{BTreeMap, BTreeSet};

use crate::columns::InstanceRow;
use crate::distribution::median_of;
use crate::survival::{Duration, Survival};
use crate::{Columns, Peaks};

/// The paper's thresholds.
pub const THRESHOLDS: [f64; 3] = [0.05, 0.1, 0.2];

/// What is compared with the quantile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Bandwidth over the target's peak.
    EffectiveBandwidth,
    /// Bandwidth, as a peak is missing. Under a common peak the labels are the same.
    Bandwidth,
}

/// Sequences of low and normal measures for one threshold.
#[derive(Debug, Clone, PartialEq)]
pub struct Sequences {
    /// The quantile t under which a measure is low.
    pub threshold: f64,
    /// What was compared.
    pub basis: Basis,
    /// Measures of targets, over all series.
    pub measures: usize,
    /// Measures that are low.
    pub low_measures: usize,
    /// Series: a target in a run.
    pub series: usize,
    /// Distinct settings of the measures.
    pub settings: usize,
    /// How long low sequences last; `None` if there is none.
    pub low: Option<Survival>,
    /// How long normal sequences last.
    pub normal: Option<Survival>,
    /// Median of low measures over the median of all; `None` without any. A share t is always low:
    /// this tells whether it is slow as well.
    pub depth: Option<f64>,
    /// Median seconds between the starts of consecutive measures of a series: nothing shorter can
    /// be seen.
    pub interval: Option<f64>,
}

/// Whose measures a series has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SeriesKey {
    /// Number of the source.
    pub source: u32,
    /// Number of the run in it.
    pub run: u32,
    /// Number of the target.
    pub target: u32,
}

/// Consecutive measures of a series that are all low, or all normal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sequence {
    /// Whose.
    pub series: SeriesKey,
    /// Whether they are low.
    pub is_low: bool,
    /// How many they are.
    pub measures: usize,
    /// The first measure, nanoseconds since 1970.
    pub start: u64,
    /// The first measure of the other kind; of the last sequence, its own last one.
    pub end: u64,
    /// Whether the other kind was seen. The last sequence is known to last until its last measure; then
    /// nobody watched.
    pub ended: bool,
}

impl Sequence {
    fn duration(&self) -> Duration {
        Duration { seconds: seconds_between(self.start, self.end), ended: self.ended }
    }
}

/// Measures of targets, ready to be labelled.
#[derive(Debug, Clone)]
pub struct TargetSeries {
    basis: Basis,
    /// In order of start.
    series: BTreeMap<SeriesKey, Vec<SeriesMeasure>>,
    /// Every value, ascending.
    values: Vec<f64>,
}

#[derive(Debug, Clone, Copy)]
struct SeriesMeasure {
    start: u64,
    setting: u32,
    value: f64,
}

impl TargetSeries {
    /// The series of the instances that `included` lets through.
    pub fn new(columns: &Columns, peaks: &Peaks, included: impl Fn(&InstanceRow) -> bool) -> Self {
        let mut series: BTreeMap<SeriesKey, Vec<SeriesMeasure>> = BTreeMap::new();
        let mut rows = Vec::new();
        let mut basis = Basis::EffectiveBandwidth;
        for instance in columns.instances().iter().filter(|it| included(it)) {
            if !columns.has_scores(instance) {
                continue;
            }
            for (target, bandwidth) in target_bandwidths(columns, instance) {
                let peak = peaks.get(target, columns.operation(instance)).map(|it| it.rate);
                if peak.is_none() {
                    basis = Basis::Bandwidth;
                }
                rows.push((instance, target, bandwidth, peak));
            }
        }
        for (instance, target, bandwidth, peak) in rows {
            let value = match (basis, peak) {
                (Basis::EffectiveBandwidth, Some(peak)) => bandwidth / peak,
                _ => bandwidth,
            };
            let key = SeriesKey { source: instance.source, run: instance.run, target };
            let measure = SeriesMeasure { start: instance.start, setting: instance.setting, value };
            series.entry(key).or_default().push(measure);
        }
        series.values_mut().for_each(|measures| measures.sort_by_key(|it| it.start));
        Self::of(basis, series)
    }

    fn of(basis: Basis, series: BTreeMap<SeriesKey, Vec<SeriesMeasure>>) -> Self {
        let mut values: Vec<f64> = series.values().flatten().map(|it| it.value).collect();
        values.sort_unstable_by(f64::total_cmp);
        TargetSeries { basis, series, values }
    }

    /// What measures are.
    pub fn basis(&self) -> Basis {
        self.basis
    }

    /// Every measure, ascending.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The t-quantile of all measures; `None` without any.
    pub fn limit(&self, threshold: f64) -> Option<f64> {
        plimsoll_stats::sample::quantile_sorted(&self.values, threshold)
    }

    /// Seconds between the starts of consecutive measures, of all series.
    pub fn intervals(&self) -> Vec<f64> {
        let of_series = |measures: &Vec<SeriesMeasure>| {
            let pairs = measures.windows(2);
            pairs.map(|it| seconds_between(it[0].start, it[1].start)).collect::<Vec<_>>()
        };
        self.series.values().flat_map(of_series).collect()
    }

    /// Seconds from the first measure of each series to its last.
    pub fn spans(&self) -> Vec<f64> {
        let ends = self.series.values().filter_map(|it| it.first().zip(it.last()));
        ends.map(|(first, last)| seconds_between(first.start, last.start)).collect()
    }

    /// Low and normal sequences under the t-quantile, series by series, in order of time.
    pub fn each_sequence(&self, threshold: f64) -> impl Iterator<Item = Sequence> {
        let limit = self.limit(threshold);
        let is_low = move |it: &SeriesMeasure| limit.is_some_and(|limit| it.value < limit);
        self.series.iter().flat_map(move |(key, measures)| {
            let mut kinds = measures.chunk_by(move |a, b| is_low(a) == is_low(b)).peekable();
            std::iter::from_fn(move || {
                let (measures, next) = (kinds.next()?, kinds.peek());
                Some(Sequence {
                    series: *key,
                    is_low: is_low(&measures[0]),
                    measures: measures.len(),
                    start: measures[0].start,
                    end: next.map_or(measures[measures.len() - 1].start, |next| next[0].start),
                    ended: next.is_some(),
                })
            })
        })
    }

    /// Low and normal sequences under the t-quantile.
    pub fn sequences(&self, threshold: f64) -> Sequences {
        let durations = |low: bool| {
            let of_kind = self.each_sequence(threshold).filter(|it| it.is_low == low);
            Survival::new(of_kind.map(|it| it.duration()).collect())
        };
        let limit = self.limit(threshold).unwrap_or(0.0);
        let low = &self.values[..self.values.partition_point(|value| *value < limit)];
        let median = |values: &[f64]| plimsoll_stats::sample::quantile_sorted(values, 0.5);
        let settings: BTreeSet<u32> = self.series.values().flatten().map(|it| it.setting).collect();
        Sequences {
            threshold,
            basis: self.basis,
            measures: self.values.len(),
            low_measures: low.len(),
            series: self.series.len(),
            settings: settings.len(),
            low: durations(true),
            normal: durations(false),
            depth: median(low).zip(median(&self.values)).map(|(low, all)| low / all),
            interval: median_of(&mut self.intervals()),
        }
    }
}

/// Bytes of each target over the time until the last of them was there.
fn target_bandwidths(columns: &Columns, instance: &InstanceRow) -> Vec<(u32, f64)> {
    let mut targets: BTreeMap<u32, (u64, f64)> = BTreeMap::new();
    for pair in columns.pairs(instance) {
        let (bytes, seconds) = targets.entry(pair.target).or_insert((0, 0.0));
        *bytes = bytes.saturating_add(pair.bytes);
        *seconds = seconds.max(pair.seconds);
    }
    targets.into_iter().map(|(target, (bytes, time))| (target, bytes as f64 / time)).collect()
}

fn seconds_between(start: u64, end: u64) -> f64 {
    end.saturating_sub(start) as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// Series of t0, t1, … with a measure every ten seconds.
    fn series(targets: &[&[f64]]) -> TargetSeries {
        let measures = |values: &&[f64]| {
            let measure = |(at, value): (u64, &f64)| SeriesMeasure {
                start: at * 10 * SECOND,
                setting: 0,
                value: *value,
            };
            (0..).zip(values.iter()).map(measure).collect()
        };
        let keys = (0..).map(|target| SeriesKey { source: 0, run: 0, target });
        let series = keys.zip(targets.iter().map(measures)).collect();
        TargetSeries::of(Basis::Bandwidth, series)
    }

    fn durations(kind: &Option<Survival>) -> Option<(usize, usize, f64)> {
        kind.as_ref().map(|it| (it.n, it.ended, it.longest))
    }

    #[test]
    fn a_sequence_lasts_until_the_other_kind_begins_and_the_last_is_censored() {
        let it = series(&[&[9.0, 9.0, 1.0, 9.0, 1.0, 1.0]]);
        let sequences: Vec<_> = it
            .each_sequence(0.6)
            .map(|it| (it.is_low, it.start / SECOND, it.end / SECOND, it.ended, it.measures))
            .collect();
        assert_eq!(
            sequences,
            [
                (false, 0, 20, true, 2),
                (true, 20, 30, true, 1),
                (false, 30, 40, true, 1),
                (true, 40, 50, false, 2)
            ]
        );
        let found = it.sequences(0.6);
        assert_eq!(durations(&found.low), Some((2, 1, 10.0)));
        assert_eq!(durations(&found.normal), Some((2, 2, 20.0)));
        assert_eq!((found.interval, it.spans()), (Some(10.0), vec![50.0]));
        assert_eq!(it.values(), [1.0, 1.0, 1.0, 9.0, 9.0, 9.0]);
    }

    /// Two settings, one ten times as fast: were each compared with its own quantile, one measure of
    /// either would be low.
    #[test]
    fn one_quantile_is_taken_over_all_measures() {
        let slow: Vec<f64> = (1..=10).map(f64::from).collect();
        let fast: Vec<f64> = (1..=10).map(|it| f64::from(it) + 100.0).collect();
        let found = series(&[&slow, &fast]).sequences(0.1);
        assert_eq!((found.measures, found.low_measures), (20, 2), "a share t of all");
        assert_eq!(durations(&found.normal), Some((2, 0, 90.0)), "the fast one is never low");
        let depth = found.depth.unwrap();
        assert!((depth - 1.5 / 55.5).abs() < 1e-12, "against the median of all: {depth}");
    }

    #[test]
    fn an_empty_series_has_no_sequence() {
        let found = series(&[&[]]).sequences(0.1);
        assert_eq!((found.measures, found.low, found.normal), (0, None, None));
        assert!(series(&[]).each_sequence(0.1).next().is_none());
    }
}
