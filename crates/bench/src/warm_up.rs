//! Whether the first rounds differ from the rest.

use plimsoll_stats::Sample;
use plimsoll_stats::rank::brunner_munzel;

/// Chance to see a warm-up where there is none.
pub const FALSE_ALARMS: f64 = 0.01;

/// Rounds before a warm-up can be told from chance.
const ROUNDS_MIN: usize = 8;
/// Longer beginnings are a drift, not a warm-up.
const WARM_UP_MAX: usize = 8;

/// How many of the first rounds differ from those that follow: 0 if none do.
///
/// `series` has the measures of each setting in the order of rounds. Each measure is replaced by
/// its rank within its setting, so that settings of different speed count alike and no shape is
/// assumed; the ranks of the first rounds are then compared with those of the rest by the test of
/// Brunner and Munzel, for each length that a warm-up may have, at [`FALSE_ALARMS`] for all
/// lengths together.
pub fn warm_up_rounds(series: &[&[f64]]) -> usize {
    let rounds = series.iter().map(|series| series.len()).min().unwrap_or(0);
    if rounds < ROUNDS_MIN {
        return 0;
    }
    let ranks: Vec<Vec<f64>> = series.iter().map(|series| ranks(&series[..rounds])).collect();
    let lengths = 1..=(rounds / 4).min(WARM_UP_MAX);
    let level = FALSE_ALARMS / lengths.end().max(&1).to_owned() as f64;
    let tested = lengths.filter_map(|length| Some((p_value(&ranks, length)?, length)));
    let clearest = tested.min_by(|(a, _), (b, _)| a.total_cmp(b));
    clearest.filter(|(p_value, _)| *p_value <= level).map_or(0, |(_, length)| length)
}

fn p_value(ranks: &[Vec<f64>], length: usize) -> Option<f64> {
    let part = |range: &dyn Fn(&[f64]) -> Vec<f64>| {
        Sample::new(ranks.iter().flat_map(|ranks| range(ranks)).collect()).ok()
    };
    let first = part(&|ranks| ranks[..length].to_vec())?;
    let rest = part(&|ranks| ranks[length..].to_vec())?;
    brunner_munzel(&first, &rest).ok().map(|test| test.p_value)
}

/// Ranks from 1; equal values share the mean of theirs.
fn ranks(series: &[f64]) -> Vec<f64> {
    let mut sorted = series.to_vec();
    sorted.sort_by(f64::total_cmp);
    let below = |value: f64| sorted.partition_point(|other| *other < value);
    let up_to = |value: f64| sorted.partition_point(|other| *other <= value);
    series.iter().map(|value| (below(*value) + up_to(*value) + 1) as f64 / 2.0).collect()
}
