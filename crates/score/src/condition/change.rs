//! A test for one change of level in a series.

use plimsoll_stats::Random;
use plimsoll_stats::dependence::LagOne;
use plimsoll_stats::series::centred_ranks;

use crate::distribution::median_of;

/// How often a run whose conditions did not change is set apart, at most.
pub const CHANGE_ERROR: f64 = 0.01;

/// A change smaller than this factor, up or down, is not worth setting a run apart.
pub const CHANGE_RATIO: f64 = 1.1;

/// Fewer instances have no test.
pub const LEAST_INSTANCES: usize = 8;

/// Instances on either side of a change, at least.
const LEAST_ON_A_SIDE: usize = 3;

const PERMUTATIONS: usize = 1999;

/// The most likely change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Instances before it.
    pub at: usize,
    /// Bandwidth after it over bandwidth before it, of medians.
    pub ratio: f64,
    /// How often a series without a change shows one as clear as this.
    pub p_value: f64,
}

impl Change {
    /// Whether it is too clear for chance and large enough to matter.
    pub fn significant(&self) -> bool {
        self.p_value <= CHANGE_ERROR && self.ratio.max(1.0 / self.ratio) >= CHANGE_RATIO
    }
}

/// Tests logarithms in order of time for one change of level.
///
/// The statistic is the largest standardised sum of ranks before a point (Pettitt, Applied
/// Statistics 28, 1979); its distribution without a change comes from permutations. Where what is
/// left after taking out the change is autocorrelated, blocks are permuted instead of single
/// values (see [`plimsoll_stats::dependence`]).
pub fn change_point(values: &[f64], seed: u64) -> Option<Change> {
    if values.len() < LEAST_INSTANCES {
        return None;
    }
    let mut ranks = centred_ranks(values);
    let (at, statistic) = largest(&ranks);
    let (before, after) = values.split_at(at);
    let [low, high] = [before, after].map(|it| median_of(&mut it.to_vec()).unwrap_or(0.0));
    let rest: Vec<f64> =
        before.iter().map(|it| it - low).chain(after.iter().map(|it| it - high)).collect();
    let block = LagOne::of(&rest).map_or(1, |it| it.time().ceil() as usize);
    let p_value = p_value(&mut ranks, statistic, block, seed);
    Some(Change { at, ratio: (high - low).exp(), p_value })
}

/// Where the standardised sum of the ranks before is largest, and how large.
fn largest(ranks: &[f64]) -> (usize, f64) {
    let n = ranks.len();
    let mut sum = 0.0;
    let mut best = (LEAST_ON_A_SIDE, 0.0);
    for (index, rank) in ranks.iter().enumerate() {
        sum += rank;
        let before = index + 1;
        if before < LEAST_ON_A_SIDE || n - before < LEAST_ON_A_SIDE {
            continue;
        }
        let size = sum.abs() / ((before * (n - before)) as f64).sqrt();
        if size > best.1 {
            best = (before, size);
        }
    }
    best
}

/// The share of permutations that reach the statistic, the series itself counted. Stops as soon as
/// it is clear that the share exceeds [`CHANGE_ERROR`] (Besag & Clifford, Biometrika 78, 1991).
fn p_value(ranks: &mut [f64], statistic: f64, block: usize, seed: u64) -> f64 {
    let enough = (CHANGE_ERROR * (PERMUTATIONS + 1) as f64) as usize + 1;
    let mut random = Random::new(seed);
    let mut blocks: Vec<Vec<f64>> = ranks.chunks(block).map(<[f64]>::to_vec).collect();
    let mut reached = 0;
    for done in 1..=PERMUTATIONS {
        random.shuffle(&mut blocks);
        for (place, value) in ranks.iter_mut().zip(blocks.iter().flatten()) {
            *place = *value;
        }
        // Room for rounding: a permutation that only moves equal values reaches it.
        reached += usize::from(largest(ranks).1 >= statistic * (1.0 - 1e-12));
        if reached >= enough {
            return reached as f64 / done as f64;
        }
    }
    (reached + 1) as f64 / (PERMUTATIONS + 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(n: usize, random: &mut Random) -> Vec<f64> {
        (0..n).map(|_| 0.05 * random.normal()).collect()
    }

    #[test]
    fn a_halved_bandwidth_is_found_where_it_happened() {
        let mut values = noise(30, &mut Random::new(1));
        values[18..].iter_mut().for_each(|it| *it -= 2f64.ln());
        let change = change_point(&values, 1).unwrap();
        assert!(change.significant() && change.at == 18, "{change:?}");
        assert!((change.ratio - 0.5).abs() < 0.05, "{change:?}");
        assert_eq!(change.p_value, 0.0005, "the series itself is one of two thousand");
    }

    #[test]
    fn a_change_must_be_both_clear_and_large() {
        let change = |ratio, p_value| Change { at: 9, ratio, p_value }.significant();
        assert!(change(0.5, 0.001) && change(2.0, 0.001), "slower or faster");
        assert!(!change(0.99, 0.001) && !change(0.5, 0.3));
    }

    #[test]
    fn a_change_may_be_as_near_to_the_ends_as_three() {
        for at in [3, 27] {
            let mut values = vec![1.0; 30];
            values[at..].fill(2.0);
            assert_eq!(change_point(&values, 1).map(|it| it.at), Some(at));
        }
    }

    /// Two very high values at an end are no change of level, however they stand out.
    #[test]
    fn a_change_is_no_nearer_to_the_ends_than_three() {
        let mut values: Vec<f64> = (0..30).map(|it| f64::from(it * 7 % 30)).collect();
        values[..2].fill(100.0);
        let (at, _) = largest(&centred_ranks(&values));
        assert!(at >= 3, "{at}");
        values.reverse();
        let (at, _) = largest(&centred_ranks(&values));
        assert!(at <= 27, "{at}");
    }

    #[test]
    fn sums_are_standardised_and_of_equal_ones_the_first_counts() {
        let (at, size) = largest(&[2.5, 1.5, 0.5, -0.5, -1.5, -2.5]);
        assert_eq!((at, size), (3, 4.5 / 3.0));
        let (at, size) = largest(&[1.0, 1.0, 1.0, 0.0, 0.0, -1.0, -1.0, -1.0]);
        assert_eq!((at, size), (3, 3.0 / 15f64.sqrt()));
    }

    #[test]
    fn false_alarms_are_as_rare_as_stated() {
        let mut random = Random::new(2);
        let alarms = (0..400).filter(|_| {
            let change = change_point(&noise(20, &mut random), 3).unwrap();
            change.p_value <= CHANGE_ERROR
        });
        // 400 tests at 1 %: more than 12 have a probability of 0.0006.
        assert!(alarms.count() <= 12);
    }

    /// Of ten values, five of them lower: as clear a change have the arrangements with these five first or last, 2 of 252.
    #[test]
    fn the_p_value_is_the_share_of_arrangements() {
        let values = [1.3, 1.1, 1.4, 1.0, 1.2, 0.3, 0.1, 0.4, 0.0, 0.2];
        let p_values: Vec<f64> =
            (0..40).map(|seed| change_point(&values, seed).unwrap().p_value).collect();
        let mean = p_values.iter().sum::<f64>() / p_values.len() as f64;
        assert!((mean - 2.0 / 252.0).abs() < 0.001, "{mean}");
    }

    #[test]
    fn few_or_equal_values_show_no_change() {
        assert_eq!(change_point(&[1.0; 7], 1), None);
        assert!(change_point(&[1.0; 8], 1).is_some());
        let equal = change_point(&[1.0; 20], 1).unwrap();
        assert!(!equal.significant() && equal.ratio == 1.0, "{equal:?}");
    }
}
