//! `down` on a bed that somebody damaged, uses, or put things into.

mod common;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command};

use common::{TempBed, directory_targets, has_loop_devices, loop_targets};
use plimsoll_machine::Machine;
use plimsoll_testbed::{DownOptions, FileCondition, Removed, TargetState, TestbedError};

fn down(bed: &TempBed) -> Removed {
    bed.bed.down(DownOptions::default()).unwrap()
}

/// Ends the process when the test ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_state_file_that_is_of_no_use_does_not_matter() {
    if !has_loop_devices() {
        return;
    }
    type Damage = fn(&Path);
    type Expected = fn(&FileCondition) -> bool;
    let damages: [(Damage, Expected); 4] = [
        (
            |file| fs::write(file, "version = 1\nna").unwrap(),
            |r| matches!(r, FileCondition::Unreadable { .. }),
        ),
        (|file| fs::write(file, "").unwrap(), |r| matches!(r, FileCondition::Unreadable { .. })),
        (
            |file| fs::write(file, "version = 9\n").unwrap(),
            |r| *r == FileCondition::Newer { version: 9 },
        ),
        (|file| fs::remove_file(file).unwrap(), |r| *r == FileCondition::Missing),
    ];
    for (damage, is_expected) in damages {
        let bed = TempBed::new();
        bed.up(1);
        damage(&bed.path("testbed.toml"));
        let listing = bed.bed.list().unwrap();
        assert_eq!(listing.targets[0].state, TargetState::Mounted);
        let removed = down(&bed);
        assert!(is_expected(&removed.state_file), "{removed:?}");
        bed.assert_nothing_left();
    }
}

#[test]
fn removed_backing_files_do_not_matter() {
    if !has_loop_devices() {
        return;
    }
    let bed = TempBed::new();
    bed.up(2);
    fs::remove_file(bed.path("t0.img")).unwrap();
    assert_eq!(down(&bed).detached.len(), 2);
    bed.assert_nothing_left();
}

#[test]
fn foreign_files_are_kept_and_told() {
    if !has_loop_devices() {
        return;
    }
    let bed = TempBed::new();
    bed.up(1);
    let foreign = ["notes.txt", "t0.img.bak", "t01", "tx"].map(|name| bed.path(name));
    for path in &foreign {
        fs::write(path, "precious").unwrap();
    }
    let removed = down(&bed);
    let mut kept = removed.kept.clone();
    kept.sort();
    assert_eq!(kept, foreign);
    for path in &foreign {
        assert_eq!(fs::read_to_string(path).unwrap(), "precious");
    }
    bed.assert_nothing_left_but(&["bed"]);
    assert_eq!(fs::read_dir(bed.bed.directory()).unwrap().count(), foreign.len());
    assert!(!down(&bed).was_there, "the rest is no bed");
}

#[test]
fn what_was_written_below_a_mount_is_kept() {
    if !has_loop_devices() {
        return;
    }
    let bed = TempBed::new();
    bed.up(1);
    assert!(Command::new("umount").arg(bed.path("t0")).status().unwrap().success());
    assert_eq!(bed.bed.list().unwrap().targets[0].state, TargetState::NotMounted);
    fs::write(bed.path("t0/file"), "precious").unwrap();
    assert_eq!(down(&bed).kept, [bed.path("t0")]);
    assert_eq!(fs::read_to_string(bed.path("t0/file")).unwrap(), "precious");
    // What is left is no bed for anybody.
    assert!(!down(&bed).was_there && !bed.bed.list().unwrap().exists);
    let error = bed.bed.up(&loop_targets(1), &mut |_| ()).unwrap_err();
    let TestbedError::Foreign { entry, .. } = &error else { panic!("{error}") };
    assert_eq!(*entry, bed.path("t0"));
    assert!(error.hint().unwrap().contains("move it elsewhere"));
    bed.assert_nothing_left_but(&["bed"]);
    fs::remove_dir_all(bed.path("t0")).unwrap();
    bed.up(1);
}

#[test]
fn symlinks_are_not_followed() {
    let outside = tempfile::tempdir_in("/var/tmp").unwrap();
    fs::create_dir(outside.path().join("directory")).unwrap();
    let precious = outside.path().join("directory/file");
    fs::write(&precious, "precious").unwrap();
    let directory = outside.path().join("directory");
    let bed = TempBed::new();
    bed.bed.up(&directory_targets(1), &mut |_| ()).unwrap();
    symlink(&directory, bed.path("t0/inside")).unwrap();
    symlink(&directory, bed.path("t1")).unwrap();
    symlink(&precious, bed.path("t2.img")).unwrap();
    symlink(&precious, bed.path("testbed.toml.new")).unwrap();
    let kept = down(&bed).kept;
    assert_eq!(kept, ["t1", "t2.img", "testbed.toml.new"].map(|name| bed.path(name)));
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
}

#[test]
fn a_bed_that_is_a_symlink_is_refused() {
    let outside = tempfile::tempdir_in("/var/tmp").unwrap();
    fs::create_dir(outside.path().join("t0")).unwrap();
    fs::write(outside.path().join(".plimsoll-testbed"), "directory\n").unwrap();
    fs::write(outside.path().join("t0/file"), "precious").unwrap();
    let bed = TempBed::new();
    symlink(outside.path(), bed.bed.directory()).unwrap();
    let error = bed.bed.down(DownOptions::default()).unwrap_err();
    assert!(error.to_string().contains("symlink"), "{error}");
    let error = bed.bed.up(&directory_targets(1), &mut |_| ()).unwrap_err();
    assert!(error.to_string().contains("symlink"), "{error}");
    assert!(outside.path().join("t0/file").exists());
    fs::remove_file(bed.bed.directory()).unwrap();
}

#[test]
fn a_directory_that_is_no_bed_is_left_alone() {
    let bed = TempBed::new();
    fs::create_dir_all(bed.path("t0")).unwrap();
    fs::write(bed.path("t0/file"), "precious").unwrap();
    fs::write(bed.path("t0.img"), "precious").unwrap();
    let removed = down(&bed);
    assert!(!removed.was_there);
    assert_eq!(removed.kept, ["t0", "t0.img"].map(|name| bed.path(name)));
    assert!(bed.path("t0/file").exists() && bed.path("t0.img").exists());
}

#[test]
fn whoever_uses_a_target_is_named() {
    if !has_loop_devices() {
        return;
    }
    let bed = TempBed::new();
    let device = bed.up(2).listing.targets[1].device.clone().unwrap();
    let sleep = Command::new("sleep").arg("1000").current_dir(bed.path("t1")).spawn().unwrap();
    let sleep = Running(sleep);
    let error = bed.bed.down(DownOptions::default()).unwrap_err();
    let TestbedError::Busy { point, holders } = &error else { panic!("{error}") };
    assert_eq!(*point, bed.path("t1"));
    assert_eq!((holders[0].pid, holders[0].command.as_str()), (sleep.0.id(), "sleep"));
    assert!(error.to_string().contains(&format!("process {} (sleep", sleep.0.id())), "{error}");
    assert!(error.hint().unwrap().contains("--force"));

    let removed = bed.bed.down(DownOptions { force: true }).unwrap();
    assert_eq!(removed.lingering, std::slice::from_ref(&device.path));
    drop(sleep);
    wait_until_released(&bed.path("t1.img"));
    bed.assert_nothing_left();
}

/// The kernel releases the device after its last user is gone. Waits as long as it takes.
fn wait_until_released(image: &Path) {
    let has_device = || {
        let devices = Machine::host().block_devices().unwrap();
        devices.iter().any(|device| device.backing.iter().any(|backing| backing.file == image))
    };
    while has_device() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn a_lost_or_damaged_marker_is_refused_with_a_hint() {
    if !has_loop_devices() {
        return;
    }
    let bed = TempBed::new();
    bed.up(1);
    let marker = fs::read(bed.path(".plimsoll-testbed")).unwrap();
    fs::write(bed.path(".plimsoll-testbed"), "").unwrap();
    let damaged = bed.bed.down(DownOptions::default()).unwrap_err();
    fs::remove_file(bed.path(".plimsoll-testbed")).unwrap();
    for error in [damaged, bed.bed.down(DownOptions::default()).unwrap_err()] {
        assert!(matches!(error, TestbedError::NotABed { .. }), "{error}");
        assert!(error.hint().unwrap().contains("losetup -d"));
    }
    let foreign = bed.bed.up(&loop_targets(1), &mut |_| ()).unwrap_err();
    assert!(matches!(foreign, TestbedError::Foreign { .. }), "{foreign}");
    assert!(bed.path("t0.img").exists());
    fs::write(bed.path(".plimsoll-testbed"), marker).unwrap();
    down(&bed);
    bed.assert_nothing_left();
}

#[test]
fn devices_that_outlived_their_directory_are_detached() {
    if !has_loop_devices() {
        return;
    }
    let bed = TempBed::new();
    bed.up(2);
    for target in ["t0", "t1"] {
        assert!(Command::new("umount").arg(bed.path(target)).status().unwrap().success());
    }
    fs::remove_dir_all(bed.bed.directory()).unwrap();
    let error = bed.bed.up(&loop_targets(1), &mut |_| ()).unwrap_err();
    assert!(matches!(error, TestbedError::Exists { .. }), "{error}");
    assert_eq!(down(&bed).detached.len(), 2);
    bed.assert_nothing_left();
}
