//! Bandwidths and effective bandwidths of instances (Xie 3), for each value that was varied.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use plimsoll_domain::natural;

use crate::columns::InstanceRow;
use crate::distribution::Distribution;
use crate::{Columns, Peaks};

/// One box of each of a paper's box plots: instances of one experiment with one setting.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Number of the experiment.
    pub experiment: u32,
    /// Number of the setting.
    pub setting: u32,
    /// Number of the varied value.
    pub varied: u32,
    /// Complete instances.
    pub instances: usize,
    /// Instances that failed; nothing else here counts them.
    pub failed: usize,
    /// Of clients in instances: bytes of a client over its own time.
    pub bandwidth: Option<Distribution>,
    /// Of instances: all bytes over the time to the last completion.
    pub aggregate: Option<Distribution>,
    /// Bandwidth over the peak of the client's targets; `None` where a peak is missing.
    pub effective: Option<Distribution>,
    /// Aggregate bandwidth over the peak of the instance's targets; `None` where a peak is missing.
    pub effective_aggregate: Option<Distribution>,
    /// Seconds to the last completion.
    pub seconds: Option<Distribution>,
}

#[derive(Default)]
struct Collected {
    failed: usize,
    bandwidth: Vec<f64>,
    aggregate: Vec<f64>,
    effective: Vec<f64>,
    effective_aggregate: Vec<f64>,
    seconds: Vec<f64>,
}

/// The points of the instances that `included` lets through: by experiment, then by direction, burst
/// size and transfer size, then by all else that differs.
pub fn points(
    columns: &Columns,
    peaks: &Peaks,
    included: impl Fn(&InstanceRow) -> bool,
) -> Vec<Point> {
    let mut groups: BTreeMap<(u32, u32, u32), Collected> = BTreeMap::new();
    for instance in columns.instances().iter().filter(|it| included(it)) {
        let key = (instance.experiment, instance.setting, instance.varied);
        let group = groups.entry(key).or_default();
        if instance.complete { collect(group, columns, peaks, instance) } else { group.failed += 1 }
    }
    let mut points: Vec<Point> = groups.into_iter().map(|(key, group)| point(key, group)).collect();
    points.sort_by(|a, b| order(columns, a, b));
    points
}

/// Small bursts before large ones, and varied values as people count them: 2 before 10.
fn order(columns: &Columns, a: &Point, b: &Point) -> Ordering {
    let setting = |it: &Point| &columns.settings[it.setting as usize];
    let key = |it: &Point| {
        let setting = setting(it);
        (it.experiment, setting.operation, setting.burst, setting.transfer)
    };
    let varied = |it: &Point| columns.varied.name(it.varied);
    key(a)
        .cmp(&key(b))
        .then_with(|| setting(a).cmp(setting(b)))
        .then_with(|| natural(varied(a), varied(b)))
}

fn collect(group: &mut Collected, columns: &Columns, peaks: &Peaks, instance: &InstanceRow) {
    let Some(aggregate) = instance.aggregate_bandwidth() else { return };
    group.aggregate.push(aggregate);
    group.seconds.push(instance.seconds);
    group.effective_aggregate.extend(effective_aggregate(columns, peaks, instance));
    for client in clients(columns, instance) {
        group.bandwidth.push(client.bandwidth());
        let peak = peaks.total(client.targets.iter().copied(), columns.operation(instance));
        group.effective.extend(peak.map(|peak| client.bandwidth() / peak));
    }
}

fn point((experiment, setting, varied): (u32, u32, u32), group: Collected) -> Point {
    // A peak that is missing for some would make a distribution of a part: rather none.
    let whole = |part: Vec<f64>, all: usize| Some(part).filter(|part| part.len() == all);
    let effective = whole(group.effective, group.bandwidth.len());
    let effective_aggregate = whole(group.effective_aggregate, group.aggregate.len());
    Point {
        experiment,
        setting,
        varied,
        instances: group.aggregate.len(),
        failed: group.failed,
        bandwidth: Distribution::new(group.bandwidth),
        aggregate: Distribution::new(group.aggregate),
        effective: effective.and_then(Distribution::new),
        effective_aggregate: effective_aggregate.and_then(Distribution::new),
        seconds: Distribution::new(group.seconds),
    }
}

/// EAB of an instance.
pub fn effective_aggregate(
    columns: &Columns,
    peaks: &Peaks,
    instance: &InstanceRow,
) -> Option<f64> {
    let targets = columns.pairs(instance).iter().map(|pair| pair.target);
    let peak = peaks.total(targets, columns.operation(instance))?;
    Some(instance.aggregate_bandwidth()? / peak)
}

/// What one client did in one instance.
pub struct ClientPart {
    /// Number of the client.
    pub client: u32,
    /// Its targets, with repetitions.
    pub targets: Vec<u32>,
    bytes: u64,
    seconds: f64,
}

impl ClientPart {
    /// Its bytes over its own time.
    pub fn bandwidth(&self) -> f64 {
        self.bytes as f64 / self.seconds
    }
}

/// The clients of an instance.
pub fn clients(columns: &Columns, instance: &InstanceRow) -> Vec<ClientPart> {
    let mut parts: BTreeMap<u32, ClientPart> = BTreeMap::new();
    for pair in columns.pairs(instance) {
        let part = parts.entry(pair.client).or_insert_with(|| ClientPart {
            client: pair.client,
            targets: Vec::new(),
            bytes: 0,
            seconds: 0.0,
        });
        part.targets.push(pair.target);
        part.bytes = part.bytes.saturating_add(pair.bytes);
        part.seconds = part.seconds.max(pair.seconds);
    }
    parts.into_values().collect()
}
