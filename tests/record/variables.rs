//! Recordings that are asked for by variables alone.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use plimsoll_trace::Op;

use super::assert_writes;
use crate::support::command::{Outcome, binary};
use crate::support::recording::{calls, library, processes, program};

#[test]
fn variables_alone_are_enough() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let (rec, out) = (folder.path().join("rec"), folder.path().join("out"));
    fs::create_dir(&rec).unwrap();
    let status = Command::new(program("traps.c", "cc", &[]))
        .args(["plain", out.to_str().unwrap(), "90"])
        .env("LD_PRELOAD", library())
        .env("PLIMSOLL_RECORD_DIR", &rec)
        .status();
    assert!(status.unwrap().success());
    assert_writes(&processes(&rec), 90);
}

#[test]
fn variables_alone_make_the_directory_and_say_once_when_they_cannot() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let run = |directory: &str, script: &str| -> Outcome {
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(folder.path());
        command.env("LD_PRELOAD", library()).env("PLIMSOLL_RECORD_DIR", directory);
        command.output().unwrap().into()
    };
    let outcome = run("new/rec", "cd /; cat /etc/hostname > /dev/null; cat /etc/hostname");
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    let rec = folder.path().join("new/rec");
    assert!(calls(&processes(&rec), Op::Open, "/etc/hostname").0 >= 2, "in another directory");
    assert_eq!(fs::metadata(&rec).unwrap().permissions().mode() & 0o777, 0o700);
    fs::write(folder.path().join("file"), "").unwrap();
    for (wrong, why) in [
        ("/proc/nowhere/rec", "No such file"),
        ("file", "Not a directory"),
        ("/proc/a\u{1b}[2J\u{9b}2J", "/proc/a?[2J??2J: "),
    ] {
        let outcome = run(wrong, "cat /etc/hostname > /dev/null; ls > /dev/null; echo fine");
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(0), "fine\n"));
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
        assert!(outcome.stderr.starts_with("plimsoll: nothing is recorded"), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(why), "{}", outcome.stderr);
    }
    let script = format!(
        "PLIMSOLL_LIBRARY={} {} record cat /etc/hostname",
        library().display(),
        binary().get_program().display()
    );
    let outcome = run("file", &script);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("recorded into plimsoll-cat-"), "{}", outcome.stderr);
}
