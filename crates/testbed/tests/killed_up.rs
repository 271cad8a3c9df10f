//! `down` after a process that was killed while it made a bed.

mod common;

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use common::{TempBed, has_loop_devices, loop_targets};
use plimsoll_testbed::{DownOptions, FileCondition, Progress, TargetState, Testbed, TestbedError};

/// Tells the child where to make a bed.
const BASE: &str = "PLIMSOLL_TEST_BASE";
/// Tells the child the step before which it kills itself.
const DIE_AT: &str = "PLIMSOLL_TEST_DIE_AT";

/// Not a test of its own: the process that the others kill.
#[test]
fn child_that_makes_a_bed() {
    let Some(base) = std::env::var_os(BASE) else { return };
    let die_at = std::env::var(DIE_AT).unwrap_or_default();
    let bed = Testbed::in_base(&PathBuf::from(base), "bed").unwrap();
    let mut tell = |progress: &Progress| {
        let step = format!("{} {:?}", progress.target, progress.step);
        println!("{step}");
        if step.starts_with(&die_at) && !die_at.is_empty() {
            let me = rustix::process::getpid();
            rustix::process::kill_process(me, rustix::process::Signal::KILL).unwrap();
        }
    };
    bed.up(&loop_targets(2), &mut tell).unwrap();
}

fn spawn_child(bed: &TempBed, die_at: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_that_makes_a_bed", "--nocapture"])
        .env(BASE, bed.base())
        .env(DIE_AT, die_at)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn assert_down_cleans(bed: &TempBed) {
    bed.bed.down(DownOptions::default()).unwrap();
    bed.assert_nothing_left();
    assert!(!bed.bed.list().unwrap().exists);
}

#[test]
fn killed_between_steps() {
    if !has_loop_devices() {
        return;
    }
    for step in [
        "t0 Writing { written: Bytes(0)",
        "t0 Writing { written: Bytes(8388608)",
        "t0 Attaching",
        "t0 Formatting",
        "t0 Mounting",
        "t1 Attaching",
        "t1 Mounting",
        "t1 Ready",
    ] {
        let bed = TempBed::new();
        assert!(!spawn_child(&bed, step).wait_with_output().unwrap().status.success());
        let listing = bed.bed.list().unwrap();
        assert!(listing.exists, "{step}");
        assert_eq!(listing.state_file, FileCondition::Unfinished, "{step}");
        let half_made = listing.targets.iter().any(|t| t.state == TargetState::HalfMade);
        assert!(half_made || step == "t1 Ready", "{step}: {listing:?}");
        let again = bed.bed.up(&loop_targets(1), &mut |_| ()).unwrap_err();
        assert!(matches!(again, TestbedError::Exists { .. }), "{step}: {again}");
        assert_down_cleans(&bed);
    }
}

#[test]
fn killed_within_steps() {
    if !has_loop_devices() {
        return;
    }
    for step in ["", "t0 Attaching", "t0 Formatting", "t0 Mounting", "t0 Ready", "t1 Formatting"] {
        let bed = TempBed::new();
        let mut child = spawn_child(&bed, "");
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // The child goes on while the line is read, and so dies within the step. A
        // losetup or mkfs that it started lives on, and `down` waits for it.
        let mut told = lines.map(Result::unwrap);
        told.find(|line| line.starts_with(step));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_down_cleans(&bed);
    }
}
