//! Whether it matters where the nodes of an instance are (Xie 5.5).
//!
//! Of each instance L is the mean distance over all pairs of its nodes, and R the number of distinct I/O
//! routers that they use. What many instances with the same nodes gave is one measure, as it is one choice of
//! nodes: so a set of nodes that was measured a thousand times proves no more than one choice can. Sets that
//! share nodes hang together as well: one slow node makes all of its sets slow, wherever it is. What chance
//! makes of that is seen by giving nodes each other's places.

mod place;
mod ranges;

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_stats::rank_correlation::rho;
use plimsoll_stats::{Random, RankCorrelation, rank_correlation};

use crate::bandwidth::effective_aggregate;
use crate::columns::InstanceRow;
use crate::distribution::{CONFIDENCE, median_of};
use crate::sequence::Basis;
use crate::verdict::holm;
use crate::{Columns, Peaks};

pub use place::Places;
pub use ranges::Range;

/// What is known of an instance's nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trait {
    /// L: mean distance over all pairs of nodes.
    Distance,
    /// R: distinct I/O routers.
    Routers,
}

impl Trait {
    /// A word for tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Trait::Distance => "distance",
            Trait::Routers => "routers",
        }
    }
}

/// Instances on one set of nodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeSet {
    /// L or R.
    pub value: f64,
    /// Median of what the instances gave: EAB, or without peaks the aggregate bandwidth over its median of
    /// all sets.
    pub median: f64,
    /// How many instances.
    pub instances: usize,
}

/// What instances of one setting gave, by one trait of their nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct ByTrait {
    /// Which trait.
    pub of: Trait,
    /// Number of the experiment.
    pub experiment: u32,
    /// Number of the setting.
    pub setting: u32,
    /// What was measured.
    pub basis: Basis,
    /// In the order of their values.
    pub sets: Vec<NodeSet>,
    /// Rank correlation over sets of nodes; `None` if they are too few, or all alike. Its p value is
    /// corrected for the number of all such tests (Holm).
    pub correlation: Option<RankCorrelation>,
    /// A few ranges of values, each with its median.
    pub ranges: Vec<Range>,
}

impl ByTrait {
    /// Whether a dependence was found, and which way: more of the trait goes with more bandwidth.
    pub fn rises(&self) -> Option<bool> {
        let found = self.correlation.filter(|it| it.p_value < 1.0 - CONFIDENCE)?;
        Some(found.rho > 0.0)
    }

    /// Instances of all sets.
    pub fn instances(&self) -> usize {
        self.sets.iter().map(|set| set.instances).sum()
    }
}

/// Where nodes were, and what came of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Locality {
    /// By trait, then by experiment and setting, small bursts first; of settings with several nodes whose
    /// trait is not the same for all.
    pub by_trait: Vec<ByTrait>,
    /// Clients whose place, or router, is not known.
    pub unknown: BTreeMap<Trait, BTreeSet<u32>>,
    /// Instances that had such a client and do not count.
    pub left_out: BTreeMap<Trait, usize>,
}

/// What depends on where the nodes are, of the instances that are complete.
pub fn locality(columns: &Columns, peaks: &Peaks, places: &Places, seed: u64) -> Locality {
    let mut found = Locality::default();
    let mut values: BTreeMap<(Trait, u32, u32), BTreeMap<Vec<u32>, Measured>> = BTreeMap::new();
    for instance in columns.instances().iter().filter(|it| it.complete) {
        let nodes = nodes(columns, instance);
        let Some(bandwidth) = instance.aggregate_bandwidth().filter(|_| nodes.len() > 1) else {
            continue;
        };
        let effective = effective_aggregate(columns, peaks, instance);
        for of in [Trait::Distance, Trait::Routers].into_iter().filter(|of| places.has(*of)) {
            match places.value(of, &nodes) {
                Ok(value) => {
                    let key = (of, instance.experiment, instance.setting);
                    let sets = values.entry(key).or_default();
                    let set = sets.entry(nodes.clone()).or_insert(Measured::new(value));
                    set.bandwidths.push(bandwidth);
                    set.effective.extend(effective);
                }
                Err(unknown) => {
                    found.unknown.entry(of).or_default().extend(unknown);
                    *found.left_out.entry(of).or_default() += 1;
                }
            }
        }
    }
    let by_trait = values.into_iter().filter_map(|(key, sets)| by_trait(key, sets, places, seed));
    found.by_trait = by_trait.collect();
    found.by_trait.sort_by_key(|it| {
        let setting = &columns.settings[it.setting as usize];
        (it.of, it.experiment, setting.operation, setting.burst, setting)
    });
    correct(&mut found.by_trait);
    found
}

/// What instances on one set of nodes gave.
struct Measured {
    value: f64,
    bandwidths: Vec<f64>,
    effective: Vec<f64>,
}

impl Measured {
    fn new(value: f64) -> Self {
        Measured { value, bandwidths: Vec::new(), effective: Vec::new() }
    }
}

fn by_trait(
    (of, experiment, setting): (Trait, u32, u32),
    sets: BTreeMap<Vec<u32>, Measured>,
    places: &Places,
    seed: u64,
) -> Option<ByTrait> {
    let mut sets: Vec<(Vec<u32>, Measured)> = sets.into_iter().collect();
    sets.sort_by(|a, b| a.1.value.total_cmp(&b.1.value));
    if sets.first()?.1.value == sets.last()?.1.value {
        return None;
    }
    let has_peaks = sets.iter().all(|(_, it)| it.effective.len() == it.bandwidths.len());
    let basis = if has_peaks { Basis::EffectiveBandwidth } else { Basis::Bandwidth };
    let (nodes, mut measured): (Vec<Vec<u32>>, Vec<Measured>) = sets.into_iter().unzip();
    let set = |it: &mut Measured| {
        let values = if has_peaks { &mut it.effective } else { &mut it.bandwidths };
        let median = median_of(values)?;
        Some(NodeSet { value: it.value, median, instances: values.len() })
    };
    let mut sets: Vec<NodeSet> = measured.iter_mut().map(set).collect::<Option<_>>()?;
    if !has_peaks {
        let usual = median_of(&mut sets.iter().map(|it| it.median).collect::<Vec<_>>())?;
        sets.iter_mut().for_each(|it| it.median /= usual);
    }
    let pairs: Vec<(f64, f64)> = sets.iter().map(|it| (it.value, it.median)).collect();
    let correlation = rank_correlation(&pairs, CONFIDENCE, seed);
    let correlation = correlation.map(|it| match by_chance(of, &nodes, &pairs, places, seed) {
        Some(by_chance) => it.against(&by_chance, CONFIDENCE),
        None => it,
    });
    let ranges = ranges::of(&sets);
    Some(ByTrait { of, experiment, setting, basis, sets, correlation, ranges })
}

/// Correlations with nodes in each other's places; `None` if no two sets share a node.
fn by_chance(
    of: Trait,
    sets: &[Vec<u32>],
    pairs: &[(f64, f64)],
    places: &Places,
    seed: u64,
) -> Option<Vec<f64>> {
    let mut nodes: Vec<u32> = sets.concat();
    let all = nodes.len();
    nodes.sort_unstable();
    nodes.dedup();
    if nodes.len() == all {
        return None;
    }
    let place = |node: &u32| nodes.binary_search(node).unwrap_or_default();
    let sets: Vec<Vec<usize>> = sets.iter().map(|set| set.iter().map(place).collect()).collect();
    let mut random = Random::new(seed);
    let mut others = nodes.clone();
    let exchanged = |_| {
        random.shuffle(&mut others);
        let value = |set: &Vec<usize>| {
            let set: Vec<u32> = set.iter().map(|it| others[*it]).collect();
            places.value(of, &set).ok()
        };
        let values: Option<Vec<f64>> = sets.iter().map(value).collect();
        let pairs: Vec<(f64, f64)> =
            values?.into_iter().zip(pairs).map(|(value, pair)| (value, pair.1)).collect();
        // Where all come out alike, nothing goes with anything.
        Some(rho(&pairs).unwrap_or(0.0))
    };
    let times = (NODES_LOOKED_UP / all).clamp(LEAST_EXCHANGES, EXCHANGES);
    (0..times).map(exchanged).collect()
}

/// How often nodes are given each other's places, unless there are very many of them.
const EXCHANGES: usize = 999;
const LEAST_EXCHANGES: usize = 199;
/// About a second of work.
const NODES_LOOKED_UP: usize = 50_000_000;

/// Several tests at once find something by chance more often than one.
fn correct(by_trait: &mut [ByTrait]) {
    let correlations = || by_trait.iter().filter_map(|it| it.correlation);
    let corrected = holm(&correlations().map(|it| it.p_value).collect::<Vec<_>>());
    let tested = by_trait.iter_mut().filter_map(|it| it.correlation.as_mut());
    for (correlation, p_value) in tested.zip(corrected) {
        correlation.p_value = p_value;
    }
}

/// Distinct clients of an instance, in order.
pub fn nodes(columns: &Columns, instance: &InstanceRow) -> Vec<u32> {
    let nodes: BTreeSet<u32> = columns.pairs(instance).iter().map(|pair| pair.client).collect();
    nodes.into_iter().collect()
}
