//! Peaks of targets: what a burst is measured against.

mod saturation;

use std::collections::{BTreeMap, HashMap, HashSet};

use plimsoll_domain::burst::Operation;
use plimsoll_domain::site::{Site, Target};
use plimsoll_stats::NoPlateau;

use crate::Columns;
use crate::columns::InstanceRow;
use saturation::Saturation;

/// Xie takes the 97.3rd percentile of the saturated target for its peak (4.2).
pub const PEAK_QUANTILE: f64 = 0.973;

/// The experiment that saturates single targets (Xie 4.2). One of another name is taken for it if
/// all its instances move data of one target each.
pub const PEAK_EXPERIMENT: &str = "target";

/// Instances at saturation that a peak needs to be kept: of fewer than twenty the 97.3rd percentile
/// is hardly more than the luckiest one.
pub const PEAK_INSTANCES: usize = 20;

/// Where a peak comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeakOrigin {
    /// The site file gives it.
    Site,
    /// Measured by bursts that outlast caches.
    Measured(Evidence),
    /// The sum over the targets of a striped file.
    Stripes,
}

/// What a measured peak rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evidence {
    /// Instances at saturation of the largest bursts.
    pub instances: usize,
    /// What the largest of them moved. The rate was the same at a quarter of it.
    pub bytes: u64,
}

/// The peak of one target in one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Peak {
    /// Bytes per second, more than 0.
    pub rate: f64,
    /// Where it comes from.
    pub origin: PeakOrigin,
}

/// Why measures of a target give no peak.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Refused {
    /// What the largest instances moved.
    pub bytes: u64,
    /// Their median rate.
    pub rate: f64,
    /// What is wrong with it.
    pub why: NoPlateau,
}

/// Peaks that are known, by number of the target and direction.
#[derive(Debug, Clone, Default)]
pub struct Peaks {
    known: HashMap<(u32, Operation), Peak>,
    refused: BTreeMap<(u32, Operation), Refused>,
}

impl Peaks {
    /// What a person gave in the site file; else what these measures give, if they are enough to be
    /// kept; else what was measured before by bursts that outlast caches; else what these measures give
    /// all the same.
    pub fn new(columns: &Columns, site: Option<&Site>) -> Self {
        let mut peaks = Peaks::measured(columns);
        for target in site.iter().flat_map(|site| &site.targets) {
            let Some(number) = columns.targets.find(&target.name) else { continue };
            for operation in [Operation::Read, Operation::Write] {
                let measured = peaks.get(number, operation);
                let is_enough = measured.is_some_and(|it| it.is_kept());
                let is_given = target.peak.given(operation).is_some();
                if let Some(rate) = known(target, operation).filter(|_| is_given || !is_enough) {
                    let peak = Peak { rate, origin: PeakOrigin::Site };
                    peaks.known.insert((number, operation), peak);
                    peaks.refused.remove(&(number, operation));
                }
            }
        }
        peaks.fill_striped(columns, site);
        peaks
    }

    /// Peaks from instances of one target in the experiment [`PEAK_EXPERIMENT`] and in others whose
    /// instances all have one target each.
    pub fn measured(columns: &Columns) -> Self {
        let mut rates: HashMap<(u32, Operation), Saturation> = HashMap::new();
        let others = sources_of_several(columns);
        let experiment = columns.experiments.find(PEAK_EXPERIMENT);
        for instance in columns.instances().iter().filter(|it| columns.has_scores(it)) {
            if Some(instance.experiment) != experiment && others.contains(&instance.source) {
                continue;
            }
            if let Some((target, rate)) = single_target(columns, instance) {
                let of_target = rates.entry((target, columns.operation(instance))).or_default();
                of_target.add(columns.setting(instance), instance.bytes, rate);
            }
        }
        let mut peaks = Peaks::default();
        for (key, rates) in rates {
            match rates.peak() {
                Some(Ok(peak)) => drop(peaks.known.insert(key, peak)),
                Some(Err(refused)) => drop(peaks.refused.insert(key, refused)),
                None => {}
            }
        }
        peaks
    }

    /// A striped file's peak is the sum of those of its targets.
    fn fill_striped(&mut self, columns: &Columns, site: Option<&Site>) {
        for (number, name) in (0..).zip(columns.targets.iter()).filter(|(_, it)| it.contains('+')) {
            for operation in [Operation::Read, Operation::Write] {
                let rate = |part: &str| match columns.targets.find(part) {
                    Some(number) => self.get(number, operation).map(|it| it.rate),
                    None => known(site?.target(part)?, operation),
                };
                let rates: Option<Vec<f64>> = name.split('+').map(rate).collect();
                if let Some(rates) = rates {
                    let peak = Peak { rate: rates.iter().sum(), origin: PeakOrigin::Stripes };
                    self.known.entry((number, operation)).or_insert(peak);
                }
            }
        }
    }

    /// The peak of a target.
    pub fn get(&self, target: u32, operation: Operation) -> Option<Peak> {
        self.known.get(&(target, operation)).copied()
    }

    /// Peaks of all distinct targets together; `None` if one is not known or there are none.
    pub fn total(&self, targets: impl Iterator<Item = u32>, operation: Operation) -> Option<f64> {
        let mut distinct: Vec<u32> = targets.collect();
        distinct.sort_unstable();
        distinct.dedup();
        let rates: Option<Vec<f64>> =
            distinct.iter().map(|it| Some(self.get(*it, operation)?.rate)).collect();
        rates.map(|rates| rates.iter().sum()).filter(|total| *total > 0.0)
    }

    /// Targets whose measures give no peak although each was measured alone, and why.
    pub fn refused(&self) -> impl Iterator<Item = (u32, Operation, Refused)> {
        self.refused.iter().map(|((target, operation), why)| (*target, *operation, *why))
    }

    /// All known peaks, by target.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Operation, Peak)> {
        let mut list: Vec<_> = self.known.iter().map(|((t, o), peak)| (*t, *o, *peak)).collect();
        list.sort_by_key(|(target, operation, _)| (*target, *operation));
        list.into_iter()
    }
}

impl Peak {
    /// Whether it was measured, and rests on enough to be kept for others.
    pub fn is_kept(&self) -> bool {
        matches!(self.origin, PeakOrigin::Measured(it) if it.instances >= PEAK_INSTANCES)
    }
}

/// Sources with an instance of more than one target.
fn sources_of_several(columns: &Columns) -> HashSet<u32> {
    let measured = columns.instances().iter().filter(|it| !columns.pairs(it).is_empty());
    measured.filter(|it| single_target(columns, it).is_none()).map(|it| it.source).collect()
}

fn known(target: &Target, operation: Operation) -> Option<f64> {
    target.peak.trusted(operation).map(|it| it.get() as f64)
}

fn single_target(columns: &Columns, instance: &InstanceRow) -> Option<(u32, f64)> {
    let pairs = columns.pairs(instance);
    let target = pairs.first()?.target;
    let one = pairs.iter().all(|pair| pair.target == target);
    instance.aggregate_bandwidth().filter(|_| one).map(|rate| (target, rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_measured_often_enough_is_kept() {
        let measured = |instances| Evidence { instances, bytes: 1 };
        let is_kept = |origin| Peak { rate: 1.0, origin }.is_kept();
        assert!(is_kept(PeakOrigin::Measured(measured(PEAK_INSTANCES))));
        assert!(!is_kept(PeakOrigin::Measured(measured(PEAK_INSTANCES - 1))));
        assert!(!is_kept(PeakOrigin::Site) && !is_kept(PeakOrigin::Stripes));
    }
}
