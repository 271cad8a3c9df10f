//! Targets that may be slow because they rested less than others.
//!
//! Storage saves something up while it rests: a cache is emptied, a throttle grants what was not used. Where
//! instances follow each other without a pause, the target that ended last rests least before the next one, begins
//! it with less, and ends last again, though it is like the others. A comparison cannot tell that from a slow target.

use std::collections::HashMap;

use crate::Columns;
use crate::distribution::median_of;
use crate::verdict::{Kind, Verdicts};

/// A rest that is shorter than this part of the burst after it is none.
const NONE: f64 = 0.1;

/// What is slower than this is not explained by rests: others would have saved up as much as they move in a burst, and
/// bursts are made to outlast that.
const EXPLAINED: f64 = 0.5;

/// A target that is named, and that hardly rested.
#[derive(Debug, Clone, PartialEq)]
pub struct Unrested {
    /// Its number.
    pub target: u32,
    /// Median seconds that it rested before a burst.
    pub rest: f64,
    /// The same of the typical other target.
    pub usual: f64,
    /// A pause that leaves everybody with more rest than a burst takes, in seconds.
    pub pause: f64,
}

/// Targets that are named for being slow and may be so because they rested less than others.
pub fn unrested(columns: &Columns, verdicts: &Verdicts) -> Vec<Unrested> {
    let named = (0..).zip(&verdicts.verdicts).filter(|(_, it)| {
        let is_slow = it.kind.is_some_and(|kind| kind > Kind::Noisier);
        is_slow && it.slow_ratio().is_some_and(|ratio| ratio >= EXPLAINED)
    });
    let named: Vec<u32> = named.map(|(number, _)| number).collect();
    if named.is_empty() {
        return Vec::new();
    }
    let rests: HashMap<u32, Rest> = rests(columns);
    let found = named.into_iter().filter_map(|target| {
        let own = rests.get(&target)?;
        let mut others: Vec<f64> =
            rests.iter().filter(|(it, _)| **it != target).map(|(_, it)| it.seconds).collect();
        let usual = median_of(&mut others)?;
        let rests_less = own.seconds < NONE * own.burst && usual >= NONE * own.burst;
        let (rest, pause) = (own.seconds, own.burst);
        rests_less.then_some(Unrested { target, rest, usual, pause })
    });
    found.collect()
}

/// Medians of one target, in seconds.
struct Rest {
    seconds: f64,
    burst: f64,
}

/// How long each target rests between two bursts of a run.
fn rests(columns: &Columns) -> HashMap<u32, Rest> {
    let mut ended: HashMap<(u32, u32, u32), f64> = HashMap::new();
    let mut all: HashMap<u32, (Vec<f64>, Vec<f64>)> = HashMap::new();
    for instance in columns.instances() {
        let mut bursts: HashMap<u32, f64> = HashMap::new();
        for pair in columns.pairs(instance) {
            let longest = bursts.entry(pair.target).or_default();
            *longest = longest.max(pair.seconds);
        }
        let start = instance.start as f64 / 1e9;
        for (target, seconds) in bursts {
            let key = (instance.source, instance.run, target);
            if let Some(end) = ended.insert(key, start + seconds) {
                let (rests, lengths) = all.entry(target).or_default();
                rests.push((start - end).max(0.0));
                lengths.push(seconds);
            }
        }
    }
    let medians = all.into_iter().filter_map(|(target, (mut rests, mut lengths))| {
        let (seconds, burst) = (median_of(&mut rests)?, median_of(&mut lengths)?);
        Some((target, Rest { seconds, burst }))
    });
    medians.collect()
}
