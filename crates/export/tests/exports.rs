//! Known calls come back from both formats.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use plimsoll_explain::Recording;
use plimsoll_export::{Exported, chunks, write_parquet, write_perfetto};
use plimsoll_trace::definition::DefinitionKind;
use plimsoll_trace::encode::{Call, Outcome, UNKNOWN_OFFSET};
use plimsoll_trace::layout::{Anchor, BLOCK_BYTES};
use plimsoll_trace::{Op, ProcessWriter, Program};
use serde_json::Value;

const START: u64 = 1_000_000;

fn call(op: Op, file: u32, span: (u64, u64)) -> Call {
    let (start, end) = (START + span.0, START + span.1);
    let (offset, outcome) = (UNKNOWN_OFFSET, Outcome::Value(0));
    Call { op, file, offset, length: 0, outcome, argument: 0, start, end }
}

fn data(op: Op, file: u32, offset: u64, length: u64, span: (u64, u64)) -> Call {
    Call { offset, length, outcome: Outcome::Value(length), ..call(op, file, span) }
}

/// Two ranks with the same pid on two nodes that booted differently, and a process without rank.
fn write_recording(directory: &Path) {
    let start =
        Anchor { ticks: START, monotonic_ns: START, realtime_ns: 1_700_000_000_000_000_000 };
    let writer = |name: &str, rank: Option<u32>, host: &str, boot: u8| {
        let (host, program) = (host.to_string(), "/opt/bin/app".to_string());
        let ranks = if rank.is_some() { 2 } else { 0 };
        let boot_id = [boot; 16];
        let program =
            Program { pid: 77, rank, ranks, host, boot_id, program, ..Program::default() };
        ProcessWriter::create(&directory.join(name), &program, start).unwrap()
    };

    let mut first = writer("a.rec", Some(0), "node1", 1);
    first.define(DefinitionKind::File, 1, 0, b"/data/\"shared\"\n").unwrap();
    for call in [
        Call { argument: 66, ..call(Op::Open, 1, (0, 500)) },
        call(Op::Enter, 1, (1000, 1000)),
        call(Op::Lock, 1, (1000, 1100)),
        data(Op::Pwrite, 1, 4096, 512, (1100, 1801)),
        data(Op::MpiWriteAt, 1, 4096, 512, (1000, 2000)),
        // Overlaps the next one, as nonblocking calls may.
        data(Op::MpiIwriteAt, 1, 0, 8, (3000, 5000)),
        data(Op::MpiIwriteAt, 1, 8, 8, (4000, 6000)),
    ] {
        first.call(5, &call).unwrap();
    }
    first.call(9, &data(Op::Read, 0, UNKNOWN_OFFSET, 10, (10, 20))).unwrap();
    first.finish().unwrap();

    let mut second = writer("b.rec", Some(1), "node2", 2);
    second.define(DefinitionKind::File, 4, 0, b"/data/other").unwrap();
    let huge = u64::MAX - 4096;
    let failed = data(Op::Pread, 4, huge, 100, (100, 300));
    second.call(0, &Call { outcome: Outcome::Error(28), ..failed }).unwrap();
    second.finish().unwrap();

    let mut third = writer("c.rec", None, "node1", 1);
    third.call(0, &call(Op::Stat, 0, (7, 7))).unwrap();
    third.finish().unwrap();
}

fn recording() -> (tempfile::TempDir, Recording) {
    let directory = tempfile::tempdir().unwrap();
    write_recording(directory.path());
    let recording = Recording::open(directory.path()).unwrap();
    (directory, recording)
}

fn rows(recording: &Recording) -> (Exported, SerializedFileReader<bytes::Bytes>) {
    let (mut file, done) = (Vec::new(), AtomicU64::new(0));
    let exported = write_parquet(recording, &mut file, &done).unwrap();
    assert_eq!(done.load(Ordering::Relaxed), chunks(recording));
    (exported, SerializedFileReader::new(file.into()).unwrap())
}

fn slices(recording: &Recording) -> (Exported, Value) {
    let mut text = Vec::new();
    let exported = write_perfetto(recording, &mut text, &AtomicU64::new(0)).unwrap();
    (exported, serde_json::from_slice(&text).unwrap())
}

/// A row as text, one word for each column.
fn shown(row: Row) -> String {
    let show = |field: &Field| match field {
        Field::Str(text) => text.escape_default().to_string(),
        other => other.to_string(),
    };
    row.get_column_iter().map(|(_, field)| show(field)).collect::<Vec<_>>().join(" ")
}

#[test]
fn every_call_is_a_row() {
    let (_directory, recording) = recording();
    let (exported, reader) = rows(&recording);
    assert_eq!(exported, Exported { calls: 9, warnings: Vec::new() });
    let names: Vec<String> = reader
        .metadata()
        .file_metadata()
        .schema_descr()
        .columns()
        .iter()
        .map(|c| c.name().into())
        .collect();
    assert_eq!(
        names.join(" "),
        "process pid rank host thread layer operation file offset length bytes errno argument start_ns duration_ns depth"
    );
    let rows: Vec<String> =
        reader.get_row_iter(None).unwrap().map(|row| shown(row.unwrap())).collect();
    let shared = r#"/data/\"shared\"\n"#;
    let expected = [
        format!("0 77 0 node1 5 posix open {shared} null 0 0 null 66 0 500 0"),
        format!("0 77 0 node1 5 posix fcntl_lock {shared} null 0 0 null 0 1000 100 1"),
        format!("0 77 0 node1 5 posix pwrite {shared} 4096 512 512 null 0 1100 701 1"),
        format!("0 77 0 node1 5 mpi MPI_File_write_at {shared} 4096 512 512 null 0 1000 1000 0"),
        format!("0 77 0 node1 5 mpi MPI_File_iwrite_at {shared} 0 8 8 null 0 3000 2000 0"),
        format!("0 77 0 node1 5 mpi MPI_File_iwrite_at {shared} 8 8 8 null 0 4000 2000 0"),
        "0 77 0 node1 9 posix read null null 10 10 null 0 10 10 0".to_string(),
        "1 77 1 node2 0 posix pread /data/other 18446744073709547519 100 0 28 0 100 200 0"
            .to_string(),
        "2 77 null node1 0 posix stat null null 0 0 null 0 7 0 0".to_string(),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn the_metadata_tells_about_the_recording() {
    let (directory, recording) = recording();
    let (_, reader) = rows(&recording);
    let entries = reader.metadata().file_metadata().key_value_metadata().unwrap();
    let get = |key: &str| {
        let found = entries.iter().find(|entry| entry.key == format!("plimsoll.{key}"));
        found.and_then(|entry| entry.value.clone()).unwrap()
    };
    assert_eq!(get("schema_version"), "1");
    assert_eq!(Path::new(&get("recording")), directory.path().canonicalize().unwrap());
    assert_eq!(get("start_realtime_ns"), "1700000000000000000");
    let processes: Value = serde_json::from_str(&get("processes")).unwrap();
    assert_eq!(processes[1]["program"], "/opt/bin/app");
    assert_eq!(processes[2]["rank"], Value::Null);
}

#[test]
fn every_call_is_a_slice_and_slices_nest() {
    let (_directory, recording) = recording();
    let (exported, trace) = slices(&recording);
    assert_eq!(exported.calls, 9);
    let events = trace["traceEvents"].as_array().unwrap();
    let names: Vec<&str> = events
        .iter()
        .filter(|event| event["name"] == "process_name" || event["name"] == "thread_name")
        .map(|event| event["args"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "rank 0: app on node1, pid 77",
            "thread 5",
            "thread 5, overlapping calls 1",
            "thread 9",
            "rank 1: app on node2, pid 77",
            "thread 0",
            "process 77: app on node1",
            "thread 0"
        ]
    );
    let slices: Vec<&Value> = events.iter().filter(|event| event["ph"] == "X").collect();
    // Nanoseconds the way Perfetto takes them: cut off.
    let nanos = |value: &Value| (value.as_f64().unwrap() * 1000.0) as u64;
    let shown: Vec<(&str, u64, u64, u64)> = slices
        .iter()
        .map(|it| {
            let name = it["name"].as_str().unwrap();
            (name, it["tid"].as_u64().unwrap(), nanos(&it["ts"]), nanos(&it["dur"]))
        })
        .collect();
    // An outer call comes before those inside it, also where both begin at the same time.
    assert_eq!(
        shown,
        [
            ("open", 2, 0, 500),
            ("MPI_File_write_at", 2, 1000, 1000),
            ("fcntl_lock", 2, 1000, 100),
            ("pwrite", 2, 1100, 701),
            ("MPI_File_iwrite_at", 2, 3000, 2000),
            ("MPI_File_iwrite_at", 3, 4000, 2000),
            ("read", 4, 10, 10),
            ("pread", 6, 100, 200),
            ("stat", 8, 7, 0),
        ]
    );
    let pwrite = serde_json::json!({
        "file": "/data/\"shared\"\n", "offset": 4096, "length": 512, "bytes": 512
    });
    assert_eq!(slices[3]["args"], pwrite);
    assert_eq!(slices[3]["cat"], "posix");
    assert_eq!(slices[7]["args"]["errno"], 28);
    assert_eq!(slices[8]["args"], serde_json::json!({}));
    assert_eq!(trace["otherData"]["schema_version"], 1);
    assert_eq!(trace["displayTimeUnit"], "ns");
}

/// Cut off, and a flipped byte: the rest is exported, and the
/// files are well-formed.
#[test]
fn damaged_recordings_are_exported_as_far_as_they_can_be_read() {
    let directory = tempfile::tempdir().unwrap();
    write_recording(directory.path());
    let path = directory.path().join("a.rec");
    let sound = fs::read(&path).unwrap();
    let mut damaged: Vec<Vec<u8>> = Vec::new();
    for at in (0..sound.len()).step_by(4093) {
        damaged.push(sound[..at].to_vec());
    }
    // The first page, and what is used of each block.
    let blocks = (4096..sound.len()).step_by(BLOCK_BYTES).flat_map(|at| (at..at + 256).step_by(5));
    for at in (0..4096).step_by(31).chain(blocks) {
        let mut bytes = sound.clone();
        bytes[at] ^= 0x55;
        damaged.push(bytes);
    }
    for bytes in damaged {
        fs::write(&path, &bytes).unwrap();
        let recording = Recording::open(directory.path()).unwrap();
        let (exported, reader) = rows(&recording);
        assert!((2..=9).contains(&exported.calls), "{exported:?}");
        assert!(exported.calls == 9 || !exported.warnings.is_empty(), "{exported:?}");
        assert_eq!(reader.get_row_iter(None).unwrap().count() as u64, exported.calls);
        let (same, trace) = slices(&recording);
        let is_call = |event: &&Value| event["ph"] == "X" || event["ph"] == "i";
        let calls = trace["traceEvents"].as_array().unwrap().iter().filter(is_call).count();
        assert_eq!((calls as u64, same), (exported.calls, exported));
    }
}

/// Many calls inside one, over several chunks: the outer call still comes first.
#[test]
fn a_call_with_more_inside_than_a_chunk_holds() {
    const INSIDE: u64 = 30_000;
    let directory = tempfile::tempdir().unwrap();
    let start = Anchor { ticks: START, monotonic_ns: START, realtime_ns: START };
    let path = directory.path().join("a.rec");
    let mut writer = ProcessWriter::create(&path, &Program::default(), start).unwrap();
    writer.call(0, &call(Op::Enter, 0, (5, 5))).unwrap();
    for n in 0..INSIDE {
        let span = (10 + n * 10, 15 + n * 10);
        writer.call(0, &data(Op::Pwrite, 0, n * 1000, 100 + n % 7, span)).unwrap();
    }
    let end = 20 + INSIDE * 10;
    writer.call(0, &data(Op::MpiWriteAll, 0, 0, 8, (5, end))).unwrap();
    writer.finish().unwrap();
    let recording = Recording::open(directory.path()).unwrap();
    assert!(chunks(&recording) > 1);
    let (exported, trace) = slices(&recording);
    assert_eq!(exported.calls, INSIDE + 1);
    let events = trace["traceEvents"].as_array().unwrap();
    let slices: Vec<&Value> = events.iter().filter(|event| event["ph"] == "X").collect();
    assert_eq!(slices[0]["name"], "MPI_File_write_all");
    assert!(slices.iter().all(|slice| slice["tid"] == slices[0]["tid"]));
}

#[test]
fn an_output_that_cannot_be_written_is_an_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let (_directory, recording) = recording();
    for error in [
        write_parquet(&recording, Full, &AtomicU64::new(0)).unwrap_err(),
        write_perfetto(&recording, Full, &AtomicU64::new(0)).unwrap_err(),
    ] {
        assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    }
}
