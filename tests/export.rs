//! `plimsoll export`: recordings for pandas, DuckDB and the Perfetto UI.

use std::fs::{self, File};
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use plimsoll_trace::definition::DefinitionKind;
use plimsoll_trace::encode::{Call, Outcome, UNKNOWN_OFFSET};
use plimsoll_trace::layout::Anchor;
use plimsoll_trace::{Op, ProcessWriter, Program};
use serde_json::Value;

use crate::support::command::{Outcome as Ended, binary};

/// A recording of two ranks: each opens a file and writes to it through MPI, 100 times.
fn write_recording(directory: &Path) {
    fs::create_dir(directory).unwrap();
    for rank in 0..2 {
        let program = Program {
            pid: 100 + rank,
            rank: Some(rank),
            ranks: 2,
            host: "node1".into(),
            program: "/bin/app".into(),
            ..Program::default()
        };
        let start = Anchor { ticks: 1000, monotonic_ns: 1000, realtime_ns: 1_000_000 };
        let path = directory.join(format!("{rank}.rec"));
        let mut writer = ProcessWriter::create(&path, &program, start).unwrap();
        writer.define(DefinitionKind::File, 1, 0, b"/data/out").unwrap();
        let mut put = |op, offset, length, start, end| {
            let outcome = Outcome::Value(length);
            let call = Call { op, file: 1, offset, length, outcome, argument: 0, start, end };
            writer.call(0, &call).unwrap();
        };
        put(Op::Open, UNKNOWN_OFFSET, 0, 1000, 1500);
        for n in 0..100 {
            let begin = 2000 + n * 1000;
            put(Op::Enter, UNKNOWN_OFFSET, 0, begin, begin);
            put(Op::Pwrite, n * 4096, 4096, begin + 100, begin + 700);
            put(Op::MpiWriteAt, n * 4096, 4096, begin, begin + 800);
        }
        writer.finish().unwrap();
    }
}

/// 1 + 100 x 2 calls of each rank.
const CALLS: u64 = 402;

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        write_recording(&folder.path().join("run1"));
        Place { folder }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    /// Runs in the folder that has the recording.
    fn export(&self, arguments: &str) -> Ended {
        let arguments = arguments.split_whitespace();
        let mut command = binary();
        command.current_dir(self.folder.path()).arg("export").args(arguments);
        command.output().unwrap().into()
    }

    #[track_caller]
    fn refused(&self, arguments: &str, part: &str) {
        let ended = self.export(arguments);
        assert_eq!(ended.status, Some(2), "{arguments}: {}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{arguments}: {}", ended.stderr);
        assert!(ended.stderr.starts_with("error: "), "{arguments}: {}", ended.stderr);
        assert!(ended.stderr.contains(part), "{arguments}: {}", ended.stderr);
    }
}

fn slices(trace: &Value) -> Vec<&Value> {
    trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X").collect()
}

#[test]
fn parquet_has_a_row_for_each_call() {
    let place = Place::new();
    let ended = place.export("run1 --to parquet --json");
    assert_eq!((ended.status, ended.stderr.as_str()), (Some(0), ""));
    let printed: Value = serde_json::from_str(&ended.stdout).unwrap();
    let path = place.path("run1.parquet");
    assert_eq!(printed["schema"], "plimsoll.export/1");
    assert_eq!(printed["result"]["calls"], CALLS);
    assert_eq!(printed["result"]["file_bytes"], fs::metadata(&path).unwrap().len());

    let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    assert_eq!(rows.len() as u64, CALLS);
    let columns: Vec<String> = rows[0].get_column_iter().map(|(name, _)| name.clone()).collect();
    let at = |name: &str| columns.iter().position(|column| column == name).unwrap();
    // The pwrite inside the last MPI call of rank 1.
    let row = &rows[rows.len() - 2];
    let text = |name| row.get_string(at(name)).unwrap().as_str();
    assert_eq!((row.get_uint(at("rank")).unwrap(), row.get_uint(at("pid")).unwrap()), (1, 101));
    assert_eq!((text("host"), text("layer"), text("operation")), ("node1", "posix", "pwrite"));
    assert_eq!((text("file"), row.get_ulong(at("offset")).unwrap()), ("/data/out", 99 * 4096));
    assert_eq!(row.get_ulong(at("bytes")).unwrap(), 4096);
    assert_eq!(row.get_long(at("start_ns")).unwrap(), 1000 + 99_000 + 100);
    assert_eq!(row.get_long(at("duration_ns")).unwrap(), 600);
    assert_eq!(row.get_ubyte(at("depth")).unwrap(), 1);
}

#[test]
fn perfetto_has_a_slice_for_each_call() {
    let place = Place::new();
    let ended = place.export("run1/ --to perfetto");
    assert_eq!((ended.status, ended.stderr.as_str()), (Some(0), ""));
    assert!(ended.stdout.contains("402"), "{}", ended.stdout);
    assert!(ended.stdout.contains("https://ui.perfetto.dev"), "{}", ended.stdout);
    let text = fs::read_to_string(place.path("run1.perfetto.json")).unwrap();
    let trace: Value = serde_json::from_str(&text).unwrap();
    let slices = slices(&trace);
    assert_eq!(slices.len() as u64, CALLS);
    assert_eq!(
        (&slices[1]["name"], &slices[2]["name"]),
        (&"MPI_File_write_at".into(), &"pwrite".into())
    );
    let threads: std::collections::BTreeSet<_> =
        slices.iter().map(|slice| slice["tid"].as_u64()).collect();
    assert_eq!(threads.len(), 2, "one track for each rank");

    let streamed = place.export("run1 --to perfetto -o -");
    assert_eq!((streamed.status, streamed.stdout == text), (Some(0), true));
}

#[test]
fn nothing_is_overwritten_unless_told() {
    let place = Place::new();
    fs::write(place.path("mine"), "precious").unwrap();
    for format in ["parquet", "perfetto"] {
        place.refused(&format!("run1 --to {format} -o mine"), "hint: replace it with --force");
        assert_eq!(fs::read_to_string(place.path("mine")).unwrap(), "precious");
    }
    place.refused("run1 --to parquet -o run1/0.rec --force", "file of the recording itself");
    let ended = place.export("run1 --to parquet -o mine --force");
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    assert!(fs::read(place.path("mine")).unwrap().starts_with(b"PAR1"));
}

#[test]
fn wrong_use_is_refused_in_one_line() {
    let place = Place::new();
    place.refused("run1 --to csv", "parquet, perfetto");
    place.refused("nowhere --to parquet", "cannot read the recording nowhere");
    place.refused("run1 --to parquet -o -", "hint: give a name with -o FILE");
    place.refused("run1 --to perfetto -o - --json", "both want stdout");
    place.refused("run1 --to perfetto -o no/such/folder/x", "cannot create no/such/folder/x");
    place.refused("run1 --to perfetto -o run1", "is a directory");
    fs::create_dir(place.path("empty")).unwrap();
    place.refused("empty --to parquet", "plimsoll record");
    // A full disk: what is there of the file would be of no use.
    place.refused("run1 --to perfetto -o /dev/full", "cannot write /dev/full: No space left");
    place.refused("run1 --to parquet -o /dev/full", "cannot write /dev/full: No space left");
    assert!(Path::new("/dev/full").exists());
}

#[test]
fn what_can_be_read_of_a_damaged_recording_is_exported() {
    let place = Place::new();
    let path = place.path("run1/1.rec");
    let mut bytes = fs::read(&path).unwrap();
    bytes[4096 + 64 + 10] ^= 1;
    fs::write(&path, bytes).unwrap();
    fs::write(place.path("run1/2.rec"), "foreign").unwrap();
    let ended = place.export("run1 --to parquet --json");
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let warnings: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].starts_with("warning: ") && warnings[0].contains("2.rec is not a file"));
    assert!(warnings[1].contains("1.rec is damaged"), "{warnings:?}");
    let printed: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(printed["result"]["calls"], CALLS / 2);
}

#[test]
fn a_reader_that_stops_reading_is_no_error() {
    use std::process::Stdio;
    let place = Place::new();
    let mut child = binary()
        .current_dir(place.folder.path())
        .args(["export", "run1", "--to", "perfetto", "-o", "-"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}
