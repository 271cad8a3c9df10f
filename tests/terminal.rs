//! What is printed cannot steer a terminal, wherever it comes from.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use crate::support::command::{Outcome, binary};
use crate::support::recording::run_recorded;

/// Clears the screen, sets the title, turns the direction of writing; once by a control character of one byte.
const HOSTILE: &str = "x\u{1b}[2J\u{1b}]0;mine\u{7}\u{9b}31m\u{202e}\u{7f}y";

#[track_caller]
fn assert_harmless(outcome: &Outcome) {
    for text in [&outcome.stdout, &outcome.stderr] {
        let steers = |it: char| it.is_control() && !matches!(it, '\n' | '\t') || it == '\u{202e}';
        assert!(!text.chars().any(steers), "{text:?}");
    }
}

fn run(arguments: &[&str]) -> Outcome {
    binary().args(arguments).output().unwrap().into()
}

#[test]
fn what_people_type_comes_back_harmless() {
    for arguments in [
        &["report", HOSTILE][..],
        &["simulate", HOSTILE],
        &["simulate", "quiet", "--policy", HOSTILE],
        &["score", HOSTILE],
        &["site", "check", HOSTILE],
        &["model", HOSTILE],
        &["bench", "target", "--targets", HOSTILE],
        &[HOSTILE],
    ] {
        let outcome = run(arguments);
        assert_eq!(outcome.status, Some(2), "{arguments:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("\\u{9b}"), "{arguments:?}: {}", outcome.stderr);
        assert_harmless(&outcome);
    }
}

#[test]
fn names_in_recordings_are_shown_harmless() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let (rec, file) = (folder.path().join("rec"), folder.path().join(HOSTILE));
    fs::write(&file, "data").unwrap();
    let outcome = run_recorded(&rec, &["cat", file.to_str().unwrap()]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let marker = rec.join("recording.txt");
    let text = fs::read_to_string(&marker).unwrap();
    fs::write(&marker, format!("{text}note {HOSTILE}\n")).unwrap();
    let rec = rec.to_str().unwrap();
    for arguments in [&["report", rec][..], &["report", rec, "--json"], &["compare", rec, rec]] {
        let outcome = run(arguments);
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        assert_harmless(&outcome);
    }
    let json: serde_json::Value =
        serde_json::from_str(&run(&["report", rec, "--json"]).stdout).unwrap();
    assert!(json.to_string().contains("2J"), "the name is in it");
}

#[test]
fn keys_and_values_of_files_are_shown_harmless() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let file = folder.path().join("site.toml");
    let path = file.to_str().unwrap();
    for text in
        [format!("\"{}\" = 1\n", HOSTILE.escape_default()), format!("version = \"{HOSTILE}\"\n")]
    {
        let text = text.replace("\\u{1b}", "\\u001b").replace("\\u{7}", "\\u0007");
        fs::write(
            &file,
            text.replace("\\u{9b}", "\\u009b")
                .replace("\\u{7f}", "\\u007f")
                .replace("\\u{202e}", "\\u202e"),
        )
        .unwrap();
        for arguments in [&["site", "check", path][..], &["simulate", path]] {
            let outcome = run(arguments);
            assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
            assert_harmless(&outcome);
        }
    }
}

#[test]
fn a_name_that_is_no_text_is_shown_too() {
    let outcome: Outcome = Command::new(binary().get_program())
        .arg("report")
        .arg(OsStr::from_bytes(b"/no/\xff\x1b[1m"))
        .output()
        .unwrap()
        .into();
    assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
    assert_harmless(&outcome);
}

/// A document for other tools that somebody looks at all the same.
#[test]
fn an_export_to_a_terminal_is_harmless_and_to_a_file_as_it_is() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let (rec, file) = (folder.path().join("rec"), folder.path().join(HOSTILE));
    fs::write(&file, "data").unwrap();
    assert_eq!(run_recorded(&rec, &["cat", file.to_str().unwrap()]).status, Some(0));
    let export = format!(
        "{} export {} --to perfetto -o - 2> /dev/null",
        binary().get_program().display(),
        rec.display()
    );
    // A terminal of its own for the command (script(1)).
    let seen = Command::new("script").args(["-qec", &export, "/dev/null"]).output().unwrap();
    let seen: Outcome = seen.into();
    assert_eq!(seen.status, Some(0), "{}", seen.stderr);
    let steers = |it: char| it.is_control() && !matches!(it, '\n' | '\r') || it == '\u{202e}';
    assert!(!seen.stdout.chars().any(steers), "{:?}", seen.stdout);
    let written = Command::new("sh").args(["-c", &export]).output().unwrap();
    let written: Outcome = written.into();
    assert!(written.stdout.contains('\u{9b}') && written.stdout.contains('\u{202e}'));
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(json(&seen.stdout), json(&written.stdout));
}
