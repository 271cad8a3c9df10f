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
    use super::*;

    /// A slow wave that is low at its two troughs, of which one is `deepest`.
    fn wave(deepest: f64) -> Component {
        let log = |at: u32| match at {
            8 => -0.4,
            24 => deepest,
            _ => 0.15 * (f64::from(at) / 16.0 * std::f64::consts::TAU).cos(),
        };
        Component::of_logs(&(0..32).map(log).collect::<Vec<f64>>())
    }

    fn of_ratios(ratios: &[f64]) -> Component {
        Component::of_logs(&ratios.iter().map(|it| it.ln()).collect::<Vec<f64>>())
    }

    #[test]
    fn what_is_lost_is_a_share_of_all() {
        let limit = 0.8f64.ln();
        let of = |ratios: &[f64]| loss(&of_ratios(ratios), limit);
        assert!((of(&[0.5, 1.0, 0.9, 1.2]) - 0.125).abs() < 1e-12);
        assert!((of(&[0.5, 0.25]) - 0.625).abs() < 1e-12);
        assert_eq!(of(&[0.8, 0.8]), 0.0, "at the limit is not under it");
        assert_eq!(of(&[]), 0.0);
    }

    /// So many low measures of all, which are worth so many tosses.
    fn tossed(low: usize, n: usize, effective_n: f64) -> f64 {
        let nothing = [Component::default()];
        let judging = super::super::Judging::new(&nothing, &Default::default());
        let none = judging.verdicts[0].clone();
        p_value(&Verdict { low, n, effective_n, ..none })
    }

    #[test]
    fn low_measures_are_heads_of_as_many_tosses_as_all_are_worth() {
        // Seven heads or more of ten: 176 of 1024.
        assert!((tossed(7, 10, 10.0) - 176.0 / 1024.0).abs() < 1e-12);
        assert!((tossed(15, 20, 10.0) - 176.0 / 1024.0).abs() < 1e-12, "7.5 are 7");
        assert!(
            (tossed(14, 20, 10.9) - 176.0 / 1024.0).abs() < 1e-12,
            "10.9 are 10, and 7.6 are 7"
        );
        assert!((tossed(20, 20, 4.0) - 1.0 / 16.0).abs() < 1e-12);
        assert!((tossed(1, 1, 0.5) - 1.0).abs() < 1e-12, "half a measure is none");
        assert_eq!((tossed(0, 20, 20.0), tossed(0, 0, 0.0)), (1.0, 1.0));
    }

    #[test]
    fn one_sided_is_low_clearly_more_often_than_high_by_as_much() {
        let limit = 0.8f64.ln();
        let is_one_sided = |low: usize, high: usize| {
            let ratios = [vec![0.5; low], vec![2.0; high], vec![1.0, 0.8, 0.9, 1.1]].concat();
            is_one_sided(&of_ratios(&ratios), limit)
        };
        // All of three are low in one case of eight; two of three or more in a half.
        assert!(is_one_sided(3, 0) && !is_one_sided(1, 0) && !is_one_sided(2, 1));
        // Four of five or more: 6 of 32. Five of eight or more: 93 of 256, of seven: 29 of 128.
        assert!(is_one_sided(4, 1) && !is_one_sided(5, 3) && is_one_sided(5, 2));
        assert!(!is_one_sided(0, 5) && !is_one_sided(0, 0));
        let exactly = Component::of_logs(&[2.0 * limit, 2.0 * limit, 2.0 * limit, -limit, -limit]);
        assert!(
            super::is_one_sided(&exactly, limit),
            "high by just as much as the limit is not more"
        );
    }

    /// What the first of four components is found to be, the others being low as often as is said.
    fn first_of_four(first: &[f64], others: [&[f64]; 3]) -> MoreThanOthers {
        let all =
            [of_ratios(first), of_ratios(others[0]), of_ratios(others[1]), of_ratios(others[2])];
        let chronology = Chronology::new(&all);
        let refs: Vec<&Component> = all.iter().collect();
        low_more_than_others(&refs, &chronology, 0.85f64.ln()).remove(0)
    }

    fn low_at(places: &[usize], ratio: f64, n: usize) -> Vec<f64> {
        (0..n).map(|at| if places.contains(&at) { ratio } else { 1.0 }).collect()
    }

    #[test]
    fn one_that_alone_is_low_is_so_by_the_chance_of_that() {
        let even = vec![1.0; 20];
        let p = |places: &[usize]| {
            let found = first_of_four(&low_at(places, 0.5, 20), [&even, &even, &even]);
            assert_eq!((found.block, found.is_untestable), (1, false));
            found.p_value
        };
        assert!((p(&[2, 7, 11]) - 0.25f64.powi(3)).abs() < 1e-12);
        assert!((p(&[2, 7, 11, 16]) - 0.25f64.powi(4)).abs() < 1e-12);
        assert_eq!(p(&[2, 7]), 1.0, "twice is a coincidence");
    }

    #[test]
    fn a_loss_of_less_than_three_hundredths_beyond_the_usual_is_not_worth_naming() {
        let p = |n: usize, usual: &[usize]| {
            let usual = low_at(usual, 0.5, n);
            let even = vec![1.0; n];
            let first = low_at(&[2, 9, 17, 25], 0.5, n);
            first_of_four(&first, [&usual, &usual, &even]).p_value
        };
        // Half of four measures is two: of 60 more than 0.03, of 80 less.
        assert!(p(60, &[]) < 0.01);
        assert_eq!(p(80, &[]), 1.0);
        // In the middle of all four lies half of what the two others lose.
        assert!(p(40, &[30]) < 0.05);
        assert_eq!(p(40, &[12, 22, 30, 35]), 1.0, "the usual loss is 0.05 of its 0.05");
    }

    #[test]
    fn few_blocks_of_measures_that_repeat_each_other_are_no_test() {
        let even = vec![1.0; 30];
        let found = |places: &[usize], n: usize| {
            first_of_four(&low_at(places, 0.5, n), [&even[..n], &even[..n], &even[..n]])
        };
        let in_a_row = found(&[4, 5, 6, 7, 8], 14);
        assert!(in_a_row.block > 4 && in_a_row.is_untestable, "{}", in_a_row.block);
        assert_eq!(in_a_row.p_value, 1.0);
        assert!(!found(&[4, 5], 14).is_untestable, "there is nothing to test");
        assert!(!found(&[2, 7, 11], 14).is_untestable, "they repeat nothing");
    }

    /// Otherwise those that happen to be low in half of their measures would count for less, and the others for more.
    #[test]
    fn equally_low_measures_count_alike_however_many_there_are() {
        let of = |low: u32, others: f64| {
            let log = |at: u32| if at < low { 0.5f64.ln() } else { others };
            let component = Component::of_logs(&(0..10).map(log).collect::<Vec<f64>>());
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
    fn a_measure_at_the_limit_has_no_score() {
        let limit = 0.85f64.ln();
        let component = Component::of_logs(&[0.0, limit, 2.0 * limit, 0.0, 0.0, 0.0]);
        let chronology = Chronology::new(std::slice::from_ref(&component));
        let found: Vec<f64> =
            scores(&component, &chronology, limit).iter().map(|it| it.1).collect();
        assert_eq!(found, [0.0, 0.0, BEING_LOW - limit, 0.0, 0.0, 0.0]);
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
