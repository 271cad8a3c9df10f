//! Whether the first rounds differ from the rest.

use plimsoll_stats::distribution::normal_cdf;

/// Chance to see a warm-up where there is none.
pub const FALSE_ALARMS: f64 = 0.01;

/// Rounds before a warm-up can be told from chance.
const ROUNDS_MIN: usize = 8;
/// Longer beginnings are a drift, not a warm-up.
const WARM_UP_MAX: usize = 8;

/// Returns how many of the first rounds differ from those that follow: 0 if none do.
///
/// `series` has the measures of each setting in the order of rounds. Each measure is replaced by
/// its rank within its setting, so that settings of different speed count alike and no shape is
/// assumed. The rank sums of the first rounds, over all settings, are compared with their
/// expectation (the stratified test of van Elteren, 1960), for each length that a warm-up may
/// have, at [`FALSE_ALARMS`] for all lengths together. One round of one setting can therefore
/// never be told from chance; one round of several settings can.
pub fn warm_up_rounds(series: &[&[f64]]) -> usize {
    let rounds = series.iter().map(|series| series.len()).min().unwrap_or(0);
    if rounds < ROUNDS_MIN {
        return 0;
    }
    let ranks: Vec<Vec<f64>> = series.iter().map(|series| ranks(&series[..rounds])).collect();
    let longest = (rounds / 4).min(WARM_UP_MAX);
    let scored = (1..=longest).map(|length| (deviation(&ranks, rounds, length), length));
    let clearest = scored.max_by(|(a, _), (b, _)| a.total_cmp(b));
    let is_chance = |deviation: f64| 2.0 * normal_cdf(-deviation) > FALSE_ALARMS / longest as f64;
    clearest.filter(|(deviation, _)| !is_chance(*deviation)).map_or(0, |(_, length)| length)
}

/// Returns how far the rank sum of the first rounds is from its expectation, in standard deviations.
/// Equal measures make the true standard deviation smaller than this one: fewer alarms.
fn deviation(ranks: &[Vec<f64>], rounds: usize, length: usize) -> f64 {
    let (n, k, settings) = (rounds as f64, length as f64, ranks.len() as f64);
    let sum: f64 = ranks.iter().flat_map(|ranks| &ranks[..length]).sum();
    let expected = settings * k * (n + 1.0) / 2.0;
    let variance = settings * k * (n - k) * (n + 1.0) / 12.0;
    (sum - expected).abs() / variance.sqrt()
}

/// Returns the ranks from 1; equal values share the mean of theirs.
fn ranks(series: &[f64]) -> Vec<f64> {
    let mut sorted = series.to_vec();
    sorted.sort_by(f64::total_cmp);
    let below = |value: f64| sorted.partition_point(|other| *other < value);
    let up_to = |value: f64| sorted.partition_point(|other| *other <= value);
    series.iter().map(|value| (below(*value) + up_to(*value) + 1) as f64 / 2.0).collect()
}
