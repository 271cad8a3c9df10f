//! Programs that leave a call by a jump out of a signal handler.

use std::process::Command;

use crate::support::command::Outcome;
use crate::support::recording::{program, record};

/// What the recorder did at that moment is no business of the other threads.
#[test]
fn a_call_that_was_left_holds_up_no_other_thread() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let timeouts = program("timeouts.c", "cc", &[]);
    let arguments = [folder.path().to_str().unwrap(), "1000"];
    let plain: Outcome = Command::new(&timeouts).args(arguments).output().unwrap().into();
    assert_eq!(plain.stdout, "the other thread goes on\n");
    let mut recorded = record(&folder.path().join("rec"));
    recorded.args(["--", "timeout", "--signal=KILL", "100"]).arg(&timeouts).args(arguments);
    let recorded: Outcome = recorded.output().unwrap().into();
    assert_eq!((recorded.status, recorded.stdout), (Some(0), plain.stdout), "{}", recorded.stderr);
}
