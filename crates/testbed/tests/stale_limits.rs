//! A limit outlives the file that its loop device had. In a program of its own, so that
//! no other test takes the device in between.

mod common;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use common::{TempBed, blkio, has_loop_devices, rules, system};
use plimsoll_domain::Limit;
use plimsoll_machine::{DeviceNumber, Machine, THROTTLE_FILES};
use plimsoll_testbed::{Direction, DownOptions, TargetDevice};

/// So high that it slows nobody who might get the device.
const LIMIT: &str = "1TiB/s";

/// One test at a time.
static DEVICES: Mutex<()> = Mutex::new(());

/// A bed whose device was limited and then detached by hand: the kernel keeps the rule.
struct Detached {
    bed: TempBed,
    device: TargetDevice,
    hierarchy: PathBuf,
    _only: MutexGuard<'static, ()>,
}

impl Detached {
    fn new() -> Option<Self> {
        let (true, Some(hierarchy)) = (has_loop_devices(), blkio()) else { return None };
        let only = DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
        let bed = TempBed::new();
        let device = bed.up(1).listing.targets[0].device.clone().unwrap();
        let limit: Limit = LIMIT.parse().unwrap();
        bed.bed.slow("t0".parse().unwrap(), limit, Direction::Both).unwrap();
        system("umount", &[bed.path("t0").as_os_str()]);
        system("losetup", &[OsStr::new("-d"), device.path.as_os_str()]);
        assert!(!rules(&hierarchy, device.number).is_empty());
        Some(Self { bed, device, hierarchy, _only: only })
    }

    fn rules(&self) -> Vec<String> {
        rules(&self.hierarchy, self.device.number)
    }

    fn down(&self) {
        self.bed.bed.down(DownOptions::default()).unwrap();
    }
}

impl Drop for Detached {
    fn drop(&mut self) {
        remove_rules_of_free_device(&self.hierarchy, self.device.number);
    }
}

fn set_rules(hierarchy: &Path, number: DeviceNumber, value: u64) {
    for file in THROTTLE_FILES {
        fs::write(hierarchy.join(file), format!("{number} {value}\n")).unwrap();
    }
}

/// A device in use may have got another owner by now, whose rules are not ours.
fn remove_rules_of_free_device(hierarchy: &Path, number: DeviceNumber) {
    let devices = Machine::host().block_devices().unwrap();
    if devices.iter().any(|device| device.number == number && device.backing.is_none()) {
        set_rules(hierarchy, number, 0);
    }
}

#[test]
fn limits_of_a_device_that_was_detached_by_hand_go_with_the_bed() {
    let Some(detached) = Detached::new() else { return };
    detached.down();
    assert_eq!(detached.rules(), Vec::<String>::new());
    detached.bed.assert_nothing_left();
}

/// Somebody else has the device now, and is slowed by a bed's limit.
#[test]
fn limits_of_a_device_that_somebody_else_uses_go_if_they_are_the_beds() {
    for is_changed in [false, true] {
        let Some(detached) = Detached::new() else { return };
        let other = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
        other.as_file().set_len(1 << 20).unwrap();
        let path = detached.device.path.as_os_str();
        system("losetup", &[path, other.path().as_os_str()]);
        if is_changed {
            set_rules(&detached.hierarchy, detached.device.number, 1 << 39);
        }
        detached.down();
        let left = detached.rules();
        system("losetup", &[OsStr::new("-d"), path]);
        assert_eq!(left.is_empty(), !is_changed, "{left:?}");
    }
}

#[test]
fn limits_of_an_earlier_user_of_the_device_are_cleared() {
    let Some(detached) = Detached::new() else { return };
    detached.down();
    set_rules(&detached.hierarchy, detached.device.number, 1 << 40);
    // The lowest free device is taken first: the same as before, unless another
    // program was faster.
    for target in detached.bed.up(3).listing.targets {
        assert!(target.limits.is_none(), "{target:?}");
    }
    detached.down();
}
