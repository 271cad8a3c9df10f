//! GNU cat closes descriptors 1 and 2 itself before the exit handlers run, and has the kernel move
//! data from file to file.

use std::fs::{self, File};
use std::process::{Command, Stdio};

use plimsoll_trace::Op;

use crate::support::command::{Outcome, binary};
use crate::support::recording::{all_finished, assert_nothing_lost, calls, has, processes, record};

#[test]
fn cat_is_recorded_to_its_end_whichever_descriptors_it_has() {
    if !has(&["cat", "sh"]) {
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    for (name, count) in [("a", 3 << 20), ("b", 70_001u32)] {
        let bytes: Vec<u8> = (0..count).map(|it| (it >> 3) as u8).collect();
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    let cases = [
        ("one", "exec cat a", 3 << 20),
        ("two", "exec cat a b", (3 << 20) + 70_001),
        ("again", "cat a b; exec cat a", 2 * (3 << 20) + 70_001),
        ("without_input_and_errors", "exec cat a b 0<&- 2>&-", (3 << 20) + 70_001),
        ("input", "exec cat - b < a", (3 << 20) + 70_001),
        ("missing", "exec cat a nowhere b", (3 << 20) + 70_001),
        ("nothing_open", "exec cat a 0<&- 1>&- 2>&-", 0),
    ];
    for (name, script, moved) in cases {
        let run = |command: &mut Command, out: &str| -> Outcome {
            let out = File::create(folder.path().join(out)).unwrap();
            command.args(["sh", "-c", script]).current_dir(&folder);
            command.stdin(Stdio::null()).stdout(out).stderr(Stdio::piped());
            command.spawn().unwrap().wait_with_output().unwrap().into()
        };
        let plain = run(&mut Command::new("env"), "plain");
        let (rec, out) = (folder.path().join(format!("{name}.rec")), format!("{name}.out"));
        let outcome = run(record(&rec).arg("--"), &out);
        assert_eq!(outcome.status, plain.status, "{name}");
        assert_eq!(outcome.stderr, plain.stderr, "{name}");
        let content = |file: &str| fs::read(folder.path().join(file)).unwrap();
        assert!(content(&out) == content("plain"), "{name}: the output differs");

        let recorded = processes(&rec);
        assert!(all_finished(&recorded), "{name}");
        assert_nothing_lost(&recorded);
        // Where the kernel cannot copy, cat reads and writes.
        let written = [Op::CopyFileRange, Op::Write]
            .map(|op| calls(&recorded, op, &format!("/{out}")).1)
            .iter()
            .sum::<u64>();
        assert_eq!(written, moved, "{name}");
        let of_source = |file: &str| -> u64 {
            [Op::CopyFileRangeRead, Op::Read].iter().map(|op| calls(&recorded, *op, file).1).sum()
        };
        assert_eq!(of_source("/a") + of_source("/b"), moved, "{name}: what was read");
    }
}

/// The report showed no reader of what `cp` and `cat` copy: the kernel reads it for them.
#[test]
fn the_source_of_a_copy_has_a_reader() {
    if !has(&["cat", "cp", "sh"]) {
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let bytes = 5 << 20;
    fs::write(folder.path().join("a"), vec![3u8; bytes]).unwrap();
    for (name, script) in
        [("cat", "cat a > cat.out"), ("cp", "cp --reflink=never a cp.out"), ("python", PYTHON)]
    {
        let rec = folder.path().join(format!("{name}.rec"));
        let outcome: Outcome = record(&rec)
            .args(["--", "sh", "-c", script])
            .current_dir(&folder)
            .output()
            .unwrap()
            .into();
        assert_eq!(outcome.status, Some(0), "{name}: {}", outcome.stderr);
        let report = binary().args(["report", "--json"]).arg(&rec).output().unwrap();
        let report: serde_json::Value = serde_json::from_slice(&report.stdout).unwrap();
        let files = report["result"]["files"].as_array().unwrap();
        let file = |end: &str| {
            let is_it = |it: &&serde_json::Value| it["path"].as_str().unwrap().ends_with(end);
            files.iter().find(is_it).unwrap_or_else(|| panic!("{name}: no {end}"))
        };
        let (source, copy) = (file("/a"), file(&format!("/{name}.out")));
        assert_eq!((&source["readers"], &source["writers"]), (&1.into(), &0.into()), "{name}");
        assert_eq!((&copy["readers"], &copy["writers"]), (&0.into(), &1.into()), "{name}");
        assert_eq!((&source["read_bytes"], &copy["written_bytes"]), (&bytes.into(), &bytes.into()));
        // One call has two events, and its time counts once.
        let seconds = |value: &serde_json::Value| value["io_seconds"].as_f64().unwrap();
        let processes = report["result"]["ranks"].as_array().unwrap();
        let all: f64 = processes.iter().map(seconds).sum();
        assert!(seconds(&report["result"]["io"]) <= all * 1.000_001, "{name}");
        let by_class = seconds(source) + seconds(copy);
        let calls = report["result"]["totals"].as_array().unwrap();
        let of = |op: &str| calls.iter().find(|it| it["operation"] == op).map(|it| &it["seconds"]);
        if let Some(twice) = of("copy_file_range_read") {
            assert_eq!(Some(twice), of("copy_file_range"), "{name}");
            assert!(all < by_class, "{name}: {all} of {by_class}");
        }
    }
}

const PYTHON: &str = "exec python3 -c '
import os
source, copy = os.open(\"a\", os.O_RDONLY), os.open(\"python.out\", os.O_RDWR | os.O_CREAT)
half = 5 << 19
done = 0
while done < half:
    done += os.sendfile(copy, source, None, half - done)
ends = os.pipe()
while moved := os.splice(source, ends[1], 1 << 16):
    while moved:
        moved -= os.splice(ends[0], copy, moved)
'";
