//! How many jobs share targets, beside Wright's D_load.

use plimsoll_report::{Record, words};
use plimsoll_utilization::{OfTarget, Sharing};

use super::{
    ACTIVE_JOBS, EXPECTED_LOAD, IN_USE, JOBS, JOBS_MOST, LOAD, TARGETS, TARGETS_PER_JOB, TIME,
};

/// Targets of a file system that are shown, those with most jobs first.
const TARGETS_SHOWN: usize = 10;

/// Adds what job statistics say, if there are any.
pub fn add(record: Record, sharing: &[Sharing], targets_shown: usize) -> Record {
    if sharing.is_empty() {
        return record;
    }
    let title = "jobs that share targets; D_load is what chance gives";
    let record = record.rows("sharing", title, sharing.iter().map(file_system).collect());
    let shown = targets_shown.max(TARGETS_SHOWN);
    let targets = sharing.iter().flat_map(|it| targets(it, shown)).collect();
    let record = record.rows("shared_targets", "targets with most jobs", targets);
    let left_out: u64 = sharing.iter().map(|it| it.left_out).sum();
    if left_out == 0 {
        return record;
    }
    let left_out = words::count(left_out, "job of a target");
    record.note(format!(
        "too many jobs for a day: {left_out} or more are not in the sharing of targets"
    ))
}

fn file_system(sharing: &Sharing) -> Record {
    let minutes = sharing.minutes as f64;
    let in_use = (sharing.minutes > 0).then(|| sharing.in_use as f64 / minutes);
    Record::new()
        .text("name", "name", &sharing.file_system)
        .number(&TARGETS, sharing.targets as u64)
        .number(&TIME, 60.0 * minutes)
        .number(&JOBS, sharing.jobs as u64)
        .number(&ACTIVE_JOBS, sharing.jobs_at_a_time())
        .number(&TARGETS_PER_JOB, sharing.targets_per_job())
        .number(&IN_USE, in_use)
        .number(&LOAD, sharing.load())
        .number(&EXPECTED_LOAD, sharing.expected_load())
}

fn targets(sharing: &Sharing, shown: usize) -> Vec<Record> {
    let load = |of: &OfTarget| of.jobs as f64 / of.minutes.max(1) as f64;
    let mut all: Vec<(&String, &OfTarget)> =
        sharing.of_targets.iter().filter(|it| it.1.minutes > 0).collect();
    all.sort_by(|one, other| load(other.1).total_cmp(&load(one.1)).then(one.0.cmp(other.0)));
    let row = |(name, of): (&String, &OfTarget)| {
        Record::new()
            .text("name", "name", name)
            .number(&TIME, 60.0 * of.minutes as f64)
            .number(&LOAD, load(of))
            .number(&JOBS_MOST, of.most)
            .number(&EXPECTED_LOAD, sharing.expected_load())
    };
    all.into_iter().take(shown).map(row).collect()
}
