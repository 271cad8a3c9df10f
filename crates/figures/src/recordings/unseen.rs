//! What is known to be missing in a recording.

use plimsoll_explain::{Missing, Recording};
use plimsoll_report::Record;

use super::numbers::*;

/// Adds how many processes are missing, and which programs.
pub fn add(record: Record, recording: &Recording, events: u64) -> Record {
    let missing = recording.missing();
    let record = record
        .number(&KNOWN_PROCESSES, missing.known_processes)
        .number(&UNSEEN_PROCESSES, missing.unseen_processes);
    let record = match recording.files().folded() {
        0 => record,
        folded => record.number(&FOLDED_FILES, folded),
    };
    let record = match events {
        0 => record.note(nothing(missing)),
        _ => record,
    };
    if missing.programs.is_empty() {
        record
    } else {
        record.rows("unseen", "not recorded", rows(missing))
    }
}

/// Programs of which something is missing.
pub fn rows(missing: &Missing) -> Vec<Record> {
    let row = |it: &plimsoll_explain::UnseenProgram| {
        Record::new()
            .text("program", "program", &it.program)
            .text("missing", "what is missing", it.missing())
            .text("why", "why", it.why())
            .number(&PROCESSES, it.processes)
    };
    missing.programs.iter().map(row).collect()
}

/// Returns why a recording is empty.
fn nothing(missing: &Missing) -> &'static str {
    if missing.programs.is_empty() {
        "no I/O call was made: the recording is complete, and empty"
    } else {
        "no I/O call was recorded: what ran could not be recorded, see \"not recorded\""
    }
}
