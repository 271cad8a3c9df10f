//! Is a component low more often, or more deeply, than those that were measured beside it?
//!
//! The null hypothesis is that components are exchangeable: whatever noise they have, each has it alike, so that within a
//! stretch of time each of them is as likely as any other to have the most of it. No shape of the noise is assumed:
//! one-sided, bimodal or sliced, all have it. Time is cut into blocks that hardly depend on each other, and in
//! each block the scores are dealt out anew. The sum that a component gets in this way has a distribution
//! that can be written down: that of one draw for each block.

use std::collections::BTreeMap;

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

impl Scores {
    /// For components with lengths of blocks in their own measures: the probabilities that chance alone gives them as
    /// much; 1 for one that has a score in too few blocks.
    pub fn p_values(&self, tested: &[(usize, usize)]) -> Vec<f64> {
        let mut blocks: BTreeMap<usize, Blocks> = BTreeMap::new();
        let p_value = |(component, block): &(usize, usize)| {
            let own = self.of[*component].len().max(1);
            let least = self.places.div_ceil(BLOCKS_MAX);
            let length = (block * self.places).div_ceil(own).max(least).max(1);
            let blocks = blocks.entry(length).or_insert_with(|| Blocks::new(self, length));
            blocks.p_value(*component)
        };
        tested.iter().map(p_value).collect()
    }
}

/// Scores in blocks of time, as levels.
struct Blocks {
    /// By block: components in order of their numbers, with the level of their mean score.
    levels: Vec<Vec<(usize, usize)>>,
    /// The distribution of a sum over all blocks.
    over_all: Vec<f64>,
}

impl Blocks {
    fn new(scores: &Scores, length: usize) -> Self {
        let mut means: Vec<Vec<(usize, f64)>> = vec![Vec::new(); scores.places.div_ceil(length)];
        for (component, list) in scores.of.iter().enumerate() {
            for part in list.chunk_by(|a, b| a.0 as usize / length == b.0 as usize / length) {
                let mean = part.iter().map(|it| it.1).sum::<f64>() / part.len() as f64;
                means[part[0].0 as usize / length].push((component, mean));
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
        match with.len() == self.levels.len() {
            true => tail(&self.over_all),
            false => tail(&by_chance(with.into_iter())),
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
            assert!((scores.p_values(&[(0, 1)])[0] - 0.25f64.powi(m as i32)).abs() < 1e-12);
            assert_eq!(scores.p_values(&[(1, 1)]), [1.0]);
        }
    }

    #[test]
    fn deeper_counts_for_more() {
        let of = |component: usize| {
            (0..8).map(|it| (it, if component == 0 { 1.0 } else { 0.1 })).collect()
        };
        let scores = Scores { of: (0..4).map(of).collect(), places: 8 };
        let found = scores.p_values(&[(0, 1), (2, 1)]);
        assert!(found[0] < 1e-4 && (found[1] - 1.0).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn blocks_are_as_long_as_measures_repeat_each_other() {
        let of = |component: usize| {
            (0..12).map(|it| (it, f64::from(u8::from(component == 0)))).collect()
        };
        let scores = Scores { of: (0..4).map(of).collect(), places: 12 };
        let found = scores.p_values(&[(0, 4), (0, 6)]);
        assert!((found[0] - 0.25f64.powi(3)).abs() < 1e-12);
        assert_eq!(found[1], 1.0, "two blocks are too few");
    }

    #[test]
    fn nobody_to_exchange_with() {
        let scores = Scores { of: vec![vec![(0, 1.0), (1, 1.0), (2, 1.0)]], places: 3 };
        assert_eq!(scores.p_values(&[(0, 1)]), [1.0]);
        let empty = Scores { of: vec![vec![], vec![]], places: 0 };
        assert_eq!(empty.p_values(&[(0, 1)]), [1.0]);
    }
}
