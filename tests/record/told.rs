//! The first minutes: a program behind `record`, the line that says where the recording is, and commands that find it.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::command::{Outcome, binary};
use crate::support::recording::library;

fn plimsoll_in(place: &Path, arguments: &[&str]) -> Outcome {
    let mut command = binary();
    command.env("PLIMSOLL_LIBRARY", library()).args(arguments).current_dir(place);
    command.output().unwrap().into()
}

/// The name that the last line on stderr tells.
fn told(outcome: &Outcome) -> String {
    let line = outcome.stderr.lines().last().unwrap_or_default();
    let (name, command) = line
        .strip_prefix("plimsoll: recorded into ")
        .and_then(|it| it.split_once("; to see it: "))
        .expect(line);
    assert_eq!(command, format!("plimsoll report {name}"));
    name.to_string()
}

#[test]
fn a_program_needs_no_dashes_and_keeps_its_own_options() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let place = folder.path();
    let outcome =
        plimsoll_in(place, &["record", "sh", "-c", "echo --json; echo err >&2; exit 5", "--wide"]);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(5), "--json\n"));
    assert!(
        outcome.stderr.starts_with("err\nplimsoll: recorded into plimsoll-sh-"),
        "{}",
        outcome.stderr
    );
    assert!(place.join(told(&outcome)).is_dir());
    let quiet = plimsoll_in(place, &["record", "-q", "true"]);
    assert_eq!((quiet.status, quiet.stderr.as_str()), (Some(0), ""));
    let wrong = plimsoll_in(place, &["record", "--unknown", "true"]);
    assert_eq!(wrong.status, Some(2));
    let missing = plimsoll_in(place, &["record", "-o", "gone", "no-such-program"]);
    assert_eq!(missing.status, Some(127));
    assert!(!missing.stderr.contains("recorded into"), "{}", missing.stderr);
    assert!(!place.join("gone").exists(), "nothing is left of it");
}

#[test]
fn commands_without_a_recording_take_the_newest_of_the_users_own() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let place = folder.path();
    let nothing = plimsoll_in(place, &["report"]);
    assert_eq!(nothing.status, Some(2));
    assert!(
        nothing.stderr.contains("hint: make one with `plimsoll record COMMAND`"),
        "{}",
        nothing.stderr
    );
    let record = |name: &str, count: &str| {
        plimsoll_in(place, &["record", "-o", name, "dd", "if=/dev/zero", "of=out", count])
    };
    let line = "plimsoll: recorded into z first; to see it: plimsoll report 'z first'\n";
    let first = record("z first", "count=3");
    assert!(first.stderr.ends_with(line), "{}", first.stderr);
    let lonely = plimsoll_in(place, &["compare"]);
    assert!(lonely.stderr.contains("there is only one here"), "{}", lonely.stderr);
    record("a second", "count=7");
    // What is newer still is no recording, leads elsewhere, or belongs to somebody else.
    fs::create_dir(place.join("b")).unwrap();
    std::os::unix::fs::symlink(place.join("z first"), place.join("c")).unwrap();
    let copied = Command::new("cp").args(["-r", "z first", "theirs"]).current_dir(place).status();
    assert!(copied.unwrap().success());
    if std::os::unix::fs::chown(place.join("theirs"), Some(65_533), None).is_err() {
        println!("SKIPPED: a recording of somebody else needs root");
        fs::remove_dir_all(place.join("theirs")).unwrap();
    }
    let report = plimsoll_in(place, &["report"]);
    assert_eq!(report.status, Some(0), "{}", report.stderr);
    assert_eq!(report.stderr, "plimsoll: a second, the newest recording here\n");
    assert!(report.stdout.starts_with("recording a second\n"), "{}", report.stdout);
    let compare = plimsoll_in(place, &["compare"]);
    assert!(compare.stdout.starts_with("a second against z first\n"), "{}", compare.stdout);
    let export = plimsoll_in(place, &["export"]);
    assert_eq!(export.status, Some(0), "{}", export.stderr);
    assert!(place.join("a second.parquet").is_file());
    let inside = plimsoll_in(&place.join("z first"), &["report"]);
    assert!(inside.stdout.contains("count=3"), "{}", inside.stdout);
}
