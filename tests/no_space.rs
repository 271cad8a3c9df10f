//! Recording where there is no space left, or no leave to take it: it stops, the program does
//! not.

use std::process::{Command, Stdio};

use plimsoll_trace::Op;

use crate::command::binary;
use crate::record::trap;
use crate::recording::{calls, processes, program, run_recorded};

#[test]
fn a_file_size_limit_stops_the_recording_and_not_the_program() {
    let (outcome, recorded) = trap("file_size", 400_000);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let (count, _) = calls(&recorded, Op::Pwrite, "/out");
    let lost: u64 = recorded.iter().map(|process| process.lost).sum();
    assert!(lost > 0 && count > 0, "{count} recorded, {lost} lost");
    assert!(count + lost >= 400_000, "{count} recorded and {lost} lost of 400000");
}

/// A file system of a few hundred kilobytes; unmounted also when the test fails.
struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    /// `None` without the right to mount.
    fn new(size: &str) -> Option<Self> {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "none"])
            .arg(folder.path())
            .stderr(Stdio::null())
            .status();
        if !mount.is_ok_and(|status| status.success()) {
            eprintln!("SKIPPED: needs the right to mount a small file system");
            return None;
        }
        Some(SmallDisk { folder })
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.folder.path()).status();
    }
}

#[test]
fn a_full_disk_stops_the_recording_and_not_the_program() {
    let Some(disk) = SmallDisk::new("700k") else { return };
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let (rec, out) = (disk.folder.path().join("rec"), folder.path().join("out"));
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
}

#[test]
fn a_sandbox_stops_the_recording_at_most() {
    let (outcome, recorded) = trap("sandbox", 100_000);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let (count, _) = calls(&recorded, Op::Pwrite, "/out");
    let lost: u64 = recorded.iter().map(|process| process.lost).sum();
    assert!(count > 10 && count + lost >= 100_010, "{count} recorded and {lost} lost of 100010");
}
