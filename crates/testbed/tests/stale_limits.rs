//! A limit outlives the file that its loop device had. In a program of its own, so that
//! no other test takes the device in between.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{TempBed, blkio, has_loop_devices, rules};
use plimsoll_domain::Limit;
use plimsoll_machine::{DeviceNumber, Machine, THROTTLE_FILES};
use plimsoll_testbed::{Direction, DownOptions};

#[test]
fn limits_of_an_earlier_user_of_the_device_are_cleared() {
    let (true, Some(hierarchy)) = (has_loop_devices(), blkio()) else { return };
    let bed = TempBed::new();
    let device = bed.up(1).listing.targets[0].device.clone().unwrap();
    // So high that it slows nobody who might get the device.
    let limit: Limit = "1TiB/s".parse().unwrap();
    bed.bed.slow("t0".parse().unwrap(), limit, Direction::Both).unwrap();
    // Someone detaches the device by hand, and the kernel keeps the rule.
    assert!(Command::new("umount").arg(bed.path("t0")).status().unwrap().success());
    assert!(Command::new("losetup").arg("-d").arg(&device.path).status().unwrap().success());
    bed.bed.down(DownOptions::default()).unwrap();
    assert!(!rules(&hierarchy, device.number).is_empty());
    // The lowest free device is taken first: the same as before, unless another
    // program was faster.
    for target in bed.up(3).listing.targets {
        assert!(target.limits.is_none(), "{target:?}");
    }
    bed.bed.down(DownOptions::default()).unwrap();
    remove_rules_of_free_device(&hierarchy, device.number);
}

/// A device in use may have got another owner by now, whose rules are not ours.
fn remove_rules_of_free_device(hierarchy: &Path, number: DeviceNumber) {
    let devices = Machine::host().block_devices().unwrap();
    if devices.iter().any(|device| device.number == number && device.backing.is_none()) {
        for file in THROTTLE_FILES {
            fs::write(hierarchy.join(file), format!("{number} 0\n")).unwrap();
        }
    }
}
