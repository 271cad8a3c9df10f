//! A kill at any moment loses nothing that was kept.

mod common;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use plimsoll_measures::{Journal, Results};
use serde_json::json;

/// Cargo builds examples beside the directory of this test.
fn experiment() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().parent().unwrap().join("examples/endless_experiment")
}

/// Killed and waited for, also when the test fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs the experiment until it has kept `least` instances and some time more. Returns the
/// number of the last instance that it said to have kept.
fn run_and_kill(directory: &Path, least: u64, more: Duration) -> u64 {
    let mut command = Command::new(experiment());
    let child = command.arg(directory).stdout(Stdio::piped()).spawn().unwrap();
    let mut running = Running(child);
    let mut output = running.0.stdout.take().unwrap();
    let (mut number, mut last) = ([0; 8], None);
    for _ in 0..least {
        output.read_exact(&mut number).unwrap();
        last = Some(u64::from_ne_bytes(number));
    }
    std::thread::sleep(more);
    drop(running);
    // What it had said before it was killed is still in the pipe.
    while output.read_exact(&mut number).is_ok() {
        last = Some(u64::from_ne_bytes(number));
    }
    last.unwrap()
}

#[test]
fn everything_that_was_kept_is_read_back() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path().join("results");
    let mut torn = 0;
    for round in 0..25u64 {
        let more = Duration::from_micros(round * 1_237 % 9_001);
        let last = run_and_kill(&directory, 1 + round % 3, more);
        let results = Results::open(&directory).unwrap();
        let read = results.instances().unwrap().map(Result::unwrap);
        let mut next = 0;
        for instance in read {
            assert_eq!(instance, common::instance(next, next % 997), "round {round}");
            next += 1;
        }
        assert!(next > last, "round {round}: instance {last} was kept, {next} instances are read");
        assert!(next <= last + 2, "round {round}: nothing but the last one may be unsaid");
        let (journal, resumed) = Journal::resume(&directory).unwrap();
        assert_eq!(resumed.instances, next);
        torn += u32::from(resumed.torn);
        drop(journal);
        assert!(!Journal::resume(&directory).unwrap().1.torn, "a torn line is dropped once");
    }
    println!("{torn} of 25 kills cut a line off");
    let (journal, _) = Journal::resume(&directory).unwrap();
    journal.finish(true, json!({})).unwrap();
    assert!(Journal::resume(&directory).is_err());
}
