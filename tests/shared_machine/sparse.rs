//! Files that claim to be huge, and have next to nothing in them.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use crate::support::command::{Outcome, binary};
use crate::support::recording::record;

/// Of files that are nothing but holes: days of reading.
const HUGE: u64 = 1 << 43;

/// Runs the program; whatever takes that long reads holes.
fn run(folder: &Path, arguments: &[&str]) -> Outcome {
    let mut command = Command::new("timeout");
    command.arg("60").arg(binary().get_program()).args(arguments).current_dir(folder);
    let outcome: Outcome = command.output().unwrap().into();
    assert_ne!(outcome.status, Some(124), "it takes too long: {arguments:?}");
    outcome
}

#[test]
fn holes_of_a_recording_are_not_read() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let recording = folder.path().join("rec");
    let outcome: Outcome = record(&recording).args(["--", "ls", "/"]).output().unwrap().into();
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let is_process = |path: &Path| path.extension().is_some_and(|it| it == "rec");
    let mut files = fs::read_dir(&recording).unwrap().map(|it| it.unwrap().path());
    let path = files.find(|path| is_process(path)).unwrap();
    let file = File::options().write(true).open(path).unwrap();
    if file.set_len(HUGE).is_err() {
        eprintln!("SKIPPED: the file system knows no file of 8 TiB");
        return;
    }
    let taken = std::mem::offset_of!(plimsoll_trace::layout::FileHeader, taken_bytes);
    file.write_all_at(&HUGE.to_le_bytes(), taken as u64).unwrap();
    for arguments in
        [&["report", "rec"][..], &["export", "rec", "--to", "parquet", "-o", "calls.parquet"]]
    {
        let outcome = run(folder.path(), arguments);
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        let told = [outcome.stdout, outcome.stderr].concat();
        assert!(told.contains("is damaged: "), "{told}");
    }
}

#[test]
fn results_and_tables_that_are_holes_are_refused() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    for name in ["journal.ndjson", "pairs.parquet", "summary.json", "table.csv", "site.toml"] {
        let results = folder.path().join("results");
        let _ = fs::remove_dir_all(&results);
        fs::create_dir(&results).unwrap();
        let file = File::create(results.join(name)).unwrap();
        file.write_all_at(b"{\"format\":\"plimsoll bench journal\",\"version\":1}\n", 0).unwrap();
        if file.set_len(HUGE).is_err() {
            eprintln!("SKIPPED: the file system knows no file of 8 TiB");
            return;
        }
        let path = format!("results/{name}");
        for arguments in [
            &["report", "results"][..],
            &["score", "results"],
            &["report", &path],
            &["score", "--from-csv", &path, "--value", "a"],
            &["site", "check", &path],
            &["simulate", &path],
            &["bench", &path, "-o", "out"],
        ] {
            let outcome = run(folder.path(), arguments);
            assert_eq!(outcome.status, Some(2), "{arguments:?}: {}", outcome.stderr);
        }
        let refused = run(folder.path(), &["report", &path]);
        assert!(refused.stderr.contains("it claims 8796093022208 bytes"), "{}", refused.stderr);
    }
}

#[test]
fn a_summary_that_is_a_hole_is_refused() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let recording = folder.path().join("rec");
    let outcome: Outcome = record(&recording).args(["--", "ls", "/"]).output().unwrap().into();
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let saved = run(folder.path(), &["report", "rec", "--save-summary", "summary"]);
    assert_eq!(saved.status, Some(0), "{}", saved.stderr);
    let file = File::options().write(true).open(folder.path().join("summary")).unwrap();
    // Read in no time, but each byte of the hole may be a value of many bytes.
    file.set_len(500 << 20).unwrap();
    let refused = run(folder.path(), &["report", "summary"]);
    assert_eq!(refused.status, Some(2), "{}", refused.stdout);
    assert!(refused.stderr.contains("it claims 524288000 bytes and stores"), "{}", refused.stderr);
}

#[test]
fn a_part_of_an_analysis_that_is_a_hole_is_refused() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    fs::create_dir(folder.path().join("parts")).unwrap();
    let file = File::create(folder.path().join("parts/part-0-of-1")).unwrap();
    file.set_len(700 << 20).unwrap();
    let refused = run(folder.path(), &["analyze", "--merge", "parts"]);
    assert_eq!(refused.status, Some(2), "{}", refused.stdout);
    assert!(refused.stderr.contains("it claims 734003200 bytes and stores"), "{}", refused.stderr);
}
