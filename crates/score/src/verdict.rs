//! Who is a straggler: normal, transient or persistent, by a test with a stated error.
//!
//! Each measure of a component is compared with the median of the *other* components of the same
//! instance, so that the state of the whole system cancels and one very slow component does not
//! make others look fast or slow. docs/straggler-verdicts.md has the reasoning, the assumptions
//! and the measured power.

mod blame;
mod effect;
mod noise;
mod persistent;
mod ratio;
mod sentence;
mod transient;

pub use effect::Side;
pub use noise::Noise;
pub use ratio::{Compared, Component, Measure};
pub use sentence::sentence;
pub(crate) use sentence::span as sentence_span;

use plimsoll_stats::{Sample, median_interval};

use crate::dependence::{Dependence, above_floor};
use crate::distribution::CONFIDENCE;

/// What a component is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Not shown to be anything else.
    Normal,
    /// Slow more often or more deeply than noise explains, but not all the time.
    Transient,
    /// Slow throughout.
    Persistent,
}

impl Kind {
    /// A word for tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Normal => "normal",
            Kind::Transient => "transient straggler",
            Kind::Persistent => "persistent straggler",
        }
    }
}

/// What counts as slow, and how often the test may err.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Test {
    /// A measure is low when it is slower than the others by more than this share.
    pub below: f64,
    /// Probability that any component is called persistent wrongly.
    pub persistent_error: f64,
    /// Probability that any component is called transient wrongly.
    pub transient_error: f64,
}

impl Default for Test {
    fn default() -> Self {
        Test { below: 0.15, persistent_error: 0.05, transient_error: 0.05 }
    }
}

impl Test {
    /// Logarithm of the ratio under which a measure is low.
    fn limit(&self) -> f64 {
        (1.0 - self.below).ln()
    }

    /// Independent measures without which no outcome could be called persistent among so many.
    pub fn least(&self, components: usize) -> usize {
        let tosses = (components.max(1) as f64 / self.persistent_error).log2().ceil();
        (tosses as usize).max(persistent::PARTS)
    }
}

/// The verdict on one component, with its evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The verdict; `None` if there are not enough measures for any.
    pub kind: Option<Kind>,
    /// Measures that a verdict needs.
    pub needed: usize,
    /// Measures that could be compared.
    pub n: usize,
    /// What they are worth when their autocorrelation is taken into account.
    pub effective_n: f64,
    /// Median of the ratio to the others; `None` without measures.
    pub median: Option<f64>,
    /// Its distribution-free 95 % interval, which takes measures for independent.
    pub interval: Option<(f64, f64)>,
    /// Measures that are low.
    pub low: usize,
    /// The lowest ratio.
    pub lowest: Option<f64>,
    /// Measures that noise alone would make as low as those that decided about transience.
    pub expected: Option<f64>,
    /// p value of "its median is not low", corrected for the number of components (Holm).
    pub p_persistent: Option<f64>,
    /// p value of "noise explains its low measures", corrected likewise.
    pub p_transient: Option<f64>,
    /// Seconds from the first measure to the last.
    pub span: f64,
    /// The fewest others it was compared with.
    pub others: usize,
    /// The counterpart that it cannot be told apart from.
    pub inseparable: Option<u32>,
}

/// Verdicts on all components of one side, by number, and how the measures scatter.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdicts {
    /// By number of the component.
    pub verdicts: Vec<Verdict>,
    /// What the test was.
    pub test: Test,
    /// Autocorrelation of the measures.
    pub dependence: Dependence,
    /// Scatter of the measures that are not low; `None` without enough of them.
    pub noise: Option<Noise>,
}

/// Tests all components of one side against each other.
pub fn verdicts(components: &[Component], test: &Test) -> Verdicts {
    let limit = test.limit();
    let dependence = above_floor(&regime_residuals(components, limit), limit.abs() * FLOOR);
    let noise = Noise::new(components, limit);
    let compared = components.iter().filter(|it| !it.measures.is_empty()).count();
    let least = test.least(compared);
    let mut verdicts: Vec<Verdict> =
        components.iter().map(|it| describe(it, limit, &dependence, least)).collect();
    let enough = |verdict: &Verdict| verdict.effective_n.floor() as usize >= least;
    let tested: Vec<usize> = (0..components.len()).filter(|it| enough(&verdicts[*it])).collect();
    persistent::decide(components, &tested, test, &mut verdicts);
    if let Some(noise) = &noise {
        transient::decide(components, &tested, test, noise, &dependence, &mut verdicts);
    }
    for index in tested {
        verdicts[index].kind.get_or_insert(Kind::Normal);
    }
    Verdicts { verdicts, test: *test, dependence, noise }
}

/// Scatter of less than this part of the way to the limit turns no measure low.
const FLOOR: f64 = 0.25;

/// What is known of a component before any test.
fn describe(component: &Component, limit: f64, dependence: &Dependence, least: usize) -> Verdict {
    let measures = &component.measures;
    let ratios: Vec<f64> = measures.iter().map(|it| it.log_ratio.exp()).collect();
    let sample = Sample::new(ratios).ok();
    let interval = sample.as_ref().and_then(|it| median_interval(it, CONFIDENCE).ok());
    let ends = measures.first().zip(measures.last());
    Verdict {
        kind: None,
        needed: (least as f64 * dependence.time).ceil() as usize,
        n: measures.len(),
        effective_n: dependence.effective(measures.len()),
        median: sample.as_ref().map(Sample::median),
        interval: interval.map(|it| (it.low, it.high)),
        low: measures.iter().filter(|it| it.log_ratio < limit).count(),
        lowest: sample.as_ref().map(Sample::min),
        expected: None,
        p_persistent: None,
        p_transient: None,
        span: ends.map_or(0.0, |(a, b)| b.start.saturating_sub(a.start) as f64 / 1e9),
        others: if measures.is_empty() { 0 } else { component.others },
        inseparable: component.inseparable,
    }
}

/// Measures less the median of their kind, low or not: slowness that comes and goes is what the
/// test looks for, and must not count as autocorrelation of the noise.
fn regime_residuals(components: &[Component], limit: f64) -> Vec<Vec<f64>> {
    let residuals = |component: &Component| {
        let logs: Vec<f64> = component.measures.iter().map(|it| it.log_ratio).collect();
        let centre = |low: bool| {
            let mut kind: Vec<f64> =
                logs.iter().copied().filter(|it| (*it < limit) == low).collect();
            crate::distribution::median_of(&mut kind).unwrap_or(0.0)
        };
        let (low, normal) = (centre(true), centre(false));
        logs.iter().map(|it| it - if *it < limit { low } else { normal }).collect()
    };
    components.iter().map(residuals).collect()
}

/// Holm's step-down correction of p values ("A Simple Sequentially Rejective Multiple Test
/// Procedure", Scandinavian Journal of Statistics 6, 1979).
pub(crate) fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut corrected = vec![0.0; p_values.len()];
    let mut largest = 0.0_f64;
    for (rank, index) in order.iter().enumerate() {
        largest = largest.max(p_values[*index] * (p_values.len() - rank) as f64).min(1.0);
        corrected[*index] = largest;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holm_corrects_step_by_step() {
        assert_eq!(holm(&[0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02]);
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn seven_measures_are_the_least_for_four_targets() {
        let test = Test::default();
        assert_eq!([1, 4, 16, 64, 1008].map(|it| test.least(it)), [5, 7, 9, 11, 15]);
    }
}
