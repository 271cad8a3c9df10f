//! Recordings whose truth is known, because it was put there.

use std::path::Path;

use plimsoll_trace::definition::DefinitionKind;
use plimsoll_trace::encode::{Call, Outcome, UNKNOWN_OFFSET};
use plimsoll_trace::layout::Anchor;
use plimsoll_trace::{Op, ProcessWriter, Program};

use super::json;
use crate::support::command::binary;

const MS: u64 = 1_000_000;
const MIB: u64 = 1 << 20;

/// A process that makes calls one after the other.
struct Planted {
    writer: ProcessWriter,
    now: u64,
}

impl Planted {
    /// With `/data/out` as file 1 and `/data/<pid>` as file 2.
    fn new(folder: &Path, pid: u32, rank: Option<u32>) -> Self {
        let ranks = if rank.is_some() { 2 } else { 0 };
        let program = Program { pid, rank, ranks, host: "node1".into(), ..Program::default() };
        let start =
            Anchor { ticks: 1000, monotonic_ns: 1000, realtime_ns: 1_700_000_000 * 1000 * MS };
        let path = folder.join(format!("{pid}.rec"));
        let mut writer = ProcessWriter::create(&path, &program, start).unwrap();
        writer.define(DefinitionKind::File, 1, 0, b"/data/out").unwrap();
        writer.define(DefinitionKind::File, 2, 0, format!("/data/{pid}").as_bytes()).unwrap();
        Planted { writer, now: 1000 }
    }

    fn call(&mut self, op: Op, file: u32, bytes: u64, nanos: u64) -> &mut Self {
        let offset = if op.class().is_data() { 0 } else { UNKNOWN_OFFSET };
        let (start, end) = (self.now, self.now + nanos);
        let outcome = Outcome::Value(bytes);
        let call = Call { op, file, offset, length: bytes, outcome, argument: 0, start, end };
        self.writer.call(1, &call).unwrap();
        self.now = end;
        self
    }

    /// Does nothing until then, and ends.
    fn end_at(mut self, nanos: u64) {
        self.now = self.now.max(nanos + 1000);
        self.call(Op::Dup, 0, 0, 0);
        self.writer.finish().unwrap();
    }
}

#[test]
fn what_a_cache_takes_is_not_what_storage_takes() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = Planted::new(folder.path(), 1, None);
    // 3 bytes of stdio, 4 MiB in 5.56 ms, then 1.9 s of fsync.
    process.call(Op::Fwrite, 2, 3, 5 * MS);
    process.call(Op::Write, 1, 4 * MIB, 5_560_000).call(Op::Fsync, 1, 0, 1900 * MS);
    process.end_at(2000 * MS);
    let report = json(&["report", folder.path().to_str().unwrap()]);
    let write = &report["bandwidth"]["write"];
    let rate = |key: &str| write[key].as_f64().unwrap() / MIB as f64;
    assert_eq!(write["layer"], "posix");
    assert!((rate("perceived") - 2.1).abs() < 0.01 && (rate("data_only") - 719.4).abs() < 0.1);
    assert!((rate("first_to_last") - 2.1).abs() < 0.01, "{write}");
    let output = binary().arg("report").arg(folder.path()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find(|line| line.starts_with("  write      posix")).unwrap();
    assert!(line.contains("2.099 MiB/s  719.4 MiB/s"), "{line}");
}

#[test]
fn one_reader_and_one_writer_share_a_file_and_one_process_does_not() {
    let folder = tempfile::tempdir().unwrap();
    for (pid, op) in [(1, Op::Pwrite), (2, Op::Pread)] {
        let mut process = Planted::new(folder.path(), pid, None);
        process.call(op, 1, MIB, 10 * MS);
        process.call(Op::Pwrite, 2, MIB, 10 * MS).call(Op::Pread, 2, MIB, 10 * MS);
        process.end_at(100 * MS);
    }
    let report = json(&["report", folder.path().to_str().unwrap()]);
    let files = report["files"].as_array().unwrap();
    let of = |path: &str| files.iter().find(|file| file["path"] == path).unwrap()["use"].clone();
    assert_eq!((of("/data/out"), of("/data/1")), ("shared".into(), "private".into()));
}

/// Two ranks that open and close a file 1000 times, 1 ms each time, and helpers beside them.
fn cost_with_helpers(helpers: u32) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    for rank in 0..2 {
        let mut process = Planted::new(folder.path(), 10 + rank, Some(rank));
        for _ in 0..1000 {
            process.call(Op::Open, 2, 0, 900_000).call(Op::Close, 2, 0, 100_000);
        }
        process.end_at(3000 * MS);
    }
    for helper in 0..helpers {
        let mut process = Planted::new(folder.path(), 100 + helper, None);
        process.call(Op::Open, 2, 0, 50_000).call(Op::Close, 2, 0, 50_000);
        process.end_at(3000 * MS);
    }
    let report = json(&["report", folder.path().to_str().unwrap()]);
    let findings = report["findings"].as_array().unwrap();
    assert_eq!(findings[0]["id"], "metadata-storm", "{report}");
    findings[0]["cost_seconds"].as_f64().unwrap()
}

#[test]
fn a_launchers_helpers_cost_nothing() {
    let (alone, helped) = (cost_with_helpers(0), cost_with_helpers(7));
    assert!((alone - 1.0).abs() < 1e-6 && (helped - alone).abs() < 0.002, "{alone} {helped}");
}

#[test]
fn compare_has_the_same_bandwidths_as_report() {
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str, sync: u64| {
        let path = folder.path().join(name);
        std::fs::create_dir(&path).unwrap();
        let mut process = Planted::new(&path, 1, None);
        process.call(Op::Write, 1, 4 * MIB, 10 * MS).call(Op::Fsync, 1, 0, sync);
        process.end_at(2000 * MS);
        path.to_str().unwrap().to_string()
    };
    let (before, after) = (make("before", 990 * MS), make("after", 90 * MS));
    let changes = json(&["compare", &before, &after]);
    let write = &changes["bandwidth"]["write"];
    let rate = |key: &str| write[key].as_f64().unwrap() / MIB as f64;
    assert!((rate("perceived_before") - 4.0).abs() < 0.01, "{write}");
    assert!((rate("perceived_after") - 40.0).abs() < 0.1, "{write}");
    assert!((rate("data_only_before") - 400.0).abs() < 1.0, "{write}");
    assert_eq!((&write["layer_before"], &write["layer_after"]), (&"posix".into(), &"posix".into()));
    assert!(changes["bandwidth"].get("read").is_none(), "neither reads");
}

#[test]
fn a_site_file_tells_that_other_targets_wait() {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("run");
    std::fs::create_dir(&recording).unwrap();
    let mut process = Planted::new(&recording, 1, None);
    process.call(Op::Write, 1, 64 * MIB, 50 * MS).call(Op::Fsync, 1, 0, 1950 * MS);
    process.end_at(2000 * MS);
    let site = folder.path().join("site.toml");
    let target = |name: &str, path: &str, rate: u64| {
        format!("[[target]]\nname = \"{name}\"\npath = \"{path}\"\npeak.write = \"{rate}MiB/s\"\n")
    };
    let targets =
        [target("t0", "/data", 32), target("t1", "/mnt/t1", 32), target("t2", "/mnt/t2", 16)];
    std::fs::write(&site, format!("version = 1\n{}", targets.concat())).unwrap();
    let report = |site: &Path| {
        let mut command = binary();
        command.arg("report").arg(&recording).arg("--json").env("PLIMSOLL_SITE", site);
        let document: serde_json::Value =
            serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
        document["result"]["findings"].clone()
    };
    let told = report(&site);
    assert_eq!(told[0]["id"], "one-target", "{told}");
    // 2 s without what copying 64 MiB takes, of which all three targets need 32 / 80.
    let cost = told[0]["cost_seconds"].as_f64().unwrap();
    assert!((cost - 0.6 * 1.9375).abs() < 0.01, "{told}");
    let words = told[0].to_string();
    assert!(words.contains("2 other targets: t1, t2") && words.contains("stow run"), "{words}");
    assert_eq!(report(Path::new("")), serde_json::json!([]), "nothing is known without one");
}
