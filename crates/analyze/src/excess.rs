//! When it is said that a target gets more than others.

use plimsoll_stats::distribution::binomial_at_least;
use plimsoll_stats::effective::effective_sample_size;

/// With nothing to find, this share of histories has a claim that there is something: over all targets, reads and writes together.
pub const FALSE_CLAIMS: f64 = 0.05;

/// Less is not worth a word.
pub(crate) const LEAST_EXCESS: f64 = 1.1;

/// Bytes by target; nothing where too little of a target's day is known.
pub(crate) type Loads = Vec<Option<f64>>;

/// Returns the probability of as many days above 1 by chance, with as many days as they are worth.
pub(crate) fn by_chance(ratios: &[f64]) -> f64 {
    let above = ratios.iter().filter(|it| **it > 1.0).count();
    let worth = effective_sample_size(ratios).map_or(1.0, |it| it.effective_n / it.n as f64);
    let n = (ratios.len() as f64 * worth).floor();
    binomial_at_least((above as f64 * worth).floor() as u64, n as u64, 0.5)
}
