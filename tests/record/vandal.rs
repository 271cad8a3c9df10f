//! Programs that damage their own recording go on as if nothing was.

use std::os::unix::process::ExitStatusExt;

use crate::support::recording::{program, record};

/// How it ends: its status or signal, and what it prints.
fn run(how: &str) -> (Option<i32>, Option<i32>, String) {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let vandal = program("vandal.c", "cc", &["-Wno-unused-result"]);
    let out = folder.path().join("out");
    let mut command = record(&folder.path().join("rec"));
    let output = command.arg("--").arg(&vandal).arg(how).arg(&out).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    (output.status.code(), output.status.signal(), text)
}

#[test]
fn a_recording_that_its_program_cuts_off_or_overwrites_costs_the_program_nothing() {
    // Also where it has a handler of its own, which is not for that.
    for how in ["cut", "rubbish", "restored", "own", "older"] {
        assert_eq!(run(how), (Some(0), None, "done\n".into()), "{how}");
    }
}

#[test]
fn signals_do_what_they_do_without_a_recording() {
    const SIGBUS: i32 = 7;
    assert_eq!(run("handler"), (Some(3), None, "handled\n".into()));
    assert_eq!(run("fault"), (None, Some(SIGBUS), String::new()));
    assert_eq!(run("raise"), (None, Some(SIGBUS), String::new()));
    assert_eq!(run("once"), (None, Some(SIGBUS), "noticed\n".into()));
    assert_eq!(run("told"), (Some(0), None, "own\ndone\n".into()));
    assert_eq!(run("ask"), (Some(0), None, "default\ndone\n".into()));
}

/// A clock that may not be read, and system calls that may not be made, end a program.
#[test]
fn programs_that_give_up_their_clock_or_nearly_all_calls_are_left_alone() {
    for how in ["strict", "no-clock"] {
        assert_eq!(run(how), (Some(0), None, "done\n".into()), "{how}");
    }
}
