//! Is a component low more often, or more deeply, than those that were measured beside it?
//!
//! The null hypothesis is that components are exchangeable: whatever noise they have, each has it alike, so that within a
//! stretch of time each of them is as likely as any other to have the most of it. No shape of the noise is assumed:
//! one-sided, bimodal or sliced, all have it. Time is cut into blocks that hardly depend on each other, and in
//! each block the scores are dealt out anew. The sum that a component gets in this way has a distribution
//! that can be written down: that of one draw for each block. What neighbouring blocks still repeat of each other widens it.

use std::collections::BTreeMap;

use plimsoll_stats::dependence::{block_length, correlation_of_blocks};
use plimsoll_stats::distribution::{normal_cdf, normal_quantile};

use super::INDEPENDENT;

/// A block has this many levels of scores.
const LEVELS: usize = 30;

/// More blocks cost time and tell no more.
const BLOCKS_MAX: usize = 256;

/// Blocks in which a component must have a score: two are a coincidence.
pub(super) const LEAST_BLOCKS: usize = 3;

/// Scores of components in comparisons, which are numbered in order of time.
pub(super) struct Scores {
    /// By component: the place of the comparison, and the score, not negative.
    pub of: Vec<Vec<(u32, f64)>>,
    /// Comparisons.
    pub places: usize,
}

/// Measures of a block, where neighbours are correlated by so much.
pub(super) fn block(correlation: f64) -> usize {
    block_length(correlation, INDEPENDENT)
}

impl Scores {
    /// For components and the correlations of their neighbouring measures: the probabilities that chance alone gives
    /// them as much; 1 for one that has a score in too few blocks.
    pub fn p_values(&self, tested: &[(usize, f64)]) -> Vec<f64> {
        let mut blocks: BTreeMap<usize, Blocks> = BTreeMap::new();
        let p_value = |(component, correlation): &(usize, f64)| {
            let own = self.of[*component].len().max(1);
            let length = block(*correlation);
            let count = (own / length).clamp(1, BLOCKS_MAX);
            let blocks = blocks.entry(count).or_insert_with(|| Blocks::new(self, count));
            let repeated = correlation_of_blocks(*correlation, length);
            widened(blocks.p_value(*component), repeated, count)
        };
        tested.iter().map(p_value).collect()
    }
}

/// The tail of a sum of `blocks` draws of which neighbours are correlated by `repeated`: the sum varies more by
/// 1 + 2 (k - 1) / k times the correlation, in the normal approximation.
fn widened(p_value: f64, repeated: f64, blocks: usize) -> f64 {
    let neighbours = (blocks - 1) as f64 / blocks as f64;
    let deviations = normal_quantile(p_value.clamp(f64::MIN_POSITIVE, 1.0));
    let wider = (1.0 + 2.0 * neighbours * repeated).sqrt();
    if repeated > 0.0 { normal_cdf(deviations / wider).max(p_value) } else { p_value }
}

/// Scores in blocks of time, as levels.
struct Blocks {
    /// By block: components in order of their numbers, with the level of their mean score.
    levels: Vec<Vec<(usize, usize)>>,
    /// The distribution of a sum over all blocks.
    over_all: Vec<f64>,
}

impl Blocks {
    /// So many blocks of the same length.
    fn new(scores: &Scores, count: usize) -> Self {
        let block = |it: &(u32, f64)| it.0 as usize * count / scores.places;
        let mut means: Vec<Vec<(usize, f64)>> = vec![Vec::new(); count];
        for (component, list) in scores.of.iter().enumerate() {
            for part in list.chunk_by(|a, b| block(a) == block(b)) {
                let mean = part.iter().map(|it| it.1).sum::<f64>() / part.len() as f64;
                means[block(&part[0])].push((component, mean));
            }
        }
        // One alone has nobody to exchange with.
        means.retain(|block| block.len() > 1);
        let most = means.iter().flatten().fold(0.0, |most: f64, it| most.max(it.1));
        let level = |(component, mean): &(usize, f64)| {
            // A score that is not 0 counts for something.
            let level = (mean / most.max(f64::MIN_POSITIVE) * LEVELS as f64).round() as usize;
            (*component, level.clamp(usize::from(*mean > 0.0), LEVELS))
        };
        let levels: Vec<Vec<(usize, usize)>> =
            means.iter().map(|block| block.iter().map(level).collect()).collect();
        let over_all = by_chance(levels.iter());
        Blocks { levels, over_all }
    }

    fn p_value(&self, component: usize) -> f64 {
        let own = |block: &&Vec<(usize, usize)>| {
            let place = block.binary_search_by_key(&component, |it| it.0);
            place.ok().map(|place| block[place].1)
        };
        let with: Vec<&Vec<(usize, usize)>> =
            self.levels.iter().filter(|it| own(it).is_some()).collect();
        let drawn: Vec<usize> = with.iter().filter_map(own).collect();
        if drawn.iter().filter(|level| **level > 0).count() < LEAST_BLOCKS {
            return 1.0;
        }
        let sum: usize = drawn.iter().sum();
        let tail = |by_chance: &[f64]| by_chance[sum..].iter().sum::<f64>().min(1.0);
        if with.len() == self.levels.len() {
            tail(&self.over_all)
        } else {
            tail(&by_chance(with.into_iter()))
        }
    }
}

/// The distribution of the sum of one draw from each block.
fn by_chance<'a>(blocks: impl Iterator<Item = &'a Vec<(usize, usize)>>) -> Vec<f64> {
    blocks.fold(vec![1.0], |sum, block| {
        let mut shares = [0.0; LEVELS + 1];
        block.iter().for_each(|(_, level)| shares[*level] += 1.0 / block.len() as f64);
        with_a_draw(&sum, &shares)
    })
}

/// The distribution of a sum with one more draw.
fn with_a_draw(sum: &[f64], draw: &[f64]) -> Vec<f64> {
    let most = draw.iter().rposition(|share| *share > 0.0).unwrap_or(0);
    let mut with = vec![0.0; sum.len() + most];
    for (level, share) in draw.iter().enumerate().filter(|(_, share)| **share > 0.0) {
        sum.iter().enumerate().for_each(|(place, it)| with[place + level] += it * share);
    }
    with
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of four, the first has the score in each of the first m comparisons: (1/4)^m.
    #[test]
    fn the_least_likely_has_its_probability() {
        for m in [3, 4, 5] {
            let of = |component: usize| {
                (0..10).map(|it| (it, f64::from(u8::from(component == 0 && it < m)))).collect()
            };
            let scores = Scores { of: (0..4).map(of).collect(), places: 10 };
            assert!((scores.p_values(&[(0, 0.0)])[0] - 0.25f64.powi(m as i32)).abs() < 1e-12);
            assert_eq!(scores.p_values(&[(1, 0.0)]), [1.0]);
        }
    }

    #[test]
    fn two_are_a_coincidence() {
        let of = |component: usize| {
            (0..10).map(|it| (it, f64::from(u8::from(component == 0 && it < 2)))).collect()
        };
        let scores = Scores { of: (0..4).map(of).collect(), places: 10 };
        assert_eq!(scores.p_values(&[(0, 0.0)]), [1.0]);
    }

    /// One that takes part in the first half of the time draws there only: what others have later is not its concern.
    #[test]
    fn a_component_draws_in_its_own_comparisons() {
        let of = |component: usize| -> Vec<(u32, f64)> {
            match component {
                0 => (0..6).map(|it| (it, 1.0)).collect(),
                _ => (0..12).map(|it| (it, f64::from(u8::from(it >= 6)))).collect(),
            }
        };
        let scores = Scores { of: (0..4).map(of).collect(), places: 12 };
        // Six measures make blocks of two comparisons: it has the most in three of them.
        let found = scores.p_values(&[(0, 0.0)])[0];
        assert!((found - 0.25f64.powi(3)).abs() < 1e-12, "{found}");
    }

    #[test]
    fn deeper_counts_for_more() {
        let of = |component: usize| {
            (0..8).map(|it| (it, if component == 0 { 1.0 } else { 0.1 })).collect()
        };
        let scores = Scores { of: (0..4).map(of).collect(), places: 8 };
        let found = scores.p_values(&[(0, 0.0), (2, 0.0)]);
        assert!(found[0] < 1e-4 && (found[1] - 1.0).abs() < 1e-12, "{found:?}");
    }

    fn first_of_four(places: u32) -> Scores {
        let of = |component: usize| {
            (0..places).map(|it| (it, f64::from(u8::from(component == 0)))).collect()
        };
        Scores { of: (0..4).map(of).collect(), places: places as usize }
    }

    #[test]
    fn blocks_are_as_long_as_measures_repeat_each_other() {
        // Blocks of eight where neighbours are correlated by a half: 25 measures make three of them.
        let found = |places| first_of_four(places).p_values(&[(0, 0.5)])[0];
        assert!(found(25) > 0.25f64.powi(3) && found(25) < 0.25f64.powi(2), "{}", found(25));
        assert_eq!(found(23), 1.0, "two blocks are too few, and what is left over makes no third");
        let independent = first_of_four(12).p_values(&[(0, 0.0)])[0];
        assert!((independent - 0.25f64.powi(12)).abs() < 1e-12);
    }

    /// Sums of draws of which each repeats a part of the last one go as far as is said.
    #[test]
    fn what_blocks_repeat_of_each_other_widens_the_tail() {
        let mut random = plimsoll_stats::Random::new(5);
        // Normal numbers of which neighbours are correlated by 0.2.
        let now: f64 = 0.5 + 0.21f64.sqrt();
        let (now, last) = (now.sqrt(), (1.0 - now).sqrt());
        let mut sum = || {
            let mut before = random.normal();
            let mut next = || {
                let own = random.normal();
                let it = now * own + last * before;
                before = own;
                it
            };
            (0..4).map(|_| next()).sum::<f64>()
        };
        let alone = 0.01;
        let far = -normal_quantile(alone) * 2.0;
        let share = (0..20_000).filter(|_| sum() > far).count() as f64 / 20_000.0;
        let said = widened(alone, 0.2, 4);
        assert!((share - said).abs() < 0.003 && said > 1.5 * alone, "{share} {said}");
        assert_eq!(widened(alone, 0.0, 4), alone);
        assert_eq!(widened(0.9, 0.2, 4), 0.9, "in doubt for the accused");
    }

    #[test]
    fn nobody_to_exchange_with() {
        let scores = Scores { of: vec![vec![(0, 1.0), (1, 1.0), (2, 1.0)]], places: 3 };
        assert_eq!(scores.p_values(&[(0, 0.0)]), [1.0]);
        let empty = Scores { of: vec![vec![], vec![]], places: 0 };
        assert_eq!(empty.p_values(&[(0, 0.0)]), [1.0]);
    }
}
