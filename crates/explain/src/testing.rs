//! A small recording, for tests of what is not seen from outside.

use std::sync::Arc;

use plimsoll_trace::definition::DefinitionKind;
use plimsoll_trace::encode::{Call, Outcome};
use plimsoll_trace::layout::Anchor;
use plimsoll_trace::{Op, ProcessWriter, Program};
use tempfile::TempDir;

use crate::agreed::Facts;
use crate::file_table::FileId;
use crate::options::Options;
use crate::recording::Recording;

/// A recording of some processes, each with a chunk of events.
pub(crate) fn recording(processes: u32) -> (TempDir, Recording) {
    let directory = TempDir::new().unwrap();
    for pid in 1..=processes {
        let program = Program { pid, host: "node1".into(), ..Program::default() };
        let anchor = Anchor { ticks: 1, monotonic_ns: 1, realtime_ns: 1 };
        let path = directory.path().join(format!("{pid}.rec"));
        let mut writer = ProcessWriter::create(&path, &program, anchor).unwrap();
        let call = Call {
            op: Op::Dup,
            file: 0,
            offset: 0,
            length: 0,
            outcome: Outcome::Value(0),
            argument: 0,
            start: 2,
            end: 3,
        };
        writer.call(1, &call).unwrap();
        writer.define(DefinitionKind::Barrier, 0, 2, b"").unwrap();
        writer.finish().unwrap();
    }
    let recording = Recording::open(directory.path()).unwrap();
    (directory, recording)
}

/// What its parts agree on.
pub(crate) fn facts(processes: u32) -> Facts {
    Facts {
        made_by: String::new(),
        recording: Arc::new(recording(processes).1),
        options: Options::default(),
        span_ns: 100,
        start_realtime_ns: 0,
        error_seconds: None,
        lives: vec![(0, 100); processes as usize],
        detailed: vec![FileId(0), FileId(1)],
    }
}
