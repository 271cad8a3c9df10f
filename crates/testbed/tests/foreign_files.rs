//! What is not the bed's own stays, whatever it is called.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{TempBed, directory_targets, has_loop_devices};
use plimsoll_testbed::{
    DownOptions, FileCondition, KindChoice, Removed, Testbed, TestbedError, UpOptions,
};
use rustix::fs::{CWD, FileType, Mode, mknodat};

const MARKER: &str = ".plimsoll-testbed";
const STATE_FILE: &str = "testbed.toml";

fn down(bed: &TempBed) -> Removed {
    bed.bed.down(DownOptions::default()).unwrap()
}

fn up_directories(bed: &TempBed, targets: u64) {
    bed.bed.up(&directory_targets(targets), &mut |_| ()).unwrap();
}

/// Puts things beside a bed of one target that are called like more targets.
fn add_lookalikes(bed: &TempBed) -> [PathBuf; 3] {
    let [image, empty, full] = ["t5.img", "t3", "t2"].map(|name| bed.path(name));
    fs::write(&image, "precious").unwrap();
    fs::create_dir(&empty).unwrap();
    fs::create_dir(&full).unwrap();
    fs::write(full.join("file"), "precious").unwrap();
    [full, empty, image]
}

#[test]
fn what_is_called_like_a_target_but_is_none_is_kept_and_told() {
    let options = |kind| UpOptions { kind, ..directory_targets(1) };
    for kind in [KindChoice::Directory, KindChoice::Loop] {
        if kind == KindChoice::Loop && !has_loop_devices() {
            return;
        }
        for loses_state_file in [false, true] {
            let bed = TempBed::new();
            bed.bed.up(&options(kind), &mut |_| ()).unwrap();
            let foreign = add_lookalikes(&bed);
            if loses_state_file {
                fs::remove_file(bed.path(STATE_FILE)).unwrap();
            }
            assert_eq!(bed.bed.list().unwrap().targets.len(), 1, "{kind:?}");
            assert_eq!(down(&bed).kept, foreign, "{kind:?}");
            assert_eq!(fs::read_to_string(bed.path("t5.img")).unwrap(), "precious");
            assert_eq!(fs::read_to_string(bed.path("t2/file")).unwrap(), "precious");
            assert!(bed.path("t3").exists() && !bed.path("t0").exists());
            assert!(!bed.path(MARKER).exists(), "the rest is no bed");
        }
    }
}

#[test]
fn a_loop_device_on_a_file_of_somebody_else_is_left_alone() {
    if !has_loop_devices() {
        return;
    }
    let bed = TempBed::new();
    bed.up(1);
    fs::write(bed.path("t5.img"), vec![0; 1 << 20]).unwrap();
    let losetup = |arguments: &[&str], last: &Path| {
        let output = Command::new("losetup").args(arguments).arg(last).output().unwrap();
        PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
    };
    let device = losetup(&["--find", "--show"], &bed.path("t5.img"));
    let removed = down(&bed);
    let is_attached = losetup(&["--noheadings", "-O", "NAME", "-l"], &device) == device;
    losetup(&["--detach"], &device);
    assert!(is_attached && removed.detached.len() == 1, "{removed:?}");
    assert_eq!(removed.kept, [bed.path("t5.img")]);
}

/// A copy of a directory, made by a program that knows nothing of beds.
fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-a").args([from, to]).status().unwrap().success());
}

#[track_caller]
fn assert_not_a_bed(bed: &Testbed, part: &str) {
    let error = bed.down(DownOptions::default()).unwrap_err();
    assert!(matches!(error, TestbedError::NotABed { .. }), "{error}");
    assert!(error.to_string().contains(part), "{error}");
    assert!(error.hint().unwrap().contains("by hand"));
    assert!(!bed.list().unwrap().exists);
    assert_eq!(fs::read_to_string(bed.directory().join("t0/data")).unwrap(), "precious");
}

#[test]
fn a_copied_state_file_does_not_make_a_bed() {
    let bed = TempBed::new();
    up_directories(&bed, 1);
    let foreign = Testbed::in_base(bed.base(), "foreign").unwrap();
    fs::create_dir_all(foreign.directory().join("t0")).unwrap();
    fs::write(foreign.directory().join("t0/data"), "precious").unwrap();
    fs::write(foreign.directory().join("t0.img"), "precious").unwrap();
    fs::copy(bed.path(STATE_FILE), foreign.directory().join(STATE_FILE)).unwrap();
    assert_not_a_bed(&foreign, "marker .plimsoll-testbed is missing");
    assert!(foreign.directory().join("t0.img").exists());
}

#[test]
fn a_copy_or_a_renamed_bed_is_not_the_bed() {
    let bed = TempBed::new();
    up_directories(&bed, 1);
    fs::write(bed.path("t0/data"), "precious").unwrap();
    let backup = Testbed::in_base(bed.base(), "backup").unwrap();
    copy(&bed.bed.directory(), &backup.directory());
    assert_not_a_bed(&backup, bed.bed.directory().to_str().unwrap());
    assert!(backup.list().unwrap().not_a_bed.is_some());
    // The name alone is not enough either.
    fs::create_dir(bed.base().join("elsewhere")).unwrap();
    let moved = Testbed::in_base(&bed.base().join("elsewhere"), "bed").unwrap();
    copy(&bed.bed.directory(), &moved.directory());
    assert_not_a_bed(&moved, bed.bed.directory().to_str().unwrap());
    let refused = moved.up(&directory_targets(1), &mut |_| ()).unwrap_err();
    assert!(matches!(refused, TestbedError::Foreign { .. }), "{refused}");
    assert!(!bed.base().join("elsewhere/.bed.lock").exists());
    assert!(down(&bed).was_there, "the bed itself still is one");
}

#[test]
fn a_state_file_of_another_bed_is_not_believed() {
    let bed = TempBed::new();
    up_directories(&bed, 3);
    let state_file = fs::read(bed.path(STATE_FILE)).unwrap();
    down(&bed);
    up_directories(&bed, 1);
    fs::write(bed.path(STATE_FILE), state_file).unwrap();
    let foreign = add_lookalikes(&bed);
    let listing = bed.bed.list().unwrap();
    assert!(matches!(listing.state_file, FileCondition::Unreadable { .. }), "{listing:?}");
    assert_eq!(listing.targets.len(), 1);
    assert_eq!(down(&bed).kept, foreign);
}

#[test]
fn nobody_waits_for_a_fifo_or_a_device() {
    type Replace = fn(&Path);
    let replacements: [Replace; 2] = [
        |path| mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap(),
        |path| {
            let zero = rustix::fs::makedev(1, 5);
            // Only root can make devices.
            let _ = mknodat(CWD, path, FileType::CharacterDevice, Mode::RUSR, zero);
        },
    ];
    for replace in replacements {
        let bed = TempBed::new();
        up_directories(&bed, 1);
        let marker = fs::read(bed.path(MARKER)).unwrap();
        for name in [STATE_FILE, MARKER] {
            fs::remove_file(bed.path(name)).unwrap();
            replace(&bed.path(name));
            bed.bed.list().unwrap();
        }
        // Where no device could be made, the marker is simply missing.
        let outcome = bed.bed.down(DownOptions::default());
        assert!(outcome.is_err() || !bed.path(MARKER).exists(), "{outcome:?}");
        assert!(bed.path("t0").exists());
        let _ = fs::remove_file(bed.path(MARKER));
        fs::write(bed.path(MARKER), marker).unwrap();
        let removed = down(&bed);
        assert!(removed.kept.iter().all(|path| *path == bed.path(STATE_FILE)), "{removed:?}");
    }
}

#[test]
fn a_refused_up_leaves_nothing() {
    let bed = TempBed::new();
    fs::create_dir(bed.bed.directory()).unwrap();
    fs::write(bed.path("notes"), "precious").unwrap();
    let error = bed.bed.up(&directory_targets(1), &mut |_| ()).unwrap_err();
    assert!(error.to_string().contains("notes"), "{error}");
    bed.assert_nothing_left_but(&["bed"]);
    bed.bed.down(DownOptions::default()).unwrap();
    bed.assert_nothing_left_but(&["bed"]);
    let limit = "1MiB/s".parse().unwrap();
    let slow = bed.bed.slow("t0".parse().unwrap(), limit, plimsoll_testbed::Direction::Both);
    assert!(matches!(slow, Err(TestbedError::NoBed { .. })));
    bed.assert_nothing_left_but(&["bed"]);
}
