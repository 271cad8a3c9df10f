//! A bed with XFS.

mod common;

use std::fs;

use common::{TempBed, blkio, has_loop_devices, rules};
use plimsoll_domain::{Bytes, Limit};
use plimsoll_machine::Machine;
use plimsoll_testbed::{Direction, DownOptions, FileSystem, TargetState, TestbedError, UpOptions};

fn has_xfs() -> bool {
    let has = Machine::host().find_system_program("mkfs.xfs").is_some();
    if !has {
        println!("SKIPPED: needs mkfs.xfs");
    }
    has
}

#[test]
fn up_slow_down() {
    if !has_loop_devices() || !has_xfs() {
        return;
    }
    let bed = TempBed::new();
    let size = FileSystem::Xfs.smallest();
    let options = UpOptions { file_system: Some(FileSystem::Xfs), ..UpOptions::new(1, size) };
    let made = match bed.bed.up(&options, &mut |_| ()) {
        // mount(2): the kernel has no such file system.
        Err(TestbedError::Mount { cause, .. }) if cause.raw_os_error() == Some(19) => {
            println!("SKIPPED: the kernel has no XFS");
            bed.assert_nothing_left();
            return;
        }
        made => made.unwrap(),
    };
    assert_eq!(made.listing.file_system, Some(FileSystem::Xfs));
    let target = &made.listing.targets[0];
    assert_eq!(target.state, TargetState::Mounted);
    let mounts = Machine::host().mounts().unwrap();
    assert!(mounts.iter().any(|mount| mount.point == target.path && mount.fs_type == "xfs"));
    let image = fs::File::open(bed.path("t0.img")).unwrap();
    let hole = rustix::fs::seek(&image, rustix::fs::SeekFrom::Hole(0)).unwrap();
    assert_eq!(Bytes::new(hole), size, "the first hole is the end of the file");
    drop(image);
    fs::write(target.path.join("file"), "contents").unwrap();
    if let Some(hierarchy) = blkio() {
        let limit: Limit = "20MiB/s,300op/s".parse().unwrap();
        bed.bed.slow(target.name, limit, Direction::Both).unwrap();
        let device = target.device.as_ref().unwrap().number;
        assert_eq!(rules(&hierarchy, device).len(), 4);
        assert_eq!(bed.bed.list().unwrap().targets[0].limits.write, limit);
    }
    let removed = bed.bed.down(DownOptions::default()).unwrap();
    assert_eq!((removed.unmounted.len(), removed.detached.len()), (1, 1));
    bed.assert_nothing_left();
}
