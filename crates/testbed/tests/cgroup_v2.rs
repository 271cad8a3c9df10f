//! Limits where there is only cgroup v2: for those who are in a cgroup of the bed.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{TempBed, has_loop_devices};
use plimsoll_machine::{BlockControl, Machine};
use plimsoll_testbed::{Direction, Effect};

/// The hierarchy; otherwise says that limits are elsewhere.
fn unified() -> Option<PathBuf> {
    match Machine::host().block_control() {
        Ok(BlockControl::V2 { hierarchy }) => Some(hierarchy),
        _ => {
            println!("SKIPPED: needs cgroup v2 with io and memory, and no blkio of v1");
            None
        }
    }
}

/// The cgroup of this process.
fn own_group(hierarchy: &Path) -> PathBuf {
    let text = fs::read_to_string("/proc/self/cgroup").unwrap();
    let path = text.lines().find_map(|line| line.strip_prefix("0::/")).unwrap();
    hierarchy.join(path)
}

#[test]
fn limits_hold_for_those_who_enter_and_change_meanwhile() {
    let (true, Some(hierarchy)) = (has_loop_devices(), unified()) else { return };
    let bed = TempBed::new();
    bed.up(1);
    let t0 = "t0".parse().unwrap();
    let slow = |limit: &str| bed.bed.slow(t0, limit.parse().unwrap(), Direction::Write).unwrap();
    assert!(bed.bed.limits_hold_here().unwrap(), "there are none");
    assert_eq!(slow("20MiB/s").effect, Effect::UnderRun);
    assert!(!bed.bed.limits_hold_here().unwrap());

    let home = own_group(&hierarchy);
    let under = bed.bed.enter().unwrap();
    let group = own_group(&hierarchy);
    assert_ne!(group, home);
    assert!(bed.bed.limits_hold_here().unwrap());
    let rules = || fs::read_to_string(group.join("io.max")).unwrap();
    assert!(rules().contains("wbps=20971520"), "{}", rules());
    slow("2MiB/s");
    assert!(rules().contains("wbps=2097152 "), "{}", rules());
    bed.bed.normal(t0).unwrap();
    assert_eq!(rules(), "");

    drop(under);
    assert_eq!(own_group(&hierarchy), home);
    assert!(!group.exists());
}
