//! Recording where there is no space left, or no leave to take it: it stops, the program does
//! not.

use plimsoll_trace::Op;

use crate::support::command::binary;
use crate::support::recording::{calls, processes, program, run_recorded, trap};
use crate::support::storage::{SmallDisk, Storage};

#[test]
fn a_file_size_limit_stops_the_recording_and_not_the_program() {
    let (outcome, recorded) = trap("file_size", 400_000);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let (count, _) = calls(&recorded, Op::Pwrite, "/out");
    let lost: u64 = recorded.iter().map(|process| process.lost).sum();
    assert!(lost > 0 && count > 0, "{count} recorded, {lost} lost");
    assert!(count + lost >= 400_000, "{count} recorded and {lost} lost of 400000");
}

#[test]
fn a_full_disk_stops_the_recording_and_not_the_program() {
    let storage = Storage::with_targets(2);
    let (small, large) = (&storage.targets[0], &storage.targets[1]);
    let Some(_disk) = SmallDisk::mount(small, "700k") else { return };
    let (rec, out) = (small.join("rec"), large.join("out"));
    let traps = program("traps.c", "cc", &[]);
    let command = [traps.to_str().unwrap(), "plain", out.to_str().unwrap(), "300000"];
    let outcome = run_recorded(&rec, &command);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let recorded = processes(&rec);
    let (count, _) = calls(&recorded, Op::Pwrite, "/out");
    let lost: u64 = recorded.iter().map(|process| process.lost).sum();
    assert!(count > 0 && lost > 0, "{count} recorded, {lost} lost");
    assert!(count + lost >= 300_000, "{count} recorded and {lost} lost of 300000");
    let report = binary().args(["report", "--json"]).arg(&rec).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!(report["result"]["lost_events"], lost, "the report says what is missing");
    let notes = report["result"]["notes"].to_string();
    assert!(notes.contains("no space left on device (ENOSPC)"), "and why: {notes}");
    let concluded = report["result"]["conclusion"].as_str().unwrap();
    assert!(
        concluded.contains("are missing") && !concluded.contains("Nothing costs"),
        "{concluded}"
    );
}

#[test]
fn a_sandbox_stops_the_recording_at_most() {
    let (outcome, recorded) = trap("sandbox", 100_000);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let (count, _) = calls(&recorded, Op::Pwrite, "/out");
    let lost: u64 = recorded.iter().map(|process| process.lost).sum();
    assert!(count > 10 && count + lost >= 100_010, "{count} recorded and {lost} lost of 100010");
}
