//! Verdicts in the making: one test after the other, each on what is not named yet.

use std::collections::HashMap;

use plimsoll_stats::dependence::autoregressive_time;
use plimsoll_stats::sample::quantile_sorted;
use plimsoll_stats::{Sample, series_median_interval};

use super::component::{Component, median_without};
use super::settings::Common;
use super::{FLOOR, Kind, LEAST_MEASURES, PValues, Test, Verdict, holm};
use super::{dependence, exchange, settings, signs, spread, stretch};
use crate::distribution::CONFIDENCE;

/// What the single tests may err by, each over all components of a side (Holm), as shares of the error. The first two
/// err far less than they may, as noise that all components have turns fewer than half of the measures low.
const OF_SIGNS: f64 = 0.5;
const OF_STRETCHES: f64 = 0.5;
const OF_EXCHANGE: f64 = 0.5;
const OF_SPREAD: f64 = 0.25;

/// Low in this share of the measures, and in each third of the time, is low throughout.
const THROUGHOUT: f64 = 0.75;

/// Comparisons, numbered in order of time.
pub(super) struct Chronology {
    of: HashMap<u32, u32>,
    pub(super) count: usize,
}

impl Chronology {
    pub(super) fn new(components: &[Component]) -> Self {
        let measures = components.iter().flat_map(|it| &it.measures);
        let mut sets: Vec<(u64, u32)> = measures.map(|it| (it.start, it.set)).collect();
        sets.sort_unstable();
        let mut of = HashMap::new();
        for (_, set) in sets {
            let next = of.len() as u32;
            of.entry(set).or_insert(next);
        }
        Chronology { count: of.len(), of }
    }

    pub(super) fn of(&self, set: u32) -> u32 {
        self.of.get(&set).copied().unwrap_or(0)
    }
}

/// The shares of low measures of all components that have measures, put in order once: for each component of
/// thousands, the others are nearly the same.
struct LowShares {
    sorted: Vec<f64>,
}

impl LowShares {
    fn new(components: &[Component], limit: f64) -> Self {
        let measured = components.iter().filter(|it| !it.measures.is_empty());
        let mut sorted: Vec<f64> = measured.map(|it| it.low_share(limit)).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        LowShares { sorted }
    }

    /// Returns the median over the components but this one; nothing without others.
    fn median_of_others(&self, component: &Component, limit: f64) -> Option<f64> {
        if component.measures.is_empty() {
            return quantile_sorted(&self.sorted, 0.5);
        }
        let own = component.low_share(limit);
        let place = self.sorted.partition_point(|it| it.total_cmp(&own).is_lt());
        (self.sorted.len() > 1).then(|| median_without(&self.sorted, place))
    }
}

/// Verdicts in the making.
pub(super) struct Judging<'a> {
    components: &'a [Component],
    limit: f64,
    error: f64,
    chronology: Chronology,
    pub(super) verdicts: Vec<Verdict>,
}

impl<'a> Judging<'a> {
    pub(super) fn new(components: &'a [Component], test: &Test) -> Self {
        let limit = test.limit();
        // Measures far under the limit are low whatever they repeat, and those above the others are not.
        let clipped = |it: &Component| {
            it.logs().iter().map(|log| log.clamp(2.0 * limit, 0.0)).collect::<Vec<f64>>()
        };
        let clipped: Vec<Vec<f64>> = components.iter().map(clipped).collect();
        let correlations = dependence::correlations(&clipped, limit.abs() * FLOOR);
        let chronology = Chronology::new(components);
        let error = test.error;
        let mut judging = Judging { components, limit, error, chronology, verdicts: Vec::new() };
        let shares = LowShares::new(components, limit);
        let described = |(number, correlation): (usize, &f64)| {
            judging.described(number, autoregressive_time(*correlation), &shares)
        };
        judging.verdicts = correlations.iter().enumerate().map(described).collect();
        judging
    }

    /// What is known of a component before any test.
    fn described(&self, number: usize, time: f64, shares: &LowShares) -> Verdict {
        let component = &self.components[number];
        let measures = &component.measures;
        let ratios: Vec<f64> = measures.iter().map(|it| it.log_ratio.exp()).collect();
        let interval = series_median_interval(&ratios, CONFIDENCE).ok();
        let sample = Sample::new(ratios).ok();
        let ends = measures.first().zip(measures.last());
        Verdict {
            kind: None,
            needed: LEAST_MEASURES,
            n: measures.len(),
            effective_n: measures.len() as f64 / time,
            median: sample.as_ref().map(Sample::median),
            interval: interval.map(|it| (it.low, it.high)),
            low: component.low(self.limit),
            usual_low: shares.median_of_others(component, self.limit),
            lowest: sample.as_ref().map(Sample::min),
            p: PValues::default(),
            stretch: None,
            settings: None,
            spread: None,
            span: ends.map_or(0.0, |(a, b)| b.start.saturating_sub(a.start) as f64 / 1e9),
            others: component.others,
            inseparable: component.inseparable,
        }
    }

    /// Components that are not named yet and have enough measures.
    fn open(&self) -> Vec<usize> {
        let is_open = |it: &usize| {
            let verdict = &self.verdicts[*it];
            verdict.kind.is_none() && verdict.n >= LEAST_MEASURES
        };
        (0..self.components.len()).filter(is_open).collect()
    }

    fn of(&self, numbers: &[usize]) -> Vec<&'a Component> {
        numbers.iter().map(|it| &self.components[*it]).collect()
    }

    pub(super) fn find_persistent(&mut self) {
        let open = self.open();
        let p_value = |it: &usize| signs::p_value(&self.verdicts[*it]);
        let p_values: Vec<f64> = open.iter().map(p_value).collect();
        for (number, p_value) in open.iter().zip(holm(&p_values)) {
            self.verdicts[*number].p.persistent = Some(p_value);
            let throughout = self.components[*number].is_low_throughout(self.limit);
            if p_value <= OF_SIGNS * self.error && throughout {
                self.verdicts[*number].kind = Some(Kind::Persistent);
            }
        }
    }

    pub(super) fn find_stretches(&mut self) {
        let open = self.open();
        let found = stretch::stretches(&self.of(&open), self.limit);
        let p_values: Vec<f64> =
            found.iter().map(|it| it.as_ref().map_or(1.0, |(_, p_value)| *p_value)).collect();
        for ((number, found), p_value) in open.iter().zip(found).zip(holm(&p_values)) {
            let verdict = &mut self.verdicts[*number];
            verdict.p.drifting = found.as_ref().map(|_| p_value);
            let Some((candidate, _)) = found.filter(|_| p_value <= OF_STRETCHES * self.error)
            else {
                continue;
            };
            let stretch = candidate.stretch;
            verdict.kind = Some(match (stretch.first, stretch.until) {
                (_, None) => Kind::Drifting,
                (0, Some(_)) => Kind::Recovered,
                _ => Kind::Transient,
            });
            verdict.stretch = Some(stretch);
        }
    }

    pub(super) fn find_low_more_than_others(&mut self) {
        let open = self.open();
        let found = signs::low_more_than_others(&self.of(&open), &self.chronology, self.limit);
        let p_values: Vec<f64> = found.iter().map(|it| it.p_value).collect();
        for ((number, found), p_value) in open.iter().zip(&found).zip(holm(&p_values)) {
            let component = &self.components[*number];
            let verdict = &mut self.verdicts[*number];
            verdict.p.transient = Some(p_value);
            if p_value > OF_EXCHANGE * self.error {
                // Low measures that repeat each other so much cannot be told from noise.
                if found.is_untestable {
                    verdict.needed = verdict.needed.max(found.block * exchange::LEAST_BLOCKS);
                }
                continue;
            }
            let throughout = component.low_share(self.limit) >= THROUGHOUT
                && component.is_low_throughout(self.limit);
            verdict.kind = Some(if throughout { Kind::Persistent } else { Kind::Transient });
        }
    }

    pub(super) fn find_noisier(&mut self) {
        let open = self.open();
        let found = spread::spreads(&self.of(&open), &self.chronology);
        let p_values: Vec<f64> = found.iter().map(|(_, p_value)| *p_value).collect();
        for ((number, (spread, _)), p_value) in open.iter().zip(found).zip(holm(&p_values)) {
            let verdict = &mut self.verdicts[*number];
            verdict.p.noisier = Some(p_value);
            if p_value <= OF_SPREAD * self.error {
                verdict.kind = Some(Kind::Noisier);
                verdict.spread = Some(spread);
            }
        }
    }

    /// Those that are named for being low, if settings tell better when they are.
    pub(super) fn explain_by_settings(&mut self, common: &[Common]) {
        for (verdict, component) in self.verdicts.iter_mut().zip(self.components) {
            if verdict.kind.is_some_and(|it| it > Kind::Noisier) {
                verdict.settings = settings::explained(component, common, self.limit);
            }
            if verdict.settings.is_some() {
                verdict.kind = Some(Kind::SomeSettings);
                verdict.stretch = None;
            }
        }
    }
}

#[cfg(test)]
mod tests;
