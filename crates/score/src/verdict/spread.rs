//! Does a component scatter more than those beside it?
//!
//! By differences of neighbours in time, so that neither its level nor a slow change of it counts.

use plimsoll_stats::dependence::LagOne;

use super::component::Component;
use super::exchange::Scores;
use super::{Chronology, median_of};

/// Scatter this many times that of the typical other, at least.
const MORE: f64 = 2.5;

/// Components that scatter by this many times the usual are still like the others: the test is whether one scatters by
/// more than that.
const TOLERATED: f64 = 1.3;

/// Less scatter than this does not matter to anybody.
const LEAST: f64 = 0.05;

/// Differences beyond this many times the usual one count for no more.
const MOST: f64 = 6.0;

/// How much a component scatters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Its own: about the standard deviation of its measures, relative.
    pub own: f64,
    /// That of the typical component.
    pub usual: f64,
}

/// The scatter of each component and its p value; p is 1 where it does not stand out.
pub(super) fn spreads(components: &[&Component], chronology: &Chronology) -> Vec<(Spread, f64)> {
    let differences: Vec<Vec<(u32, f64)>> =
        components.iter().map(|it| differences(it, chronology)).collect();
    let own: Vec<f64> = differences
        .iter()
        .map(|it| median_of(&mut it.iter().map(|it| it.1).collect::<Vec<f64>>()).unwrap_or(0.0))
        .collect();
    let usual = median_of(&mut own.clone()).unwrap_or(0.0);
    let scores = |of: &Vec<(u32, f64)>, unit: f64| {
        of.iter().map(|it| (it.0, (it.1 / unit.max(1e-6)).min(MOST))).collect::<Vec<_>>()
    };
    let of: Vec<Vec<(u32, f64)>> = differences.iter().map(|it| scores(it, usual)).collect();
    let mut correlations: Vec<f64> = of
        .iter()
        .map(|it| LagOne::of(&it.iter().map(|it| it.1).collect::<Vec<f64>>()))
        .map(|it| it.map_or(0.0, |it| it.corrected))
        .collect();
    let correlation = median_of(&mut correlations).unwrap_or(0.0);
    let mut scored = Scores { of, places: chronology.count };
    let mut p_value = |number: usize| {
        let stands_out = own[number] >= MORE * usual && own[number] >= LEAST;
        if !stands_out || own.len() < 3 {
            return 1.0;
        }
        let less = scores(&differences[number], TOLERATED * usual);
        let as_it_is = std::mem::replace(&mut scored.of[number], less);
        let p_value = scored.p_values(&[(number, correlation)])[0];
        scored.of[number] = as_it_is;
        p_value
    };
    own.iter().enumerate().map(|(at, own)| (Spread { own: *own, usual }, p_value(at))).collect()
}

/// Sizes of the differences of the first and the second measure, of the third and the fourth, and so on.
fn differences(component: &Component, chronology: &Chronology) -> Vec<(u32, f64)> {
    let difference = |pair: &[super::Measure]| {
        let size = (pair[0].log_ratio - pair[1].log_ratio).abs();
        (chronology.of(pair[0].set), size)
    };
    component.measures.chunks_exact(2).map(difference).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A component whose neighbours differ by so much, up and down in turn.
    fn differing(by: f64) -> Component {
        let log = |at: u32| if at % 4 < 2 { f64::from(at % 2) } else { f64::from(1 - at % 2) } * by;
        Component::of_logs(&(0..24).map(log).collect::<Vec<f64>>())
    }

    fn of(scatters: &[f64]) -> Vec<(Spread, f64)> {
        let components: Vec<Component> = scatters.iter().map(|it| differing(*it)).collect();
        let chronology = Chronology::new(&components);
        spreads(&components.iter().collect::<Vec<_>>(), &chronology)
    }

    #[test]
    fn neighbours_are_compared_two_by_two() {
        let component = Component::of_logs(&[0.1, 0.4, 0.2, -0.3, 0.7]);
        let chronology = Chronology::new(std::slice::from_ref(&component));
        let found = differences(&component, &chronology);
        assert_eq!(found.iter().map(|it| it.0).collect::<Vec<u32>>(), [0, 2], "the fifth is alone");
        assert!((found[0].1 - 0.3).abs() < 1e-12 && (found[1].1 - 0.5).abs() < 1e-12);
    }

    #[test]
    fn one_that_scatters_far_more_than_the_typical_one_stands_out() {
        let found = of(&[0.2, 0.04, 0.04, 0.04]);
        assert!((found[0].0.own - 0.2).abs() < 1e-12 && (found[0].0.usual - 0.04).abs() < 1e-12);
        // It has the most in each of twelve pairs: a quarter to the twelfth power.
        assert!((found[0].1 / 0.25f64.powi(12) - 1.0).abs() < 1e-6, "{}", found[0].1);
        assert!(found[1..].iter().all(|it| it.1 == 1.0 && (it.0.own - 0.04).abs() < 1e-12));
    }

    #[test]
    fn less_than_two_and_a_half_times_or_a_twentieth_is_not_looked_at() {
        let p = |own: f64, usual: f64| of(&[own, usual, usual, usual])[0].1;
        assert!(p(0.101, 0.04) < 1e-3);
        assert_eq!(p(0.099, 0.04), 1.0);
        assert!(p(0.051, 0.001) < 1e-3);
        assert_eq!(p(0.049, 0.001), 1.0);
        assert!(p(0.051, 0.0) < 1e-3, "the others do not scatter at all");
    }

    #[test]
    fn of_two_nobody_can_say_which_is_usual() {
        assert_eq!(of(&[0.5, 0.01]).iter().map(|it| it.1).collect::<Vec<f64>>(), [1.0, 1.0]);
        assert!(of(&[0.5, 0.01, 0.01])[0].1 < 1e-3);
        assert_eq!(of(&[0.5]).len(), 1);
        assert!(of(&[]).is_empty());
    }
}
