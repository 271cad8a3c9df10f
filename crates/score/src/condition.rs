//! Whether conditions changed during a run, and whether its first rounds differ from the rest.
//!
//! Instances of different settings and targets are made comparable first: the logarithm of each
//! pair's bandwidth over the median of its setting and target, and of these the median over the
//! instance's pairs. So one slow component does not look like a change of conditions.

mod change;
mod warm_up;

pub use change::{CHANGE_ERROR, CHANGE_RATIO, Change, LEAST_INSTANCES, change_point};
pub use warm_up::{WARM_UP_ERROR, WARM_UP_RATIO, WarmUp, warm_ups};

use std::collections::{BTreeMap, HashMap, HashSet};

use plimsoll_stats::dependence::LagOne;

use crate::Columns;
use crate::columns::InstanceRow;
use crate::distribution::median_of;

/// One run of one experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Number of the source.
    pub source: u32,
    /// Number of the run in its source.
    pub run: u32,
    /// Number of the experiment.
    pub experiment: u32,
    /// The first release of a barrier, nanoseconds since 1970.
    pub start: u64,
    /// Complete instances.
    pub instances: usize,
    /// Instances that failed.
    pub failed: usize,
    /// Autocorrelation of the complete instances, normalised by setting and target; `None` if they are too few or do not
    /// vary.
    pub dependence: Option<LagOne>,
    /// The test for changed conditions; `None` with fewer than [`LEAST_INSTANCES`].
    pub change: Option<Change>,
}

impl Run {
    /// Whether conditions changed so that the run is set apart.
    pub fn changed(&self) -> bool {
        self.change.is_some_and(|change| change.significant())
    }
}

/// The runs in which conditions changed, and whether they count all the same. Whoever leaves out instances asks here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangedRuns {
    /// By numbers of source and run.
    runs: HashSet<(u32, u32)>,
    are_left_out: bool,
}

impl ChangedRuns {
    /// Sets changed runs apart, unless they are to be included or no other run would remain.
    pub fn new(runs: &[Run], include_changed: bool) -> Self {
        let changed: HashSet<(u32, u32)> =
            runs.iter().filter(|run| run.changed()).map(|run| (run.source, run.run)).collect();
        let are_left_out = !include_changed && changed.len() < runs.len();
        ChangedRuns { runs: changed, are_left_out }
    }

    /// Returns whether conditions changed in the run of an instance.
    pub fn has(&self, instance: &InstanceRow) -> bool {
        self.runs.contains(&(instance.source, instance.run))
    }

    /// Returns whether an instance counts in bandwidths, relative scores, gains, sequences and the calendar.
    pub fn count(&self, instance: &InstanceRow) -> bool {
        !self.are_left_out || !self.has(instance)
    }

    /// Returns how many runs there are in which conditions changed.
    pub fn found(&self) -> usize {
        self.runs.len()
    }

    /// Returns how many runs do not count.
    pub fn left_out(&self) -> usize {
        if self.are_left_out { self.runs.len() } else { 0 }
    }
}

/// All runs in order, tested.
pub fn runs(columns: &Columns, normalised: &[Option<f64>], seed: u64) -> Vec<Run> {
    let mut members: BTreeMap<(u32, u32), Vec<usize>> = BTreeMap::new();
    for (index, instance) in columns.instances().iter().enumerate() {
        members.entry((instance.source, instance.run)).or_default().push(index);
    }
    members.into_values().filter_map(|it| run(columns, normalised, it, seed)).collect()
}

fn run(
    columns: &Columns,
    normalised: &[Option<f64>],
    mut members: Vec<usize>,
    seed: u64,
) -> Option<Run> {
    let rows = columns.instances();
    members.sort_by_key(|index| rows[*index].instance);
    let first = rows[*members.first()?];
    let values: Vec<f64> = members.iter().filter_map(|index| normalised[*index]).collect();
    let complete = members.iter().filter(|index| rows[**index].complete).count();
    let starts = members.iter().map(|index| rows[*index].start).filter(|start| *start > 0);
    Some(Run {
        source: first.source,
        run: first.run,
        experiment: first.experiment,
        start: starts.min().unwrap_or(0),
        instances: complete,
        failed: members.len() - complete,
        change: change_point(&values, seed),
        dependence: LagOne::of(&values),
    })
}

/// For each instance, how its median pair compares with what is usual for the setting and the
/// target, as a logarithm; `None` if it failed or moved nothing.
pub fn normalised(columns: &Columns) -> Vec<Option<f64>> {
    let usual = Usual::new(columns);
    let value = |instance: &InstanceRow| {
        let pairs = columns.pairs(instance).iter().filter(|_| instance.complete);
        let mut values: Vec<f64> = pairs
            .filter(|pair| pair.bytes > 0)
            .map(|pair| pair.bandwidth().ln() - usual.of(instance, pair.target))
            .collect();
        median_of(&mut values)
    };
    columns.instances().iter().map(value).collect()
}

/// Fewer values of a setting and target than this have no median of their own.
const LEAST_FOR_TARGET: usize = 3;

/// Median logarithms of bandwidth, by experiment and setting, and by target besides.
struct Usual {
    of_setting: HashMap<(u32, u32), f64>,
    of_target: HashMap<(u32, u32, u32), f64>,
}

impl Usual {
    fn new(columns: &Columns) -> Self {
        let mut setting: HashMap<(u32, u32), Vec<f64>> = HashMap::new();
        let mut target: HashMap<(u32, u32, u32), Vec<f64>> = HashMap::new();
        for instance in columns.instances().iter().filter(|it| it.complete) {
            let (experiment, number) = (instance.experiment, instance.setting);
            for pair in columns.pairs(instance).iter().filter(|pair| pair.bytes > 0) {
                let value = pair.bandwidth().ln();
                setting.entry((experiment, number)).or_default().push(value);
                target.entry((experiment, number, pair.target)).or_default().push(value);
            }
        }
        target.retain(|_, values| values.len() >= LEAST_FOR_TARGET);
        Usual { of_setting: medians(setting), of_target: medians(target) }
    }

    fn of(&self, instance: &crate::columns::InstanceRow, target: u32) -> f64 {
        let (experiment, setting) = (instance.experiment, instance.setting);
        let of_target = self.of_target.get(&(experiment, setting, target));
        let value = of_target.or_else(|| self.of_setting.get(&(experiment, setting)));
        value.copied().unwrap_or(0.0)
    }
}

fn medians<K: std::hash::Hash + Eq>(groups: HashMap<K, Vec<f64>>) -> HashMap<K, f64> {
    let median = |(key, mut values): (K, Vec<f64>)| Some((key, median_of(&mut values)?));
    groups.into_iter().filter_map(median).collect()
}
