//! A test bed as a table.

use anyhow::Result;
use plimsoll_domain::Bytes;
use plimsoll_report::{Number, Record, Unit};
use plimsoll_testbed::{
    Limits, Listing, Record as StateRecord, Removed, TargetInfo, TargetState, Testbed,
};

use crate::output::Output;

const SIZE: Number =
    Number::new("size", "size", Unit::Bytes, "Size of a target's device.", "test bed");
const FREE: Number = Number::new(
    "free",
    "free",
    Unit::Bytes,
    "What can still be written to a target; missing when it cannot be used.",
    "the target's file system",
);

/// Everything that this command prints.
pub const NUMBERS: &[&Number] = &[&SIZE, &FREE];

/// Prints the bed. `lacking` are sentences about what it does not have on this machine.
pub fn print(listing: &Listing, lacking: Vec<String>, output: Output) -> Result<()> {
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
    if !listing.exists {
        return "none; make one with: plimsoll testbed up".into();
    }
    match &listing.record {
        StateRecord::Complete => "complete".into(),
        other => format!("{}; remove it with: plimsoll testbed down", record_text(other)),
    }
}

fn record_text(record: &StateRecord) -> String {
    match record {
        StateRecord::Complete => "complete".into(),
        StateRecord::Unfinished => "unfinished".into(),
        StateRecord::Missing => "without a state file".into(),
        StateRecord::Unreadable { reason } => format!("its state file is damaged: {reason}"),
        StateRecord::Newer { version } => {
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

/// What `down` did, for the person at the terminal.
pub fn removed_text(removed: &Removed, testbed: &Testbed) -> String {
    let directory = testbed.directory();
    if !removed.was_there {
        return format!("nothing to remove: no test bed in {}", directory.display());
    }
    let mut lines = vec![format!(
        "removed the test bed in {}: {} unmounted, {} devices detached",
        directory.display(),
        removed.unmounted.len(),
        removed.detached.len()
    )];
    if removed.record != StateRecord::Complete {
        lines.push(format!("it was {}", record_text(&removed.record)));
    }
    for device in &removed.lingering {
        lines.push(format!("{} goes when its last user is gone", device.display()));
    }
    for path in &removed.kept {
        lines.push(format!("kept {}: not part of a test bed", path.display()));
    }
    lines.join("\n")
}
