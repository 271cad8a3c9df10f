//! LEB and PEB: how a pair compares with the fastest of its instance and of its equals (Xie 5.1).

use std::collections::{BTreeMap, HashMap};

use crate::Columns;
use crate::columns::{InstanceRow, PairRow};
use crate::distribution::Distribution;

/// The fastest pair of each equivalent instance set: those of one experiment with equal settings.
#[derive(Debug, Clone, Default)]
pub struct Fastest {
    by_set: HashMap<(u32, u32), f64>,
}

impl Fastest {
    /// Over the instances that `included` lets through.
    pub fn new(columns: &Columns, included: impl Fn(&InstanceRow) -> bool) -> Self {
        let mut by_set: HashMap<(u32, u32), f64> = HashMap::new();
        for instance in columns.instances().iter().filter(|it| included(it)) {
            if columns.has_scores(instance) {
                let fastest = by_set.entry((instance.experiment, instance.setting)).or_insert(0.0);
                *fastest = fastest.max(fastest_of(columns.pairs(instance)));
            }
        }
        Fastest { by_set }
    }

    /// The pair's bandwidth over the fastest of its set; `None` if its instance is in no set.
    pub fn peb(&self, instance: &InstanceRow, pair: &PairRow) -> Option<f64> {
        let fastest = self.by_set.get(&(instance.experiment, instance.setting))?;
        (*fastest > 0.0).then(|| (pair.bandwidth() / fastest).min(1.0))
    }
}

/// Scores of each pair against the fastest of its instance, in order; empty if there is one
/// pair only, which would be compared with itself.
pub fn lebs(pairs: &[PairRow]) -> Vec<f64> {
    let fastest = fastest_of(pairs);
    if pairs.len() < 2 || fastest <= 0.0 {
        return Vec::new();
    }
    pairs.iter().map(|pair| pair.bandwidth() / fastest).collect()
}

fn fastest_of(pairs: &[PairRow]) -> f64 {
    pairs.iter().map(PairRow::bandwidth).fold(0.0, f64::max)
}

/// LEB and PEB of one component over all its pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct Relative {
    /// Against the fastest pair of the same instance.
    pub leb: Option<Distribution>,
    /// Against the fastest pair of the same settings.
    pub peb: Option<Distribution>,
}

/// Scores of components of one kind, by `key`; pairs without a key are left out.
///
/// An instance in which all pairs are of one component compares it with nobody of its kind, and gives it no
/// LEB: with one target an instance, the slowest target would look as good as the fastest.
pub fn by_component<K: Ord + Copy>(
    columns: &Columns,
    fastest: &Fastest,
    included: impl Fn(&InstanceRow) -> bool,
    key: impl Fn(&PairRow) -> Option<K>,
) -> BTreeMap<K, Relative> {
    let mut sets: BTreeMap<K, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    for instance in columns.instances().iter().filter(|it| included(it)) {
        if !columns.has_scores(instance) {
            continue;
        }
        let pairs = columns.pairs(instance);
        let first = pairs.first().and_then(&key);
        let is_alone = pairs.iter().all(|pair| key(pair) == first);
        let lebs = if is_alone { Vec::new() } else { lebs(pairs) };
        for (index, pair) in pairs.iter().enumerate() {
            let Some(key) = key(pair) else { continue };
            let (leb, peb) = sets.entry(key).or_default();
            leb.extend(lebs.get(index));
            peb.extend(fastest.peb(instance, pair));
        }
    }
    let relative =
        |(leb, peb)| Relative { leb: Distribution::new(leb), peb: Distribution::new(peb) };
    sets.into_iter().map(|(key, set)| (key, relative(set))).collect()
}
