//! Recordings whose path is as long as a path can be.

use std::fs;
use std::path::{Path, PathBuf};

use plimsoll_trace::Op;

use crate::support::command::Outcome;
use crate::support::recording::{all_finished, calls, processes, record};

/// A directory that is there, with a path of this many bytes.
fn of_length(folder: &Path, length: usize) -> PathBuf {
    let mut path = folder.to_path_buf();
    while path.as_os_str().len() < length {
        let room = length - path.as_os_str().len() - 1;
        // Not one byte short: a further name needs two.
        path.push("d".repeat(if room > 202 { 200 } else { room }));
    }
    assert_eq!(path.as_os_str().len(), length);
    fs::create_dir_all(&path).unwrap();
    path
}

#[test]
fn a_recording_may_have_the_longest_path() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    fs::write(folder.path().join("in"), "data").unwrap();
    // The kernel's limit is 4095 bytes; what is in it must have a name by its whole path for other programs.
    for length in [1000, 1020, 1100, 1275, 1400, 3900] {
        let rec = of_length(folder.path(), length);
        // A shell and what it starts, with another environment.
        let script = "env -i /bin/cat in; /bin/cat in";
        let mut command = record(&rec);
        command.args(["--", "sh", "-c", script]).current_dir(folder.path());
        let outcome: Outcome = command.output().unwrap().into();
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(0), "datadata"), "{length}");
        let recorded = processes(&rec);
        assert!(all_finished(&recorded), "{length}");
        assert_eq!(calls(&recorded, Op::Read, "in").1, 8, "{length}");
    }
}

#[test]
fn a_command_may_be_long_and_others_join_its_recording() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let rec = folder.path().join("rec");
    let inner = record(&rec);
    let mut outer = record(&rec);
    outer.arg("--").arg(inner.get_program()).args(inner.get_args());
    outer.args(["--", "true"]).arg("ä".repeat(50_000));
    let outcome: Outcome = outer.output().unwrap().into();
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let marker = fs::read_to_string(rec.join("recording.txt")).unwrap();
    let command = marker.lines().find(|line| line.starts_with("command ")).unwrap();
    assert!(command.len() < 20_000 && command.ends_with("ä …"), "{} bytes", command.len());
}

#[test]
fn a_path_that_is_too_long_is_told() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let mut rec = of_length(folder.path(), 3900);
    rec.push("r".repeat(200));
    let outcome: Outcome = record(&rec).args(["--", "true"]).output().unwrap().into();
    assert_eq!(outcome.status, Some(2));
    assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    let globs = "x".repeat(5000);
    let outcome: Outcome = record(&folder.path().join("rec"))
        .args(["--include", &globs, "--", "true"])
        .output()
        .unwrap()
        .into();
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.stderr.contains("globs of 5000 bytes"), "{}", outcome.stderr);
}
