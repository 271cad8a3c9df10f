//! Who is a straggler, and of which kind, by tests with a stated error.
//!
//! Each measure of a component is compared with the median of the *other* components of the same
//! instance, so that the state of the whole system cancels and one very slow component does not
//! make others look fast or slow. docs/straggler-verdicts.md has the reasoning, the assumptions, the measured
//! error and the power.
//!
//! | question | module | null hypothesis |
//! |---|---|---|
//! | Is it low throughout? | `signs` | its median is not under the limit |
//! | Is it low since, or until, some moment? | `stretch` | its low measures fall anywhere in time |
//! | Is it low more than others? | `exchange` | components are exchangeable within blocks of time |
//! | Does it scatter more than others? | `spread` | the same |
//! | Is it low in some settings only? | [`settings`] | its low measures fall on any setting |
//! | Are there two groups? Does slowness move? | [`groups`] | |
//!
//! [`Compared`] makes components of benchmark results, [`Comparing`] of values of any other origin, as many as there
//! are, in bounded memory.

mod cells;
mod compared;
mod comparing;
mod component;
mod dependence;
mod effect;
mod exchange;
pub mod groups;
mod judging;
mod known_peaks;
mod partners;
mod sentence;
pub mod settings;
mod side;
mod signs;
mod spread;
mod stretch;

pub use compared::Compared;
pub use comparing::{Comparing, Value};
pub use component::{Component, Measure};
pub use groups::{ByPeaks, Groups, Moving};
pub use known_peaks::by_peaks;
pub(crate) use sentence::span as sentence_span;
pub use sentence::{Wording, group_sentence, moving_sentence, sentence};
pub use settings::{Common, SomeSettings, VALUES_MOST, in_common, not_split};
pub use side::Side;
pub use spread::Spread;
pub use stretch::Stretch;

use crate::distribution::median_of;
use judging::{Chronology, Judging};

/// The probability that any target is named wrongly, and the same for clients, which are fewer reasons for a
/// benchmark. Simulations hold the sum of both or less over all noises that were tried
/// (docs/straggler-verdicts.md).
pub const TARGETS_ERROR: f64 = 0.04;
/// The same for clients.
pub const CLIENTS_ERROR: f64 = 0.01;

/// Measures that a verdict needs: fewer cannot tell how much they repeat each other.
pub const LEAST_MEASURES: usize = 10;

/// Blocks of time whose means are correlated by no more than this pass for independent.
const INDEPENDENT: f64 = 0.1;

/// Scatter of less than this part of the way to the limit turns no measure low.
const FLOOR: f64 = 0.25;

/// What a component is, the more serious the later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Not shown to be anything else.
    Normal,
    /// In one of two groups of which a comparison cannot tell which is right.
    Undecided,
    /// Its measures scatter more than those of others.
    Noisier,
    /// Slow until some moment.
    Recovered,
    /// Slow more often or more deeply than others, but not all the time; or for a while.
    Transient,
    /// Slow in some settings only.
    SomeSettings,
    /// Slow since some moment.
    Drifting,
    /// Slow throughout.
    Persistent,
}

impl Kind {
    /// A word for tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Normal => "normal",
            Kind::Undecided => "one of two groups",
            Kind::Noisier => "noisier than others",
            Kind::Recovered => "recovered straggler",
            Kind::Transient => "transient straggler",
            Kind::SomeSettings => "slow in some settings",
            Kind::Drifting => "drifting straggler",
            Kind::Persistent => "persistent straggler",
        }
    }

    /// All of them, the most serious first.
    pub const ALL: [Kind; 8] = [
        Kind::Persistent,
        Kind::Drifting,
        Kind::SomeSettings,
        Kind::Transient,
        Kind::Recovered,
        Kind::Noisier,
        Kind::Undecided,
        Kind::Normal,
    ];

    /// Whether it is named for something.
    pub fn is_straggler(self) -> bool {
        self > Kind::Undecided
    }

    /// Whether it was slow when the last measures were taken, and will be until it is repaired.
    pub fn is_slow_now(self) -> bool {
        matches!(self, Kind::Persistent | Kind::Drifting)
    }
}

/// What counts as slow, and how often a test may err.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Test {
    /// A measure is low when it is slower than the others by more than this share.
    pub below: f64,
    /// The probability that any component is named wrongly.
    pub error: f64,
}

impl Default for Test {
    fn default() -> Self {
        Test { below: 0.15, error: TARGETS_ERROR }
    }
}

impl Test {
    /// Logarithm of the ratio under which a measure is low.
    fn limit(&self) -> f64 {
        (1.0 - self.below).ln()
    }
}

/// p values of the tests, each corrected for the number of components (Holm); `None` where it was not made.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PValues {
    /// Of "its median is not low".
    pub persistent: Option<f64>,
    /// Of "its low measures fall anywhere in time".
    pub drifting: Option<f64>,
    /// Of "it is low no more than others".
    pub transient: Option<f64>,
    /// Of "it scatters no more than others".
    pub noisier: Option<f64>,
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
    /// Its 95 % interval; `None` below twenty measures.
    pub interval: Option<(f64, f64)>,
    /// Measures that are low.
    pub low: usize,
    /// The share of low measures of the typical other component; `None` without others.
    pub usual_low: Option<f64>,
    /// The lowest ratio.
    pub lowest: Option<f64>,
    /// What the tests say.
    pub p: PValues,
    /// When it was slow, if that is what it is named for.
    pub stretch: Option<Stretch>,
    /// In which settings it is slow, if that is what it is named for.
    pub settings: Option<SomeSettings>,
    /// How much it scatters, if that is what it is named for.
    pub spread: Option<Spread>,
    /// Seconds from the first measure to the last.
    pub span: f64,
    /// The fewest others it was compared with.
    pub others: usize,
    /// The counterpart that it cannot be told apart from.
    pub inseparable: Option<u32>,
}

impl Verdict {
    /// Median of the ratio to the others where it is slow: in the stretch or the settings that it is named for, else
    /// throughout.
    pub fn slow_ratio(&self) -> Option<f64> {
        let in_settings = self.settings.as_ref().map(|it| it.inside);
        in_settings.or(self.stretch.map(|it| it.inside)).or(self.median)
    }
}

/// Verdicts on all components of one side, by number, and what is said of all together.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdicts {
    /// By number of the component.
    pub verdicts: Vec<Verdict>,
    /// What counted as slow.
    pub test: Test,
    /// Two groups that differ throughout, if there are.
    pub groups: Option<Groups>,
    /// Slowness that visits one component after the other, if it does.
    pub moving: Option<Moving>,
}

/// Tests all components of one side against each other. `common` are ways to split settings; without any, no component is
/// found slow in some settings only.
pub fn verdicts(components: &[Component], common: &[Common], test: &Test) -> Verdicts {
    let limit = test.limit();
    let mut judging = Judging::new(components, test);
    judging.find_persistent();
    judging.find_stretches();
    judging.find_low_more_than_others();
    judging.find_noisier();
    judging.explain_by_settings(common);
    let enough = |it: &Verdict| it.n >= LEAST_MEASURES;
    for verdict in judging.verdicts.iter_mut().filter(|it| enough(it) && it.needed <= it.n) {
        verdict.kind.get_or_insert(Kind::Normal);
    }
    let groups = groups::two_groups(components, &mut judging.verdicts, test);
    let moving = groups::moving(components, &judging.verdicts, limit);
    Verdicts { verdicts: judging.verdicts, test: *test, groups, moving }
}

/// Which components are low throughout.
fn low_throughout(components: &[Component], test: &Test) -> Vec<bool> {
    let mut judging = Judging::new(components, test);
    judging.find_persistent();
    judging.find_low_more_than_others();
    judging.verdicts.iter().map(|it| it.kind == Some(Kind::Persistent)).collect()
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
    fn kinds_are_told_apart_and_the_most_serious_come_first() {
        assert!(Kind::ALL.is_sorted_by(|a, b| a > b));
        let names: std::collections::BTreeSet<&str> = Kind::ALL.map(Kind::name).into();
        assert_eq!(names.len(), Kind::ALL.len());
        assert_eq!(
            [Kind::Normal, Kind::Undecided, Kind::Persistent].map(Kind::name),
            ["normal", "one of two groups", "persistent straggler"]
        );
        let mut named = Kind::ALL.into_iter().filter(|it| it.is_straggler());
        assert_eq!(named.next_back(), Some(Kind::Noisier), "neither undecided nor normal");
        let slow_now: Vec<Kind> = Kind::ALL.into_iter().filter(|it| it.is_slow_now()).collect();
        assert_eq!(slow_now, [Kind::Persistent, Kind::Drifting]);
    }

    #[test]
    fn holm_corrects_step_by_step() {
        assert_eq!(holm(&[0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02]);
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }
}
