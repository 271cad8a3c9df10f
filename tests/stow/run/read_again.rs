//! Files that are read again and again, so that everything is known of them, while something happens to them, to the descriptor or to who reads.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use super::Stowed;
use crate::support::recording::program;

/// Descriptors whose numbers become other files'; writes, truncations, holes and other names meanwhile; signal handlers that read, write and fork, or leave reads for good; threads
/// that are cancelled; numbers that are exchanged while they are read; positions; small parts in order.
#[test]
fn what_is_read_is_what_is_there() {
    let reads = program("read_again.c", "cc", &[]);
    let descriptors =
        ["numbers", "written", "handlers", "jumps", "threads", "exchanged", "positions"];
    for group in descriptors.into_iter().chain(["small parts", "shared parts"]) {
        let stowed = Stowed::new();
        let mut command = stowed.command(&["--small", "0B"]);
        let output = command.arg(&reads).args([group, "file"]).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), stderr.as_ref()), (Some(0), ""), "{group}");
    }
}

/// What writers share is looked at by memory, which is gone then.
#[test]
fn a_state_that_somebody_cuts_does_not_end_who_reads() {
    let stowed = Stowed::new();
    let mut command = stowed.command(&["--small", "0B"]);
    command.arg(program("read_again.c", "cc", &[])).args(["waits", "file"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut says = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    says.read_line(&mut line).unwrap();
    assert_eq!(line, "known\n");
    File::options().write(true).open(stowed.at("file/state")).unwrap().set_len(0).unwrap();
    child.stdin.take().unwrap().write_all(b"go on\n").unwrap();
    assert!(child.wait().unwrap().success());
}
