//! Whether the first rounds of runs differ from the rest.

use std::collections::BTreeMap;

use plimsoll_stats::Sample;
use plimsoll_stats::rank::brunner_munzel;

use crate::Columns;

/// How often first rounds that do not differ are said to differ, about.
pub const WARM_UP_ERROR: f64 = 0.01;

/// A difference smaller than this factor is not mentioned.
pub const WARM_UP_RATIO: f64 = 1.05;

/// Of each run, this many rounds at the beginning count as first: a fifth, but no more than this.
const FIRST_ROUNDS_MAX: usize = 3;

/// First rounds against the rest, over the runs of one experiment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WarmUp {
    /// Number of the experiment.
    pub experiment: u32,
    /// Instances in first rounds.
    pub first: usize,
    /// Instances in the others.
    pub rest: usize,
    /// Bandwidth of first rounds over that of the rest, of medians.
    pub ratio: f64,
    /// Brunner-Munzel test of equal bandwidths.
    pub p_value: f64,
}

impl WarmUp {
    /// Whether first rounds differ too clearly for chance and enough to matter.
    pub fn significant(&self) -> bool {
        self.p_value <= WARM_UP_ERROR && self.ratio.max(1.0 / self.ratio) >= WARM_UP_RATIO
    }
}

/// For each experiment with runs of at least two rounds.
pub fn warm_ups(columns: &Columns, normalised: &[Option<f64>]) -> Vec<WarmUp> {
    let mut sides: BTreeMap<u32, [Vec<f64>; 2]> = BTreeMap::new();
    let first = first_rounds(columns);
    for (instance, value) in columns.instances().iter().zip(normalised) {
        let Some(last) = first.get(&(instance.source, instance.run)) else { continue };
        let side = usize::from((instance.group, instance.round) > *last);
        sides.entry(instance.experiment).or_default()[side].extend(value);
    }
    sides.into_iter().filter_map(|(experiment, sides)| warm_up(experiment, sides)).collect()
}

fn warm_up(experiment: u32, [first, rest]: [Vec<f64>; 2]) -> Option<WarmUp> {
    let [first, rest] = [Sample::new(first).ok()?, Sample::new(rest).ok()?];
    let p_value = brunner_munzel(&first, &rest).ok()?.p_value;
    let ratio = (first.median() - rest.median()).exp();
    Some(WarmUp { experiment, first: first.n(), rest: rest.n(), ratio, p_value })
}

/// The last group and round of each run that counts as first; runs of one round have none.
fn first_rounds(columns: &Columns) -> BTreeMap<(u32, u32), (u32, u32)> {
    let mut rounds: BTreeMap<(u32, u32), Vec<(u32, u32)>> = BTreeMap::new();
    for instance in columns.instances() {
        let list = rounds.entry((instance.source, instance.run)).or_default();
        let round = (instance.group, instance.round);
        if list.last() != Some(&round) {
            list.push(round);
        }
    }
    let last = |mut list: Vec<(u32, u32)>| {
        list.sort_unstable();
        list.dedup();
        let first = (list.len() / 5).clamp(1, FIRST_ROUNDS_MAX);
        (list.len() > 1).then(|| list[first - 1])
    };
    rounds.into_iter().filter_map(|(run, list)| Some((run, last(list)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_must_be_both_clear_and_large() {
        let differ = |ratio, p_value| {
            WarmUp { experiment: 0, first: 5, rest: 20, ratio, p_value }.significant()
        };
        assert!(differ(0.5, 0.001) && differ(2.0, 0.001), "slower or faster");
        assert!(!differ(1.01, 0.001) && !differ(0.5, 0.3));
    }
}
