//! What to change, worst first.
//!
//! Every cost is an estimate of the run time that the change would save: the time that all
//! processes spent on the fault, over the number of processes that took part in it (see
//! [`sharers`]), since they run side by side. Each function says how its part is found. Two
//! findings may cost the same time, when either change would save it. A finding is given only
//! when its cost matters (see [`COST_SHARE_OF_RUN`]), so that a program without faults gets none.

mod collective;
mod conclusion;
mod metadata;
mod mpi;
mod placement;
mod requests;
mod sharing;
mod stdio;

use plimsoll_report::html::Severity;
use plimsoll_trace::Op;

use crate::analysis::Analysis;

pub use conclusion::{SMALL_SHARE, conclusion};

/// A finding costs at least this part of the run time, …: less than twenty findings of this size
/// fit into a run, and less than a run varies between repetitions anyway.
pub const COST_SHARE_OF_RUN: f64 = 0.05;
/// … or at least this part of the mean I/O time of a process: a program that mostly computes
/// may also have I/O that is worth improving.
pub const COST_SHARE_OF_IO: f64 = 0.10;
/// … and at least this many seconds: shorter times are noise of starting and scheduling.
pub const COST_SECONDS_MIN: f64 = 0.05;

/// Costs from this part of the run time are of medium severity.
pub const MEDIUM_SHARE: f64 = 0.10;
/// Costs from this part of the run time are of high severity.
pub const HIGH_SHARE: f64 = 0.25;

/// Returns how much a finding matters that costs this part of the run time.
fn severity(share_of_run: f64) -> Severity {
    match share_of_run {
        share if share >= HIGH_SHARE => Severity::High,
        share if share >= MEDIUM_SHARE => Severity::Medium,
        _ => Severity::Low,
    }
}

/// Something that costs time and can be changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Its name for programs.
    pub id: &'static str,
    /// By the share of run time that it costs.
    pub severity: Severity,
    /// Its name for people.
    pub title: &'static str,
    /// Estimated run time that the change would save.
    pub cost_seconds: f64,
    /// Sentences with the numbers that it rests on.
    pub evidence: Vec<String>,
    /// The exact change; alternatives when there are several.
    pub advice: Vec<String>,
}

/// A kind of finding, and what looks for it.
pub struct FindingKind {
    /// Its name for programs.
    pub id: &'static str,
    /// Its name for people.
    pub title: &'static str,
    look_for: fn(&Analysis) -> Option<Candidate>,
}

const fn kind(
    id: &'static str,
    title: &'static str,
    look_for: fn(&Analysis) -> Option<Candidate>,
) -> FindingKind {
    FindingKind { id, title, look_for }
}

/// Every kind of finding that there is.
pub const FINDINGS: &[FindingKind] = &[
    kind(
        "data-sieving",
        "MPI writes read, lock and write back whole blocks (data sieving)",
        mpi::data_sieving,
    ),
    kind(
        "no-collective-buffering",
        "many small independent MPI writes to a shared file",
        mpi::no_collective_buffering,
    ),
    kind(
        "small-collective-requests",
        "many collective MPI calls that each move little",
        collective::small_collective_requests,
    ),
    kind(
        "waiting-in-mpi-io",
        "ranks exchange data or wait for each other inside MPI-IO",
        collective::waiting_in_mpi_io,
    ),
    kind("stdio-flood", "very many small calls of the C library's streams", stdio::stdio_flood),
    kind(
        "small-requests",
        "many small requests that could be few large ones",
        requests::small_requests,
    ),
    kind(
        "unaligned-requests",
        "requests that do not begin and end on page boundaries",
        requests::unaligned_requests,
    ),
    kind(
        "serialized-shared-writes",
        "writes to a shared file wait for each other",
        sharing::serialized_shared_writes,
    ),
    kind("lock-contention", "processes wait for locks", sharing::lock_contention),
    kind(
        "straggling-ranks",
        "few ranks spend far more time on I/O than the others",
        sharing::straggling_ranks,
    ),
    kind(
        "metadata-storm",
        "much time goes into opening, closing and looking up files",
        metadata::metadata_storm,
    ),
    kind(
        "forced-writes",
        "every write waits until it is on storage (O_SYNC, O_DSYNC)",
        requests::forced_writes,
    ),
    kind("fsync-storm", "data is forced to storage again and again", metadata::fsync_storm),
    kind("rereads", "the same bytes are read again and again", requests::rereads),
    kind("rewrites", "the same bytes are written again and again", requests::rewrites),
    kind("random-access", "requests in random order", requests::random_access),
    kind("single-writer", "one rank writes for all the others", sharing::single_writer),
    kind("one-target", "one target takes what is written while others wait", placement::one_target),
];

/// What to change, worst first. A program without faults gets none.
pub fn findings(analysis: &Analysis) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        FINDINGS.iter().filter_map(|kind| kind.find(analysis)).collect();
    findings.sort_by(|a, b| b.cost_seconds.total_cmp(&a.cost_seconds).then(a.id.cmp(b.id)));
    findings
}

/// Returns what would be the worst finding if its cost were not shorter than
/// [`COST_SECONDS_MIN`]: what a longer run of the same kind may be told.
fn too_short_to_tell(analysis: &Analysis) -> Option<(&'static str, f64)> {
    let candidates = FINDINGS.iter().filter_map(|kind| {
        let cost_seconds = (kind.look_for)(analysis)?.cost_seconds;
        let is_short = cost_seconds > 0.0 && cost_seconds < COST_SECONDS_MIN;
        (is_short && is_large(analysis, cost_seconds)).then_some((kind.id, cost_seconds))
    });
    candidates.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// True for costs above the thresholds.
fn matters(analysis: &Analysis, cost_seconds: f64) -> bool {
    cost_seconds >= COST_SECONDS_MIN && is_large(analysis, cost_seconds)
}

/// True for costs that are a large enough part of the run or of its I/O.
fn is_large(analysis: &Analysis, cost_seconds: f64) -> bool {
    let io_seconds = analysis.io_share.busy_seconds / analysis.io_share.processes.max(1) as f64;
    cost_seconds >= COST_SHARE_OF_RUN * analysis.span_seconds
        || cost_seconds >= COST_SHARE_OF_IO * io_seconds
}

/// A possible finding: it is not yet known whether its cost matters.
struct Candidate {
    cost_seconds: f64,
    evidence: Vec<String>,
    advice: Vec<String>,
}

impl FindingKind {
    /// Returns the finding of this kind, if there is one that matters.
    fn find(&self, analysis: &Analysis) -> Option<Finding> {
        let Candidate { cost_seconds, evidence, advice } = (self.look_for)(analysis)?;
        let share_of_run = cost_seconds / analysis.span_seconds.max(f64::MIN_POSITIVE);
        matters(analysis, cost_seconds).then(|| Finding {
            id: self.id,
            severity: severity(share_of_run),
            title: self.title,
            cost_seconds,
            evidence,
            advice,
        })
    }
}

/// Returns how many processes share a time, at least 1: what a sum over processes is divided by to
/// get the time of one. As many as there are when all have equal parts, and fewer the more uneven
/// the parts are, so that processes with next to none of it, such as a launcher's helpers, do not
/// make it look small: the square of the sum over the sum of squares.
fn sharers(times: impl Iterator<Item = f64>) -> f64 {
    let (sum, squares) = times.fold((0.0, 0.0), |(sum, squares), t| (sum + t, squares + t * t));
    // Where nobody has any, the quotient is no number, and 1 is the larger.
    (sum * sum / squares).max(1.0)
}

/// Returns how many processes share the time of calls that pass.
fn sharers_of(analysis: &Analysis, passes: impl Fn(Op) -> bool + Copy) -> f64 {
    sharers(analysis.processes.iter().map(|process| process.ops.sum(passes).seconds()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn severity_goes_by_the_share_of_the_run() {
        let of = [0.0, 0.0999, 0.1, 0.2499, 0.25, 1.0].map(|share| severity(share).name());
        assert_eq!(of, ["low", "low", "medium", "medium", "high", "high"]);
    }

    #[test]
    fn helpers_do_not_dilute() {
        assert_eq!(sharers([2.0; 8].into_iter()), 8.0);
        assert_eq!(sharers([].into_iter()), 1.0);
        assert_eq!(sharers([0.0, 3.0].into_iter()), 1.0);
        let with_helpers = [2.0, 2.0, 1e-3, 1e-4, 0.0];
        assert!((sharers(with_helpers.into_iter()) - 2.0).abs() < 0.01);
    }
}
