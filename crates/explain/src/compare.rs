//! What changed between two recordings, and whether it got faster.

use std::collections::BTreeMap;

use plimsoll_stats::Sample;
use plimsoll_trace::{Layer, Op};

use crate::analysis::Analysis;
use crate::findings::{Finding, findings};
use crate::totals::{Direction, Totals};

/// Run times within this of each other are about the same: runs of one program differ by as much.
pub const SAME_WITHIN: f64 = 0.05;

/// Fewer calls in a sample of durations are not compared.
const DURATIONS_MIN: usize = 20;

/// The bootstrap's seed: equal recordings give equal comparisons.
const SEED: u64 = 1;

/// A value before and after.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// In the first recording.
    pub before: f64,
    /// In the second.
    pub after: f64,
}

impl Change {
    /// After over before; `None` when there was nothing before.
    pub fn ratio(&self) -> Option<f64> {
        (self.before > 0.0).then(|| self.after / self.before)
    }

    /// Before over after, which for times says how many times as fast it is now.
    pub fn speedup(&self) -> Option<f64> {
        (self.after > 0.0).then(|| self.before / self.after)
    }
}

/// Calls of one operation before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpChange {
    /// The operation.
    pub op: Op,
    /// In the first recording; zeros if it did not occur.
    pub before: Totals,
    /// In the second.
    pub after: Totals,
}

/// A bandwidth before and after, in bytes per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BandwidthChange {
    /// The layer.
    pub layer: Layer,
    /// Reads or writes; both with `None`.
    pub direction: Option<Direction>,
    /// Perceived bandwidth.
    pub perceived: Option<Change>,
    /// Effective bandwidth.
    pub effective: Option<Change>,
}

/// Whether it got faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The second run took less time.
    Faster,
    /// It took more.
    Slower,
    /// They differ by less than [`SAME_WITHIN`].
    Same,
}

impl Verdict {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Same => "about the same",
        }
    }
}

/// Durations of one operation in both recordings.
#[derive(Debug, Clone, PartialEq)]
pub struct DurationChange {
    /// The operation: the one with most time among those that occur in both.
    pub op: Op,
    /// A robust comparison of samples of its durations in seconds.
    pub comparison: plimsoll_stats::Comparison,
}

/// What changed from one recording to another.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// Wall time of the recordings in seconds.
    pub wall_seconds: Change,
    /// I/O time in seconds: calls of the programs themselves, summed over processes.
    pub io_seconds: Change,
    /// Whether the wall time became shorter.
    pub verdict: Verdict,
    /// The verdict in a sentence, with what it is worth.
    pub statement: String,
    /// Operations of either, by the larger time, most first.
    pub ops: Vec<OpChange>,
    /// Bandwidths that both have.
    pub bandwidths: Vec<BandwidthChange>,
    /// Findings of the first that the second does not have.
    pub findings_gone: Vec<Finding>,
    /// Findings of the second that the first did not have.
    pub findings_new: Vec<Finding>,
    /// Findings of both, as they are in the first and in the second.
    pub findings_kept: Vec<(Finding, Finding)>,
    /// Durations of the main operation, where both have enough calls.
    pub durations: Option<DurationChange>,
}

/// Says what changed from `before` to `after`.
pub fn compare(before: &Analysis, after: &Analysis) -> Comparison {
    let wall_seconds = Change { before: before.span_seconds, after: after.span_seconds };
    let io_seconds =
        Change { before: before.own.total_seconds(), after: after.own.total_seconds() };
    let verdict = verdict(wall_seconds);
    let (findings_gone, findings_new, findings_kept) =
        match_findings(findings(before), findings(after));
    let ops = op_changes(before, after);
    Comparison {
        wall_seconds,
        io_seconds,
        verdict,
        statement: statement(verdict, wall_seconds, io_seconds),
        durations: durations(before, after, &ops),
        ops,
        bandwidths: bandwidth_changes(before, after),
        findings_gone,
        findings_new,
        findings_kept,
    }
}

fn verdict(wall: Change) -> Verdict {
    match wall.ratio() {
        Some(ratio) if ratio < 1.0 - SAME_WITHIN => Verdict::Faster,
        Some(ratio) if ratio > 1.0 + SAME_WITHIN => Verdict::Slower,
        _ => Verdict::Same,
    }
}

fn statement(verdict: Verdict, wall: Change, io: Change) -> String {
    let times = |change: Change| {
        change.speedup().map_or("-".to_string(), |speedup| format!("{speedup:.2} times as fast"))
    };
    format!(
        "The second run is {}: {:.3} s instead of {:.3} s ({}); its I/O calls are {}. One run each \
         gives no interval: repeat both before relying on a small difference.",
        verdict.name(),
        wall.after,
        wall.before,
        times(wall),
        times(io)
    )
}

type Matched = (Vec<Finding>, Vec<Finding>, Vec<(Finding, Finding)>);

fn match_findings(before: Vec<Finding>, after: Vec<Finding>) -> Matched {
    let mut new: BTreeMap<&'static str, Finding> =
        after.iter().map(|finding| (finding.id, finding.clone())).collect();
    let (mut gone, mut kept) = (Vec::new(), Vec::new());
    for finding in before {
        match new.remove(finding.id) {
            Some(now) => kept.push((finding, now)),
            None => gone.push(finding),
        }
    }
    let new = after.into_iter().filter(|finding| new.contains_key(finding.id)).collect();
    (gone, new, kept)
}

fn op_changes(before: &Analysis, after: &Analysis) -> Vec<OpChange> {
    let mut changes: BTreeMap<Op, OpChange> = BTreeMap::new();
    let empty = |op| OpChange { op, before: Totals::default(), after: Totals::default() };
    for entry in before.totals.iter() {
        changes.entry(entry.op).or_insert_with(|| empty(entry.op)).before = entry.totals;
    }
    for entry in after.totals.iter() {
        changes.entry(entry.op).or_insert_with(|| empty(entry.op)).after = entry.totals;
    }
    let mut changes: Vec<OpChange> = changes.into_values().collect();
    changes.sort_by_key(|c| (std::cmp::Reverse(c.before.nanos.max(c.after.nanos)), c.op));
    changes
}

fn bandwidth_changes(before: &Analysis, after: &Analysis) -> Vec<BandwidthChange> {
    let change =
        |before: Option<f64>, after: Option<f64>| Some(Change { before: before?, after: after? });
    let both = before.bandwidths.iter().filter_map(|first| {
        let second = after.bandwidth(first.layer, first.direction)?;
        Some(BandwidthChange {
            layer: first.layer,
            direction: first.direction,
            perceived: change(first.perceived(), second.perceived()),
            effective: change(first.effective(), second.effective()),
        })
    });
    both.collect()
}

/// Compares the operation with most time among those that both have often enough.
fn durations(before: &Analysis, after: &Analysis, ops: &[OpChange]) -> Option<DurationChange> {
    let sample = |analysis: &Analysis, op: Op| {
        let found = analysis.durations.iter().find(|sample| sample.op == op)?;
        let seconds = found.seconds.clone();
        (seconds.len() >= DURATIONS_MIN).then(|| Sample::new(seconds).ok())?
    };
    ops.iter().find_map(|change| {
        let (a, b) = (sample(before, change.op)?, sample(after, change.op)?);
        let comparison = plimsoll_stats::compare(&a, &b, SEED);
        Some(DurationChange { op: change.op, comparison })
    })
}
