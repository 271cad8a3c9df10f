//! What processes leave on the disk that do little or nothing.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use plimsoll_trace::Op;
use plimsoll_trace::layout::State;

use super::assert_writes;
use crate::support::command::binary;
use crate::support::recording::{all_finished, calls, processes, program, run_recorded};

/// Bytes on disk of each file of a recording, and its length.
fn sizes(recording: &Path) -> Vec<(u64, u64)> {
    let entries = fs::read_dir(recording).unwrap().map(|entry| entry.unwrap());
    let files = entries.filter(|entry| entry.path().extension().is_some_and(|it| it == "rec"));
    files.map(|entry| entry.metadata().unwrap()).map(|it| (it.blocks() * 512, it.len())).collect()
}

#[test]
fn a_program_that_makes_no_call_leaves_a_valid_recording() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let rec = folder.path().join("rec");
    let outcome = run_recorded(&rec, &["true"]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    let recorded = processes(&rec);
    assert_eq!((recorded.len(), recorded[0].events.len()), (1, 0));
    assert_eq!(recorded[0].state, State::Finished as u32);
    let report = binary().args(["report", "--json"]).arg(&rec).output().unwrap();
    assert!(report.status.success(), "{}", String::from_utf8_lossy(&report.stderr));
    let report: serde_json::Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!(report["result"]["events"], 0);
    let export = folder.path().join("calls.parquet");
    let exported = binary()
        .args(["export", "--to", "parquet"])
        .arg(&rec)
        .arg("-o")
        .arg(&export)
        .output()
        .unwrap();
    assert!(exported.status.success(), "{}", String::from_utf8_lossy(&exported.stderr));
}

/// Shell scripts start thousands of these: 66 KiB each were 133 MB for 2,001 of them.
#[test]
fn small_processes_leave_two_pages_each() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let rec = folder.path().join("rec");
    let text = folder.path().join("text");
    fs::write(&text, "hello\n").unwrap();
    let script = format!(
        "i=0; while [ $i -lt 50 ]; do cat {0} {0} > {0}.$i; cat < {0} | wc -l > {0}.w; (exit 3); i=$((i + 1)); done",
        text.display()
    );
    assert_eq!(run_recorded(&rec, &["sh", "-c", &script]).status, Some(0));
    let recorded = processes(&rec);
    assert!(all_finished(&recorded));
    assert_eq!(recorded.iter().filter(|it| it.program.ends_with("/cat")).count(), 100);
    for number in [0, 49] {
        let written = [Op::CopyFileRange, Op::Write]
            .map(|op| calls(&recorded, op, &format!("/text.{number}")).1);
        assert_eq!(written.iter().sum::<u64>(), 12, "{number}");
    }
    let mut sizes = sizes(&rec);
    // The shell that runs the loop made a few thousand calls itself.
    sizes.sort_unstable();
    sizes.pop();
    let largest = sizes.last().unwrap();
    assert!(largest.0 <= 8192 && largest.1 <= 8192, "{largest:?}");
}

#[test]
fn a_file_is_as_long_as_what_it_holds_whatever_ends_the_process() {
    // Ends: by returning, by _exit, by becoming another program.
    for (name, writes) in [("plain", 3000), ("quick", 3000), ("exec", 3000)] {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let (rec, out) = (folder.path().join("rec"), folder.path().join("out"));
        let traps = program("traps.c", "cc", &[]);
        let count = writes.to_string();
        let command = [traps.to_str().unwrap(), name, out.to_str().unwrap(), &count];
        assert_eq!(run_recorded(&rec, &command).status, Some(0), "{name}");
        let files = if name == "exec" { 2 } else { 1 };
        assert_writes(&processes(&rec), writes * files);
        for (_, length) in sizes(&rec) {
            // About six bytes a call, and what was cut is at most what the first chunks leave.
            assert!((4096 + 3000 * 6..4096 + 3000 * 9).contains(&length), "{name}: {length}");
        }
    }
}

#[test]
fn many_threads_that_do_little_share_blocks() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let (rec, out) = (folder.path().join("rec"), folder.path().join("out"));
    let traps = program("traps.c", "cc", &[]);
    let command = [traps.to_str().unwrap(), "crowd", out.to_str().unwrap(), "40"];
    assert_eq!(run_recorded(&rec, &command).status, Some(0));
    assert_writes(&processes(&rec), 800);
    let [(on_disk, _)] = sizes(&rec)[..] else { panic!("one process, one file") };
    assert!(on_disk <= 41 * 4096 + 8192, "{on_disk}");
}

#[test]
fn a_killed_process_leaves_no_more() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let (rec, out) = (folder.path().join("rec"), folder.path().join("out"));
    let traps = program("traps.c", "cc", &[]);
    let command = [traps.to_str().unwrap(), "killed", out.to_str().unwrap(), "100"];
    assert_eq!(run_recorded(&rec, &command).status, None);
    let recorded = processes(&rec);
    assert_writes(&recorded, 100);
    assert_eq!(recorded[0].state, State::Running as u32, "nothing could say that it ended");
    assert_eq!(sizes(&rec), [(8192, 8192)]);
}
