//! Does a component scatter more than those beside it?
//!
//! By differences of neighbours in time, so that neither its level nor a slow change of it counts.

use plimsoll_stats::dependence::LagOne;

use super::component::Component;
use super::exchange::Scores;
use super::{Chronology, median_of};

/// Scatter so many times that of the typical other, at least.
const MORE: f64 = 2.5;

/// Components that scatter by so many times the usual are still like the others: the test is whether one scatters by
/// more than that.
const TOLERATED: f64 = 1.3;

/// Less scatter than this does not matter to anybody.
const LEAST: f64 = 0.05;

/// Differences beyond so many times the usual one count for no more.
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
