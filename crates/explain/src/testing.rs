//! A small recording, for tests of what is not seen from outside.

use plimsoll_trace::encode::{Call, Outcome};
use plimsoll_trace::layout::Anchor;
use plimsoll_trace::{Op, ProcessWriter, Program};
use tempfile::TempDir;

use crate::recording::Recording;

/// A recording of one process, with a chunk of events.
pub(crate) fn one_process() -> (TempDir, Recording) {
    let directory = TempDir::new().unwrap();
    let program = Program { host: "node1".into(), ..Program::default() };
    let anchor = Anchor { ticks: 1, monotonic_ns: 1, realtime_ns: 1 };
    let mut writer =
        ProcessWriter::create(&directory.path().join("1.rec"), &program, anchor).unwrap();
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
    writer.finish().unwrap();
    let recording = Recording::open(directory.path()).unwrap();
    (directory, recording)
}
