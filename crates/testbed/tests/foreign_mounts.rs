//! What others mounted inside of a bed is theirs.

mod common;

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use common::{TempBed, directory_targets, has_loop_devices, mount_tmpfs, system};
use plimsoll_testbed::{DownOptions, TargetState, TestbedError};
use rustix::mount::MountFlags;

const FORCE: DownOptions = DownOptions { force: true };

#[track_caller]
fn assert_refused(bed: &TempBed, mounted_at: &Path) {
    let error = bed.bed.down(DownOptions::default()).unwrap_err();
    let TestbedError::ForeignMount { point, .. } = &error else { panic!("{error}") };
    assert_eq!(point, mounted_at);
    let hint = error.hint().unwrap();
    assert!(hint.contains("--force") && hint.contains(mounted_at.to_str().unwrap()), "{hint}");
}

#[test]
fn a_mount_within_a_target_is_named_and_only_force_unmounts_it() {
    if !has_loop_devices() {
        return;
    }
    let bed = TempBed::new();
    bed.up(1);
    let inner = bed.path("t0/inner");
    fs::create_dir(&inner).unwrap();
    let outside = tempfile::tempdir_in("/var/tmp").unwrap();
    fs::write(outside.path().join("file"), "precious").unwrap();
    let bind = [OsStr::new("--bind"), outside.path().as_os_str(), inner.as_os_str()];
    system("mount", &bind);
    assert_refused(&bed, &inner);
    assert!(inner.join("file").exists(), "it still is mounted");
    assert_eq!(bed.bed.list().unwrap().targets[0].state, TargetState::Mounted);
    let removed = bed.bed.down(FORCE).unwrap();
    assert_eq!(removed.foreign_unmounted, [inner]);
    assert_eq!(removed.unmounted, [bed.path("t0")]);
    assert!(outside.path().join("file").exists());
    bed.assert_nothing_left();
}

#[test]
fn a_mount_over_a_target_is_not_the_target() {
    if !has_loop_devices() {
        return;
    }
    let bed = TempBed::new();
    bed.up(2);
    mount_tmpfs(&bed.path("t1"));
    fs::write(bed.path("t1/file"), "precious").unwrap();
    let listing = bed.bed.list().unwrap();
    assert_eq!(listing.targets[0].state, TargetState::Mounted);
    let covered = &listing.targets[1];
    assert_eq!((covered.state, covered.free), (TargetState::Covered, None));
    assert_eq!(covered.problem.as_deref(), Some("tmpfs"));
    assert_refused(&bed, &bed.path("t1"));
    assert!(bed.path("t1/file").exists());
    system("umount", &[bed.path("t1").as_os_str()]);
    assert_eq!(bed.bed.list().unwrap().targets[1].state, TargetState::Mounted);
    assert_eq!(bed.bed.down(DownOptions::default()).unwrap().unmounted.len(), 2);
    bed.assert_nothing_left();
}

#[test]
fn a_mount_in_a_plain_directory_is_not_emptied() {
    if !has_loop_devices() {
        return;
    }
    let bed = TempBed::new();
    bed.bed.up(&directory_targets(1), &mut |_| ()).unwrap();
    let outside = tempfile::tempdir_in("/var/tmp").unwrap();
    fs::write(outside.path().join("file"), "precious").unwrap();
    fs::create_dir(bed.path("t0/inner")).unwrap();
    let inner = bed.path("t0/inner");
    system("mount", &[OsStr::new("--bind"), outside.path().as_os_str(), inner.as_os_str()]);
    assert_refused(&bed, &inner);
    assert_eq!(bed.bed.down(FORCE).unwrap().foreign_unmounted, [inner]);
    assert!(outside.path().join("file").exists());
    bed.assert_nothing_left();
}

/// Mounts a file system whose server is gone, so that every call on it fails.
fn mount_dead_file_system(point: &Path) -> bool {
    let options = fs::OpenOptions::new().read(true).write(true).open("/dev/fuse");
    let Ok(connection) = options else { return false };
    use std::os::fd::AsRawFd;
    let data = format!("fd={},rootmode=40000,user_id=0,group_id=0\0", connection.as_raw_fd());
    let data = std::ffi::CStr::from_bytes_with_nul(data.as_bytes()).unwrap();
    rustix::mount::mount("dead", point, "fuse", MountFlags::empty(), data).is_ok()
}

#[test]
fn a_target_that_does_not_answer_does_not_hide_the_others() {
    if !has_loop_devices() {
        return;
    }
    let bed = TempBed::new();
    bed.up(2);
    if !mount_dead_file_system(&bed.path("t0")) {
        println!("SKIPPED: needs FUSE");
        return;
    }
    let listing = bed.bed.list().unwrap();
    let dead = &listing.targets[0];
    assert_eq!((dead.state, dead.free), (TargetState::Unreachable, None));
    assert!(dead.problem.is_some());
    assert_eq!(listing.targets[1].state, TargetState::Mounted);
    assert_refused(&bed, &bed.path("t0"));
    bed.bed.down(FORCE).unwrap();
    bed.assert_nothing_left();
}
