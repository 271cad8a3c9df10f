//! Is the median of a component low, and is it low more than others are?

use plimsoll_stats::distribution::binomial_at_least;

use super::component::Component;
use super::dependence::likely_correlations;
use super::exchange::{LEAST_BLOCKS, Scores, block};
use super::{Chronology, FLOOR, Verdict, median_of};

/// What every low measure counts for, beside its depth.
const BEING_LOW: f64 = 0.1;

/// Deeper than this (a ratio of e to the others) counts for no more.
const DEEPEST: f64 = 1.0;

/// A component that loses less by being low, beyond what the typical one does, is not worth naming.
const WORTH_NAMING: f64 = 0.03;

/// A component that scatters both ways is low so much more often than high in this share of cases, or less.
const ONE_SIDED: f64 = 0.25;

/// If the median were at the limit, each measure would be low like the toss of a coin.
pub(super) fn p_value(verdict: &Verdict) -> f64 {
    let worth = verdict.effective_n / verdict.n.max(1) as f64;
    let tosses = (verdict.effective_n.floor() as u64).max(1);
    // Rounded down: in doubt for the accused. The margin is for products like 0.7 * 10.
    let low = (verdict.low as f64 * worth + 1e-9).floor() as u64;
    binomial_at_least(low.min(tosses), tosses, 0.5)
}

/// Whether a component is low more than others.
pub(super) struct MoreThanOthers {
    pub p_value: f64,
    /// Measures of a block.
    pub block: usize,
    /// Whether it is low now and then, but its measures make too few blocks for any test.
    pub is_untestable: bool,
}

/// The test by exchange of what is low, for each component.
pub(super) fn low_more_than_others(
    components: &[&Component],
    chronology: &Chronology,
    limit: f64,
) -> Vec<MoreThanOthers> {
    let scores: Vec<Vec<(u32, f64)>> =
        components.iter().map(|it| scores(it, chronology, limit)).collect();
    let low: Vec<usize> =
        scores.iter().map(|it| it.iter().filter(|it| it.1 > 0.0).count()).collect();
    let correlations = correlations(components, &scores, &low, limit);
    let losses: Vec<f64> = components.iter().map(|it| loss(it, limit)).collect();
    let usual_loss = median_of(&mut losses.clone()).unwrap_or(0.0);
    let tested: Vec<(usize, f64)> = (0..components.len())
        .filter(|it| low[*it] >= LEAST_BLOCKS && is_one_sided(components[*it], limit))
        .filter(|it| losses[*it] >= usual_loss + WORTH_NAMING)
        .map(|it| (it, correlations[it]))
        .collect();
    let found = Scores { of: scores, places: chronology.count }.p_values(&tested);
    let outcome = |number: usize| {
        let place = tested.iter().position(|it| it.0 == number);
        let block = block(correlations[number]);
        MoreThanOthers {
            p_value: place.map_or(1.0, |place| found[place]),
            block,
            is_untestable: place.is_some()
                && components[number].measures.len() < LEAST_BLOCKS * block,
        }
    };
    (0..components.len()).map(outcome).collect()
}

/// What a component loses by being low, as a share of what it would have otherwise.
fn loss(component: &Component, limit: f64) -> f64 {
    let low = component.measures.iter().filter(|it| it.log_ratio < limit);
    let lost: f64 = low.map(|it| 1.0 - it.log_ratio.exp()).sum();
    lost / component.measures.len().max(1) as f64
}

/// Whether a component is low clearly more often than it is high by as much. One that scatters both ways is noisier
/// than others, not slower.
fn is_one_sided(component: &Component, limit: f64) -> bool {
    let high = component.measures.iter().filter(|it| it.log_ratio > -limit).count();
    let low = component.low(limit);
    binomial_at_least(low as u64, (low + high) as u64, 0.5) <= ONE_SIDED
}

/// How much neighbours repeat each other, for each component. What counts is the correlation of its scores, and that of
/// the measures behind them: a score is 0 most of the time, and hides it.
fn correlations(
    components: &[&Component],
    scores: &[Vec<(u32, f64)>],
    low: &[usize],
    limit: f64,
) -> Vec<f64> {
    let counts: Vec<bool> = low.iter().map(|it| *it >= 2).collect();
    let floor = limit.abs() * FLOOR;
    let reach = 2.0 * limit.abs();
    let capped = |it: &Vec<(u32, f64)>| {
        it.iter().map(|it| it.1.min(BEING_LOW + limit.abs())).collect::<Vec<f64>>()
    };
    let clipped = |it: &&Component| {
        it.logs().iter().map(|log| log.clamp(-reach, reach)).collect::<Vec<f64>>()
    };
    let of_scores: Vec<Vec<f64>> = scores.iter().map(capped).collect();
    let of_logs: Vec<Vec<f64>> = components.iter().map(clipped).collect();
    let pairs = likely_correlations(&of_scores, floor, &counts)
        .into_iter()
        .zip(likely_correlations(&of_logs, floor, &counts));
    pairs.map(|(scores, logs)| scores.max(logs)).collect()
}

/// How low each measure is under the limit. A component that is a little slower than others throughout is no straggler: what
/// its median is off by is taken out first, up to the limit, unless most of its measures are low. Measures that are
/// deep under the limit do not count for that: with them, the median of one that is at half speed every other time
/// would lie anywhere.
fn scores(component: &Component, chronology: &Chronology, limit: f64) -> Vec<(u32, f64)> {
    let mut near: Vec<f64> = component.logs().into_iter().filter(|it| *it >= 2.0 * limit).collect();
    let mostly_low = 2 * component.low(limit) > component.measures.len();
    let level = match median_of(&mut near) {
        Some(median) if !mostly_low => median.clamp(limit, 0.0),
        _ => 0.0,
    };
    let score = |log: f64| match limit - (log - level) {
        depth if depth > 0.0 => BEING_LOW + depth.min(DEEPEST),
        _ => 0.0,
    };
    component.measures.iter().map(|it| (chronology.of(it.set), score(it.log_ratio))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Measure;
    use super::*;

    /// A slow wave that is low at its two troughs, of which one is `deepest`.
    fn wave(deepest: f64) -> Component {
        let log = |at: u32| match at {
            8 => -0.4,
            24 => deepest,
            _ => 0.15 * (f64::from(at) / 16.0 * std::f64::consts::TAU).cos(),
        };
        let measure =
            |at: u32| Measure { start: u64::from(at), set: at, setting: 0, log_ratio: log(at) };
        Component { measures: (0..32).map(measure).collect(), ..Component::default() }
    }

    #[test]
    fn what_is_lost_is_a_share_of_all() {
        let measure = |(at, ratio): (usize, &f64)| Measure {
            start: at as u64,
            set: at as u32,
            setting: 0,
            log_ratio: ratio.ln(),
        };
        let of = |ratios: &[f64]| Component {
            measures: ratios.iter().enumerate().map(measure).collect(),
            ..Component::default()
        };
        let limit = 0.8f64.ln();
        assert!((loss(&of(&[0.5, 1.0, 0.9, 1.2]), limit) - 0.125).abs() < 1e-12);
        assert!((loss(&of(&[0.5, 0.25]), limit) - 0.625).abs() < 1e-12);
        assert_eq!(loss(&of(&[]), limit), 0.0);
    }

    /// Otherwise those that happen to be low in half of their measures would count for less, and the others for more.
    #[test]
    fn equally_low_measures_count_alike_however_many_there_are() {
        let of = |low: u32, others: f64| {
            let log_ratio = |at: u32| if at < low { 0.5f64.ln() } else { others };
            let measure = |at: u32| Measure {
                start: u64::from(at),
                set: at,
                setting: 0,
                log_ratio: log_ratio(at),
            };
            let component =
                Component { measures: (0..10).map(measure).collect(), ..Component::default() };
            let chronology = Chronology::new(std::slice::from_ref(&component));
            scores(&component, &chronology, 0.85f64.ln())[0].1
        };
        let depth = BEING_LOW + (0.85f64 / 0.5).ln();
        for low in [1, 3, 5, 6, 9] {
            assert!((of(low, 0.0) - depth).abs() < 1e-12, "{low}");
        }
        // What is a tenth slower at other times is low by less.
        assert!((of(5, 0.9f64.ln()) - depth - 0.9f64.ln()).abs() < 1e-12);
        assert!((of(6, 0.9f64.ln()) - depth).abs() < 1e-12, "low most of the time");
    }

    #[test]
    fn one_very_deep_measure_does_not_hide_that_the_others_repeat_each_other() {
        let limit = 0.85f64.ln();
        let block = |component: Component| {
            let chronology = Chronology::new(std::slice::from_ref(&component));
            low_more_than_others(&[&component], &chronology, limit)[0].block
        };
        assert!(block(wave(-0.4)) > 1);
        assert_eq!(block(wave(-6.0)), block(wave(-0.4)));
    }
}
