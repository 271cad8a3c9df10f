//! A file of each version, written once and kept: they must stay readable for ever.

use plimsoll_trace::definition::DefinitionKind;
use plimsoll_trace::encode::{Call, NO_FILE, Outcome, UNKNOWN_OFFSET};
use plimsoll_trace::layout::{Anchor, FORMAT_VERSION, get_text};
use plimsoll_trace::{Damage, Event, Op, ProcessFile, ProcessWriter, Program, ThreadDecoder};
use std::path::{Path, PathBuf};

fn golden(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/process-v{version}.rec"))
}

/// The calls of the golden file, by hand: strided writes, a failure, a short read, an MPI
/// call with a write inside, a call without a file. From version 3 on, a write that a container divided and kept waiting.
fn calls(version: u32) -> Vec<Call> {
    let call = |op, file, offset, length, outcome, start, end| Call {
        op,
        file,
        offset,
        length,
        outcome,
        argument: 0,
        start,
        end,
    };
    let mut calls = vec![Call {
        argument: 0o1101,
        ..call(Op::Open, 1, UNKNOWN_OFFSET, 0, Outcome::Value(0), 1_100, 1_400)
    }];
    for index in 0..5 {
        let start = 2_000 + index * 1_000;
        calls.push(call(Op::Pwrite, 1, index * 4096, 512, Outcome::Value(512), start, start + 300));
    }
    calls.push(call(Op::Pread, 1, 1 << 40, 100, Outcome::Value(60), 9_000, 9_500));
    calls.push(call(Op::Fsync, 1, UNKNOWN_OFFSET, 0, Outcome::Error(5), 10_000, 90_000));
    calls.push(call(Op::Enter, 2, UNKNOWN_OFFSET, 0, Outcome::Value(0), 100_000, 100_000));
    calls.push(call(Op::Pwrite, 2, 64, 8, Outcome::Value(8), 100_100, 100_200));
    calls.push(call(Op::MpiWriteAt, 2, 64, 8, Outcome::Value(8), 100_000, 101_000));
    calls.push(call(
        Op::Sync,
        NO_FILE,
        UNKNOWN_OFFSET,
        0,
        Outcome::Value(0),
        200_000,
        5_000_000_000,
    ));
    if version > 2 {
        let at = 6_000_000_000;
        let wait = Outcome::Value(0);
        calls.push(call(Op::LogWrite, 2, 4096, 6, Outcome::Value(6), at + 10, at + 20));
        calls.push(call(Op::LogWait, 2, UNKNOWN_OFFSET, 0, wait, at + 30, at + 700));
        calls.push(call(Op::LogWrite, 2, 8192, 2, Outcome::Error(28), at + 710, at + 720));
        calls.push(call(Op::Pwrite, 1, 1 << 20, 8, Outcome::Value(8), at, at + 800));
    }
    calls
}

/// Run once with PLIMSOLL_WRITE_GOLDEN=1 when a new version needs a new file.
fn write(path: &Path) {
    let program = Program {
        pid: 4711,
        rank: Some(3),
        ranks: 8,
        host: "node7".into(),
        boot_id: *b"0123456789abcdef",
        program: "/bin/app".into(),
        job: "job.1".into(),
        ..Program::default()
    };
    let start =
        Anchor { ticks: 1_000, monotonic_ns: 5_000, realtime_ns: 1_700_000_000_000_000_000 };
    let mut writer = ProcessWriter::create(path, &program, start).unwrap();
    writer.define(DefinitionKind::File, 1, 0, b"/data/out").unwrap();
    writer.define(DefinitionKind::File, 2, 0, b"/data/shared").unwrap();
    writer.define(DefinitionKind::Hint, 2, 0, b"cb_nodes=4").unwrap();
    for call in calls(FORMAT_VERSION) {
        writer.call(77, &call).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn every_version_reads_as_ever() {
    if std::env::var_os("PLIMSOLL_WRITE_GOLDEN").is_some() {
        write(&golden(FORMAT_VERSION));
    }
    (1..=FORMAT_VERSION).for_each(reads_as_ever);
}

fn reads_as_ever(version: u32) {
    let file = ProcessFile::open(&golden(version)).unwrap();
    let identity = &file.header().identity;
    assert_eq!(identity.version, version);
    assert_eq!((identity.pid, file.header().rank, file.header().ranks), (4711, 3, 8));
    assert_eq!(get_text(&identity.host), b"node7");
    assert_eq!(file.timeline().at(2_000), 6_000);
    assert_eq!(file.header().circumstances.is_known, 0, "it was not recorded then");

    let mut texts = Vec::new();
    let (chunks, damage) =
        file.scan(|it| texts.push(String::from_utf8_lossy(it.text).into_owned())).unwrap();
    assert_eq!(damage, Damage::default());
    assert_eq!(texts, ["/data/out", "/data/shared", "cb_nodes=4"]);
    assert_eq!((chunks.len(), chunks[0].thread), (1, 77));

    let (mut buffer, mut events) = (Vec::new(), Vec::<Event>::new());
    let payload = file.payload(&chunks[0], &mut buffer).unwrap();
    let left = ThreadDecoder::new().decode(chunks[0].base_ticks, payload, |it| events.push(it));
    assert_eq!(left, 0);
    let expected: Vec<Call> = calls(version).into_iter().filter(|it| it.op != Op::Enter).collect();
    assert_eq!(events.len(), expected.len());
    for (event, call) in events.iter().zip(&expected) {
        assert_eq!((event.op, event.file, event.length), (call.op, call.file, call.length));
        assert_eq!((event.start, event.end, event.outcome), (call.start, call.end, call.outcome));
        assert_eq!(event.argument, call.argument);
        assert_eq!(event.offset, call.op.class().is_data().then_some(call.offset));
    }
    let depths: Vec<u32> = events.iter().map(|it| it.depth).collect();
    let later = if version > 2 { 4 } else { 0 };
    assert_eq!(depths[..11], [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0]);
    assert_eq!(depths[11..], [0; 4][..later]);
}

/// The writer of today still writes its version, byte for byte.
#[test]
fn the_writer_writes_the_golden_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.rec");
    write(&path);
    assert!(std::fs::read(&path).unwrap() == std::fs::read(golden(FORMAT_VERSION)).unwrap());
}
