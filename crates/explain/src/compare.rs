//! What changed between two recordings, and whether it got faster.

use std::collections::BTreeMap;

use plimsoll_stats::Sample;
use plimsoll_trace::{Layer, Op};

use crate::analysis::Analysis;
use crate::findings::{Finding, findings};
use crate::totals::{Direction, Totals};
use plimsoll_report::words::{bytes, short, time};

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

/// How fast programs read, or write, before and after, in bytes per second: see
/// [`crate::Headline`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BandwidthChange {
    /// Reads or writes.
    pub direction: Direction,
    /// The layer that moved most bytes before.
    pub layer_before: Layer,
    /// And after.
    pub layer_after: Layer,
    /// Perceived bandwidth; of writes until they are durable.
    pub perceived: Option<Change>,
    /// The same without the calls that make writes durable.
    pub data_only: Option<Change>,
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
    /// Returns its name in reports.
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
    /// The verdict in a sentence, with its limits.
    pub statement: String,
    /// Operations of either, by the larger time, most first.
    pub ops: Vec<OpChange>,
    /// Bandwidths of the directions that both have.
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
        statement: other_work(before, after) + &statement(verdict, wall_seconds, io_seconds),
        durations: durations(before, after, &ops),
        ops,
        bandwidths: bandwidth_changes(before, after),
        findings_gone,
        findings_new,
        findings_kept,
    }
}

fn verdict(wall: Change) -> Verdict {
    match wall {
        Change { before, after } if after < before * (1.0 - SAME_WITHIN) => Verdict::Faster,
        Change { before, after } if after > before * (1.0 + SAME_WITHIN) => Verdict::Slower,
        _ => Verdict::Same,
    }
}

fn statement(verdict: Verdict, wall: Change, io: Change) -> String {
    let io = match (io.before > 0.0, io.after > 0.0) {
        (false, false) => "neither makes I/O calls".to_string(),
        (true, false) => "it makes no I/O calls any more".to_string(),
        (false, true) => "it makes I/O calls now".to_string(),
        (true, true) => {
            format!("its processes spent {} in I/O instead of {}", time(io.after), time(io.before))
        }
    };
    format!(
        "The second run is {}: {} instead of {} ({}); {io}. One run each gives no interval: repeat \
         both before relying on a small difference.",
        verdict.name(),
        time(wall.after),
        time(wall.before),
        times(wall),
    )
}

/// Returns a sentence about runs that did not move the same data, so that their times say little about each other.
fn other_work(before: &Analysis, after: &Analysis) -> String {
    let differs = |direction: Direction| {
        let (old, new) = (before.own.bytes(direction), after.own.bytes(direction));
        let is_other = old.abs_diff(new) as f64 > SAME_WITHIN * old.max(new) as f64;
        is_other.then(|| {
            let done = if direction == Direction::Read { "read" } else { "wrote" };
            format!("{done} {} instead of {}", bytes(new), bytes(old))
        })
    };
    let others: Vec<String> =
        [Direction::Read, Direction::Write].into_iter().filter_map(differs).collect();
    match others.as_slice() {
        [] => String::new(),
        others => {
            format!("The runs did not do the same work: the second {}. ", others.join(" and "))
        }
    }
}

/// "2 times as fast", "1.5 times as slow".
fn times(change: Change) -> String {
    match change.speedup() {
        Some(speedup) if speedup >= 1.0 => format!("{} times as fast", short(speedup)),
        Some(speedup) if speedup > 0.0 => format!("{} times as slow", short(1.0 / speedup)),
        _ => "no ratio".to_string(),
    }
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
    let both = before.headlines.iter().zip(&after.headlines).filter_map(|(first, second)| {
        Some(BandwidthChange {
            direction: first.direction,
            layer_before: first.layer?,
            layer_after: second.layer?,
            perceived: change(first.perceived(), second.perceived()),
            data_only: change(first.data_only(), second.data_only()),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn stated(wall: (f64, f64), io: (f64, f64)) -> String {
        let change = |(before, after)| Change { before, after };
        statement(verdict(change(wall)), change(wall), change(io))
    }

    #[test]
    fn a_twentieth_more_or_less_is_about_the_same() {
        let of = |after| verdict(Change { before: 100.0, after });
        assert_eq!((of(95.0), of(105.0)), (Verdict::Same, Verdict::Same));
        assert_eq!((of(94.9), of(105.1)), (Verdict::Faster, Verdict::Slower));
    }

    #[test]
    fn there_is_no_ratio_to_nothing() {
        let change = Change { before: 0.0, after: 2.0 };
        assert_eq!((change.ratio(), change.speedup()), (None, Some(0.0)));
        let change = Change { before: 2.0, after: 0.0 };
        assert_eq!((change.ratio(), change.speedup()), (Some(0.0), None));
    }

    #[test]
    fn statements_read_well_at_the_edges() {
        for (wall, io, begin) in [
            (
                (4.0, 2.0),
                (1.0, 0.25),
                "The second run is faster: 2 s instead of 4 s (2 times as fast); its processes \
                 spent 250 ms in I/O instead of 1 s.",
            ),
            (
                (2.0, 3.0),
                (0.001, 1.0),
                "The second run is slower: 3 s instead of 2 s (1.5 times as slow); its processes \
                 spent 1 s in I/O instead of 1 ms.",
            ),
            (
                (2.0, 2.0),
                (0.0, 0.0),
                "The second run is about the same: 2 s instead of 2 s (1 times as fast); neither \
                 makes I/O calls.",
            ),
            (
                (0.0, 0.0),
                (1.0, 0.0),
                "The second run is about the same: 0 s instead of 0 s (no ratio); it \
                 makes no I/O calls any more.",
            ),
            (
                (0.0, 2.0),
                (0.0, 1.0),
                "The second run is slower: 2 s instead of 0 s (no ratio); it makes I/O calls now.",
            ),
        ] {
            let text = stated(wall, io);
            assert!(text.starts_with(begin), "{text}");
        }
    }
}
