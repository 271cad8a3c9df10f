//! A test bed as a table.

use std::path::PathBuf;

use anyhow::Result;
use plimsoll_domain::{Bytes, BytesPerSec, Limit, OpsPerSec};
use plimsoll_guarded::acting_user;
use plimsoll_report::{Record, numbers};
use plimsoll_testbed::{
    Effect, FileCondition, LimitOutcome, Limits, Listing, Removed, TargetInfo, TargetState, Testbed,
};

use crate::output::Output;
use crate::targets::naming;

numbers! {
    SIZE = "size", "size", Bytes, "Size of a target's device.", "test bed";
    FREE = "free", "free", Bytes, "Bytes that can still be written to a target; missing when it cannot be used.", "the target's file system";
    READ_BYTES = "read_bytes_per_second", "read", BytesPerSec, "Limit of the bytes read from a target per second; missing when unlimited.", "the kernel (cgroup v1), or test bed";
    WRITE_BYTES = "write_bytes_per_second", "write", BytesPerSec, "Limit of the bytes written to a target per second; missing when unlimited.", "the kernel (cgroup v1), or test bed";
    READ_OPERATIONS = "read_operations_per_second", "reads", Count, "Limit of the read operations on a target per second; missing when unlimited.", "the kernel (cgroup v1), or test bed";
    WRITE_OPERATIONS = "write_operations_per_second", "writes", Count, "Limit of the write operations on a target per second; missing when unlimited.", "the kernel (cgroup v1), or test bed";
}

/// Prints the bed. `lacking` are sentences about what it does not have on this machine.
pub fn print(listing: &Listing, lacking: Vec<String>, output: Output) -> Result<()> {
    let target = |it: &TargetInfo| match output.json {
        // For people the text of the limit says it in less space.
        true => limit_numbers(target(it), &it.limits),
        false => target(it),
    };
    let mut record = Record::new()
        .text("directory", "directory", listing.directory.display().to_string())
        .text("state", "state", state_text(listing))
        .rows("targets", "targets", listing.targets.iter().map(target).collect());
    for sentence in lacking {
        record = record.note(sentence);
    }
    output.print("testbed.list", "test bed", &record)
}

fn state_text(listing: &Listing) -> String {
    let others = listing.owner.filter(|owner| listing.exists && *owner != acting_user());
    match others {
        Some(owner) => format!("of user {owner}; {}", own_state_text(listing)),
        None => own_state_text(listing),
    }
}

fn own_state_text(listing: &Listing) -> String {
    if let Some(reason) = &listing.not_a_bed {
        return format!("none: {reason}");
    }
    if !listing.exists {
        return naming("none; make one with: plimsoll testbed up", &listing.directory);
    }
    match &listing.state_file {
        FileCondition::Complete => "complete".into(),
        other => {
            let hint = naming("remove it with: plimsoll testbed down", &listing.directory);
            format!("{}; {hint}", condition_text(other))
        }
    }
}

fn condition_text(condition: &FileCondition) -> String {
    match condition {
        FileCondition::Complete => "complete".into(),
        FileCondition::Unfinished => "unfinished".into(),
        FileCondition::Missing => "without a state file".into(),
        FileCondition::Unreadable { reason } => format!("its state file is damaged: {reason}"),
        FileCondition::Newer { version } => {
            format!("its state file is of the newer version {version}")
        }
    }
}

fn target(target: &TargetInfo) -> Record {
    let device = target.device.as_ref().map(|device| device.path.display().to_string());
    let state = match target.state {
        TargetState::Mounted => "mounted",
        TargetState::Plain => "plain directory",
        TargetState::NotMounted => "not mounted",
        TargetState::HalfMade => "half made",
        TargetState::Covered => "covered by a foreign mount",
        TargetState::Unreachable => "unreachable",
    };
    let state = match &target.problem {
        Some(problem) => format!("{state}: {problem}"),
        None => state.to_string(),
    };
    Record::new()
        .text("name", "name", target.name.to_string())
        .text("path", "path", target.path.display().to_string())
        .optional_text("device", "device", device)
        .optional_text("limit", "limit", limits_text(&target.limits))
        .number(&SIZE, target.size.map(Bytes::get))
        .number(&FREE, target.free.map(Bytes::get))
        .text("state", "state", state)
}

fn limit_numbers(record: Record, limits: &Limits) -> Record {
    let bytes = |limit: Limit| limit.bytes.map(BytesPerSec::get);
    let operations = |limit: Limit| limit.operations.map(OpsPerSec::get);
    record
        .number(&READ_BYTES, bytes(limits.read))
        .number(&WRITE_BYTES, bytes(limits.write))
        .number(&READ_OPERATIONS, operations(limits.read))
        .number(&WRITE_OPERATIONS, operations(limits.write))
}

/// Returns what became of a limit, for programs.
pub fn limit_record(outcome: &LimitOutcome) -> Record {
    let holds_for = match outcome.effect {
        Effect::EveryProcess => "every process",
        Effect::UnderRun => "plimsoll testbed run",
    };
    let record = Record::new()
        .text("target", "target", outcome.target.to_string())
        .optional_text("limit", "limit", limits_text(&outcome.limits))
        .text("holds_for", "holds for", holds_for);
    limit_numbers(record, &outcome.limits)
}

/// Returns what `down` did, for programs.
pub fn removed_record(removed: &Removed, testbed: &Testbed) -> Record {
    let path = |path: &PathBuf| Record::new().text("path", "path", path.display().to_string());
    let rows = |paths: &[PathBuf]| paths.iter().map(path).collect::<Vec<_>>();
    let outcome = if removed.was_there { "removed" } else { "nothing to remove" };
    let state = removed.was_there.then(|| condition_text(&removed.state_file));
    Record::new()
        .text("directory", "directory", testbed.directory().display().to_string())
        .text("outcome", "outcome", outcome)
        .optional_text("state", "state", state)
        .rows("unmounted", "unmounted", rows(&removed.unmounted))
        .rows("foreign_unmounted", "foreign, unmounted", rows(&removed.foreign_unmounted))
        .rows("detached", "detached", rows(&removed.detached))
        .rows("lingering", "lingering", rows(&removed.lingering))
        .rows("kept", "kept", rows(&removed.kept))
}

/// "20MiB/s" for both directions, or "read 5MiB/s, write 20MiB/s"; `None` without limits.
pub fn limits_text(limits: &Limits) -> Option<String> {
    match (limits.read, limits.write) {
        (read, write) if read.is_none() && write.is_none() => None,
        (read, write) if read == write => Some(read.to_string()),
        (read, write) if write.is_none() => Some(format!("read {read}")),
        (read, write) if read.is_none() => Some(format!("write {write}")),
        (read, write) => Some(format!("read {read}, write {write}")),
    }
}

/// Returns what `down` did, for the person at the terminal.
pub fn removed_lines(removed: &Removed, testbed: &Testbed) -> Vec<String> {
    let directory = testbed.directory();
    if !removed.was_there {
        return vec![format!("nothing to remove: no test bed in {}", directory.display())];
    }
    let mut lines = vec![format!(
        "removed the test bed in {}: {} unmounted, {} devices detached",
        directory.display(),
        removed.unmounted.len(),
        removed.detached.len()
    )];
    if removed.state_file != FileCondition::Complete {
        lines.push(format!("it was {}", condition_text(&removed.state_file)));
    }
    for device in &removed.lingering {
        lines.push(format!("{} disappears when its last user is gone", device.display()));
    }
    for point in &removed.foreign_unmounted {
        lines.push(format!("unmounted {} lazily: not part of a test bed", point.display()));
    }
    for path in &removed.kept {
        lines.push(format!("kept {}: not part of a test bed", path.display()));
    }
    lines
}
