//! Everything at once: from columns to scores, conditions and verdicts.

use std::collections::BTreeMap;

use crate::bandwidth::{Point, points};
use crate::calendar::{Calendar, calendar};
use crate::columns::{InstanceRow, PairRow};
use crate::condition::{ChangedRuns, Run, WarmUp, normalised, runs, warm_ups};
use crate::gain::{Gains, gains};
use crate::relative::{Fastest, Relative, by_component};
use crate::sequence::{Sequences, THRESHOLDS, TargetSeries};
use crate::verdict::{
    CLIENTS_ERROR, Compared, TARGETS_ERROR, Test, Verdicts, by_peaks, in_common, not_split,
    verdicts,
};
use crate::{Columns, Peaks};

/// What can be chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Quantiles under which a measure counts as low.
    pub thresholds: Vec<f64>,
    /// What a straggler is.
    pub test: Test,
    /// Whether runs in which conditions changed count like others.
    pub include_changed: bool,
    /// Seconds east of UTC, for hours and weekdays.
    pub utc_offset: i32,
    /// Seed of permutations.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            thresholds: THRESHOLDS.to_vec(),
            test: Test::default(),
            include_changed: false,
            utc_offset: 0,
            seed: 1,
        }
    }
}

/// Scores of all components, and what is needed to trust them.
#[derive(Debug, Clone)]
pub struct Score {
    /// Bandwidths for each varied value.
    pub points: Vec<Point>,
    /// Scores by number of the target.
    pub targets: BTreeMap<u32, Relative>,
    /// Scores by number of the client.
    pub clients: BTreeMap<u32, Relative>,
    /// Scores by number of the server.
    pub servers: BTreeMap<u32, Relative>,
    /// Scores by numbers of client and target.
    pub pairs: BTreeMap<(u32, u32), Relative>,
    /// Scores of targets with runs of changed conditions counted in, if any were left out.
    pub targets_with_changed: Option<BTreeMap<u32, Relative>>,
    /// The fastest pair of each set of comparable instances.
    pub fastest: Fastest,
    /// What removing stragglers would give.
    pub gains: Vec<Gains>,
    /// How long targets are slow, for each threshold.
    pub sequences: Vec<Sequences>,
    /// By hour and weekday.
    pub calendar: Calendar,
    /// Runs, with the test for changed conditions.
    pub runs: Vec<Run>,
    /// First rounds against the rest.
    pub warm_ups: Vec<WarmUp>,
    /// Verdicts on targets. All runs count: what all have in common cancels.
    pub target_verdicts: Verdicts,
    /// Verdicts on clients.
    pub client_verdicts: Verdicts,
    /// Comparisons whose targets were measured one after the other, not beside each other.
    pub matched: usize,
    /// Parts of settings with too many values to ask whether somebody is slow at some of them only.
    pub not_split: Vec<&'static str>,
    /// The runs in which conditions changed, and whether they count.
    pub changed: ChangedRuns,
}

/// Scores the measures.
///
/// Runs in which conditions changed are left out of bandwidths, relative scores, gains, sequences and the
/// calendar, unless the options say otherwise or no run would remain.
pub fn score(columns: &Columns, peaks: &Peaks, options: &Options) -> Score {
    let normalised = normalised(columns);
    let runs = runs(columns, &normalised, options.seed);
    let changed = ChangedRuns::new(&runs, options.include_changed);
    let included = |it: &InstanceRow| changed.count(it);
    let fastest = Fastest::new(columns, included);
    let with_changed = (changed.left_out() > 0).then(|| {
        let fastest = Fastest::new(columns, |_| true);
        by_component(columns, &fastest, |_| true, |pair| Some(pair.target))
    });
    let series = TargetSeries::new(columns, peaks, included);
    let of = |key: fn(&PairRow) -> Option<u32>| by_component(columns, &fastest, included, key);
    let compared = Compared::new(columns);
    let common = in_common(&columns.settings);
    let judged = |components, error| verdicts(components, &common, &Test { error, ..options.test });
    let mut target_verdicts = judged(&compared.targets, TARGETS_ERROR);
    if let Some(groups) = &mut target_verdicts.groups {
        groups.by_peaks = by_peaks(groups, columns, peaks);
    }
    Score {
        points: points(columns, peaks, included),
        targets: of(|pair| Some(pair.target)),
        clients: of(|pair| Some(pair.client)),
        servers: of(|pair| pair.server),
        pairs: by_component(columns, &fastest, included, |pair| Some((pair.client, pair.target))),
        targets_with_changed: with_changed,
        gains: gains(columns, included),
        sequences: options.thresholds.iter().map(|it| series.sequences(*it)).collect(),
        calendar: calendar(columns, &fastest, options.utc_offset, included),
        warm_ups: warm_ups(columns, &normalised),
        target_verdicts,
        matched: compared.matched,
        not_split: not_split(&columns.settings),
        client_verdicts: judged(&compared.clients, CLIENTS_ERROR),
        runs,
        changed,
        fastest,
    }
}

impl Score {
    /// Median seconds of an instance, over all points; `None` without complete instances.
    pub fn burst_seconds(&self) -> Option<f64> {
        let mut medians: Vec<f64> =
            self.points.iter().filter_map(|it| it.seconds.as_ref()).map(|it| it.median).collect();
        crate::distribution::median_of(&mut medians)
    }
}
