//! Summaries: what a report is made of, in files.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::command::{Outcome, binary};
use crate::support::recording::{program, run_recorded};

#[track_caller]
fn stdout(arguments: &[&str]) -> String {
    let outcome: Outcome = binary().args(arguments).output().unwrap().into();
    assert_eq!(outcome.status, Some(0), "{arguments:?}: {}", outcome.stderr);
    outcome.stdout
}

/// The error of a command that fails because of how it is used.
#[track_caller]
fn refusal(arguments: &[&str]) -> String {
    let outcome: Outcome = binary().args(arguments).output().unwrap().into();
    assert_eq!(outcome.status, Some(2), "{arguments:?}: {}", outcome.stdout);
    outcome.stderr
}

/// Reads a recording in three parts and compares the report of their summaries with that of the
/// recording, byte by byte; then the same with one summary of everything.
#[track_caller]
pub fn assert_parts_give_the_whole(recording: &Path) {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let recording = recording.to_str().unwrap();
    let parts = ["0", "1", "2"].map(|part| (format!("{part}/3"), at(part)));
    let mut processes = 0;
    for (part, summary) in &parts {
        let said =
            stdout(&["report", recording, "--part", part, "--save-summary", summary, "--json"]);
        let said: serde_json::Value = serde_json::from_str(&said).unwrap();
        processes += said["result"]["gathered_processes"].as_u64().unwrap();
    }
    let files = fs::read_dir(recording).unwrap().flatten();
    let recorded = files.filter(|file| file.path().extension().is_some_and(|it| it == "rec"));
    assert_eq!(processes, recorded.count() as u64);
    let [a, b, c] = parts.each_ref().map(|(_, summary)| summary.as_str());
    let (whole, page) = (at("whole"), at("page.html"));
    for form in [&["--json"][..], &[], &["--top", "3"]] {
        let all = stdout(&[&["report", recording], form].concat());
        assert_eq!(stdout(&[&["report", c, a, b], form].concat()), all);
        let saving = [&["report", recording, "--force", "--save-summary", &whole], form].concat();
        assert_eq!(stdout(&saving), all, "saving a summary changes no report");
        assert_eq!(stdout(&[&["report", &whole], form].concat()), all);
    }
    stdout(&["report", a, b, c, "--html", &page]);
    assert!(fs::read_to_string(&page).unwrap().contains("</html>"));
    let compared = |path: &str| stdout(&["compare", path, recording, "--json"]);
    assert_eq!(compared(&whole), compared(recording));
    let merged = at("merged");
    stdout(&["report", b, c, a, "--save-summary", &merged]);
    assert_eq!(fs::read(&merged).unwrap(), fs::read(&whole).unwrap(), "the order does not matter");
}

/// Three processes that write, and the shell that starts them.
fn recorded(folder: &Path) -> String {
    let traps = program("traps.c", "cc", &[]);
    let (traps, out) = (traps.to_str().unwrap(), folder.join("out"));
    let script = format!("for i in 1 2 3; do {traps} plain {}$i $((i * 100)); done", out.display());
    let recording = folder.join("rec");
    assert_eq!(run_recorded(&recording, &["sh", "-c", &script]).status, Some(0));
    recording.to_str().unwrap().to_string()
}

#[test]
fn parts_give_the_report_of_the_whole() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    assert_parts_give_the_whole(Path::new(&recorded(folder.path())));
}

#[test]
fn a_summary_outlives_its_recording() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let recording = recorded(folder.path());
    let summary = folder.path().join("kept").to_str().unwrap().to_string();
    let before = stdout(&["report", &recording, "--save-summary", &summary, "--json"]);
    let size = |path: &str| fs::metadata(path).unwrap().len();
    fs::remove_dir_all(&recording).unwrap();
    assert_eq!(stdout(&["report", &summary, "--json"]), before);
    assert!(size(&summary) < 300_000, "{}", size(&summary));
    let again = refusal(&["report", &summary, "--save-summary", &summary]);
    assert!(again.contains("exists; hint:"), "{again}");
}

#[test]
fn what_cannot_be_merged_is_refused() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let recording = recorded(folder.path());
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let [first, second, other] = ["first", "second", "other"].map(at);
    stdout(&["report", &recording, "--part", "0/2", "--save-summary", &first]);
    stdout(&["report", &recording, "--part", "1/2", "--save-summary", &second]);
    stdout(&["report", &recording, "--include-runtime", "--save-summary", &other]);
    let half = refusal(&["report", &first]);
    assert!(half.contains("2 of 4 processes are in none of the parts"), "{half}");
    assert!(half.contains("hint: give all summaries"), "{half}");
    let twice = refusal(&["report", &first, &second, &first]);
    assert!(twice.contains("is in two of the parts"), "{twice}");
    let mixed = refusal(&["report", &first, &other]);
    assert!(mixed.contains("cannot be merged"), "{mixed}");
    let runtime = refusal(&["report", &first, &second, "--include-runtime"]);
    assert!(runtime.contains("saved without --include-runtime"), "{runtime}");
    let directory = refusal(&["report", &first, &recording]);
    assert!(directory.contains("is a directory"), "{directory}");
    let part = refusal(&["report", &first, "--part", "0/2", "--save-summary", &at("part")]);
    assert!(part.contains("--part is for a recording"), "{part}");
    let wrong = refusal(&["report", &recording, "--part", "2/2", "--save-summary", &at("part")]);
    assert!(wrong.contains("from 0 to N - 1"), "{wrong}");
    let unsaved = refusal(&["report", &recording, "--part", "0/2"]);
    assert!(unsaved.contains("--into DIR"), "{unsaved}");
    let parts = at("parts");
    let unknown = refusal(&["report", &recording, "--into", &parts]);
    assert!(unknown.contains("SLURM_PROCID") && unknown.contains("--part I/N"), "{unknown}");
    stdout(&["report", &recording, "--part", "1/2", "--into", &parts]);
    let absent = refusal(&["report", "--merge", &parts]);
    assert!(absent.contains("1 of 2 parts in") && absent.contains("is absent: 0;"), "{absent}");
    stdout(&["report", &recording, "--part", "0/2", "--into", &parts]);
    let whole = stdout(&["report", &recording, "--json"]);
    assert_eq!(stdout(&["report", "--merge", &parts, "--json"]), whole);

    let mut bytes = fs::read(&first).unwrap();
    bytes.truncate(bytes.len() / 2);
    fs::write(at("cut"), bytes).unwrap();
    let cut = refusal(&["report", &at("cut"), &second]);
    assert!(cut.contains("cut") && cut.contains("damaged"), "{cut}");
    fs::write(at("text"), "something else").unwrap();
    let text = refusal(&["report", &at("text")]);
    assert!(text.contains("neither a recording nor a summary"), "{text}");
    assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    let pipe = refusal(&["report", &first, &at("pipe")]);
    assert!(pipe.contains("pipe"), "{pipe}");
}

/// Anyone who may write to the directory of a recording may add notes.
#[test]
fn people_see_a_hundred_notes_and_programs_all() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let recording = recorded(folder.path());
    let marker = Path::new(&recording).join(plimsoll_trace::marker::NAME);
    let text = fs::read_to_string(&marker).unwrap();
    let notes: String = (0..5000).map(|number| format!("note _{number}_\n")).collect();
    fs::write(&marker, text + &notes).unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let [summary, page] = ["summary", "page.html"].map(at);
    stdout(&["report", &recording, "--save-summary", &summary]);
    for path in [&recording, &summary] {
        let said = stdout(&["report", path, "--force", "--html", &page]);
        for shown in [said, fs::read_to_string(&page).unwrap()] {
            assert!(shown.contains("_50_") && !shown.contains("_100_"), "{shown}");
            assert!(shown.contains(" more notes"), "{shown}");
        }
        let json: serde_json::Value =
            serde_json::from_str(&stdout(&["report", path, "--json"])).unwrap();
        assert!(json["result"]["notes"].as_array().unwrap().len() >= 4096);
    }
}
