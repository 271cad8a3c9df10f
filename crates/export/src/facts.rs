//! What an export says about the recording as a whole.

use plimsoll_explain::{Clocks, Process, Recording};
use serde_json::{Value, json};

/// Version of the columns and metadata of exports.
pub const SCHEMA_VERSION: u32 = 1;

/// Names and values; those that are not known are left out.
pub(crate) fn facts(recording: &Recording, clocks: &Clocks) -> Vec<(&'static str, Value)> {
    let processes: Vec<Value> = recording.processes().iter().map(process).collect();
    // The file may go elsewhere, where "run1" says nothing.
    let directory = recording.whole_directory();
    let mut facts = vec![
        ("schema_version", Value::from(SCHEMA_VERSION)),
        ("recording", Value::from(directory.to_string_lossy())),
        ("start_realtime_ns", Value::from(clocks.start_realtime_ns)),
        ("span_ns", Value::from(clocks.span_ns)),
        ("lost_events", Value::from(recording.lost_events())),
        ("mpi_libraries", recording.mpi_libraries().collect()),
        ("notes", recording.notes().collect()),
        ("processes", Value::from(processes)),
    ];
    if let Some(seconds) = clocks.error_seconds {
        facts.push(("clock_error_seconds", Value::from(seconds)));
    }
    facts
}

/// Its place in the list is the number of the process in the rows.
fn process(process: &Process) -> Value {
    json!({
        "pid": process.pid,
        "rank": process.rank,
        "host": process.host,
        "program": process.program,
        "arguments": process.arguments,
        "state": process.state.name(),
        "lost_events": process.lost_events(),
    })
}
