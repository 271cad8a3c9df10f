//! How long targets are slow, and how long they are not (Xie 5.4).
//!
//! A measure is what one target took in one instance: its bytes over the time until the last of
//! them was there, over its peak where peaks are known. In an instance with one target this is the
//! instance's EAB, as in the paper. A measure is low when it lies under the t-quantile of all
//! measures of its setting; with one setting, as in the paper, of all measures.

use std::collections::{BTreeMap, HashMap};

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
    /// How long low sequences last; `None` if there is none.
    pub low: Option<Survival>,
    /// How long normal sequences last.
    pub normal: Option<Survival>,
    /// Median of low measures over the median of all of their setting; `None` without any. A share t is
    /// always low: this tells whether it is slow as well.
    pub depth: Option<f64>,
    /// Median seconds between the starts of consecutive measures of a series: nothing shorter can
    /// be seen.
    pub interval: Option<f64>,
}

/// Measures of targets, ready to be labelled.
#[derive(Debug, Clone)]
pub struct TargetSeries {
    basis: Basis,
    /// By source, run and target: start, setting, value; in order of start.
    series: BTreeMap<(u32, u32, u32), Vec<Measure>>,
}

#[derive(Debug, Clone, Copy)]
struct Measure {
    start: u64,
    set: (u32, u32),
    value: f64,
}

impl TargetSeries {
    /// The series of the instances that `included` lets through.
    pub fn new(columns: &Columns, peaks: &Peaks, included: impl Fn(&InstanceRow) -> bool) -> Self {
        let mut series: BTreeMap<(u32, u32, u32), Vec<Measure>> = BTreeMap::new();
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
            let set = (instance.experiment, instance.setting);
            let measure = Measure { start: instance.start, set, value };
            series.entry((instance.source, instance.run, target)).or_default().push(measure);
        }
        series.values_mut().for_each(|measures| measures.sort_by_key(|it| it.start));
        TargetSeries { basis, series }
    }

    /// Low and normal sequences under the t-quantile.
    pub fn sequences(&self, threshold: f64) -> Sequences {
        let limits = self.limits(threshold);
        let medians = self.limits(0.5);
        let mut depths = Vec::new();
        let mut found = [Vec::new(), Vec::new()];
        let (mut measures, mut low_measures) = (0, 0);
        let mut intervals = Vec::new();
        for series in self.series.values() {
            let labelled: Vec<(u64, bool)> = series
                .iter()
                .map(|it| (it.start, limits.get(&it.set).is_some_and(|limit| it.value < *limit)))
                .collect();
            let low = series.iter().zip(&labelled).filter(|(_, (_, low))| *low);
            depths.extend(low.filter_map(|(it, _)| Some(it.value / medians.get(&it.set)?)));
            measures += labelled.len();
            low_measures += labelled.iter().filter(|(_, low)| *low).count();
            intervals.extend(labelled.windows(2).map(|it| seconds_between(it[0].0, it[1].0)));
            split(&labelled, &mut found);
        }
        let [normal, low] = found;
        Sequences {
            threshold,
            basis: self.basis,
            measures,
            low_measures,
            series: self.series.len(),
            low: Survival::new(low),
            normal: Survival::new(normal),
            depth: median_of(&mut depths),
            interval: median_of(&mut intervals),
        }
    }

    /// The t-quantile of each set of comparable measures.
    fn limits(&self, threshold: f64) -> HashMap<(u32, u32), f64> {
        let mut values: HashMap<(u32, u32), Vec<f64>> = HashMap::new();
        for measure in self.series.values().flatten() {
            values.entry(measure.set).or_default().push(measure.value);
        }
        let limit = |values: &mut Vec<f64>| {
            values.sort_unstable_by(f64::total_cmp);
            plimsoll_stats::sample::quantile_sorted(values, threshold)
        };
        values.iter_mut().filter_map(|(set, values)| Some((*set, limit(values)?))).collect()
    }
}

/// Bytes of each target over the time until the last of them was there.
fn target_bandwidths(columns: &Columns, instance: &InstanceRow) -> Vec<(u32, f64)> {
    let mut targets: BTreeMap<u32, (u64, f64)> = BTreeMap::new();
    for pair in columns.pairs(instance) {
        let (bytes, seconds) = targets.entry(pair.target).or_insert((0, 0.0));
        *bytes += pair.bytes;
        *seconds = seconds.max(pair.seconds);
    }
    targets.into_iter().map(|(target, (bytes, time))| (target, bytes as f64 / time)).collect()
}

/// Adds the sequences of one series: normal ones first, low ones second.
fn split(labelled: &[(u64, bool)], found: &mut [Vec<Duration>; 2]) {
    let mut sequences = labelled.chunk_by(|a, b| a.1 == b.1).peekable();
    while let Some(sequence) = sequences.next() {
        let (start, low) = sequence[0];
        // The last one is known to last until its last measure; then nobody watched.
        let last = sequence[sequence.len() - 1].0;
        let (end, ended) = match sequences.peek() {
            Some(next) => (next[0].0, true),
            None => (last, false),
        };
        found[usize::from(low)].push(Duration { seconds: seconds_between(start, end), ended });
    }
}

fn seconds_between(start: u64, end: u64) -> f64 {
    end.saturating_sub(start) as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_lasts_until_the_other_kind_begins_and_the_last_is_censored() {
        let second = 1_000_000_000;
        let labels = [(0, false), (10, false), (20, true), (30, false), (40, true), (50, true)];
        let labelled: Vec<_> = labels.iter().map(|(at, low)| (at * second, *low)).collect();
        let mut found = [Vec::new(), Vec::new()];
        split(&labelled, &mut found);
        let of =
            |kind: usize| found[kind].iter().map(|it| (it.seconds, it.ended)).collect::<Vec<_>>();
        assert_eq!(of(0), [(20.0, true), (10.0, true)]);
        assert_eq!(of(1), [(10.0, true), (10.0, false)]);
    }

    #[test]
    fn an_empty_series_has_no_sequence() {
        let mut found = [Vec::new(), Vec::new()];
        split(&[], &mut found);
        assert!(found[0].is_empty() && found[1].is_empty());
    }
}
