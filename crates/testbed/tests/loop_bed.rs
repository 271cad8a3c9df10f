//! A bed of real loop devices from beginning to end.

mod common;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use common::{SIZE, TempBed, blkio, has_loop_devices, loop_targets, rules};
use plimsoll_domain::{Bytes, Limit};
use plimsoll_testbed::{
    Direction, DownOptions, Effect, Feature, FileCondition, Kind, Limits, Progress, Step,
    TargetState, TestbedError,
};

#[test]
fn up_list_down() {
    if !has_loop_devices() {
        return;
    }
    let bed = TempBed::new();
    let made = bed.up(3);
    let listing = bed.bed.list().unwrap();
    assert_eq!(made.listing.targets, listing.targets);
    assert_eq!(listing.state_file, FileCondition::Complete);
    assert_eq!(listing.targets.len(), 3);
    for (index, target) in listing.targets.iter().enumerate() {
        assert_eq!(target.name.to_string(), format!("t{index}"));
        assert_eq!(target.state, TargetState::Mounted);
        assert_eq!(target.kind, Some(Kind::Loop));
        assert_eq!(target.size, Some(SIZE));
        assert!(target.limits.is_none());
        let free = target.free.unwrap();
        assert!(free > Bytes::new(0) && free < SIZE);
        fs::write(target.path.join("file"), b"contents").unwrap();
        assert_eq!(fs::read(target.path.join("file")).unwrap(), b"contents");
    }
    let again = bed.bed.up(&loop_targets(1), &mut |_| ()).unwrap_err();
    assert!(matches!(again, TestbedError::Exists { .. }), "{again}");
    let removed = bed.bed.down(DownOptions::default()).unwrap();
    assert!(removed.was_there);
    assert_eq!((removed.unmounted.len(), removed.detached.len()), (3, 3));
    bed.assert_nothing_left();
    assert!(!bed.bed.down(DownOptions::default()).unwrap().was_there);
    assert!(!bed.bed.list().unwrap().exists);
}

#[test]
fn backing_files_have_neither_holes_nor_unwritten_parts() {
    if !has_loop_devices() {
        return;
    }
    let bed = TempBed::new();
    bed.up(1);
    let image = File::open(bed.path("t0.img")).unwrap();
    let metadata = image.metadata().unwrap();
    assert_eq!(metadata.len(), SIZE.get());
    assert!(metadata.blocks() * 512 >= metadata.len());
    let hole = rustix::fs::seek(&image, rustix::fs::SeekFrom::Hole(0)).unwrap();
    assert_eq!(hole, metadata.len(), "the first hole is the end of the file");
}

#[test]
fn slow_and_normal() {
    let (true, Some(hierarchy)) = (has_loop_devices(), blkio()) else { return };
    let bed = TempBed::new();
    let devices: Vec<_> =
        bed.up(2).listing.targets.iter().map(|t| t.device.clone().unwrap().number).collect();
    let (t0, t1) = ("t0".parse().unwrap(), "1".parse().unwrap());
    let limit: Limit = "20MiB/s,300op/s".parse().unwrap();
    let outcome = bed.bed.slow(t1, limit, Direction::Write).unwrap();
    assert_eq!(outcome.effect, Effect::EveryProcess);
    let number = devices[1];
    assert_eq!(rules(&hierarchy, number), [format!("{number} 20971520"), format!("{number} 300")]);
    let limits = |index: usize| bed.bed.list().unwrap().targets[index].limits;
    assert_eq!(limits(1), Limits { read: Limit::NONE, write: limit });
    assert!(limits(0).is_none());

    let slower: Limit = "10MiB/s".parse().unwrap();
    bed.bed.slow(t1, slower, Direction::Both).unwrap();
    assert_eq!(limits(1), Limits { read: slower, write: slower });
    bed.bed.normal(t1).unwrap();
    assert!(limits(1).is_none() && rules(&hierarchy, number).is_empty());

    bed.bed.slow(t0, slower, Direction::Both).unwrap();
    bed.bed.down(DownOptions::default()).unwrap();
    assert!(rules(&hierarchy, devices[0]).is_empty(), "down removes limits");
    bed.assert_nothing_left();
}

#[test]
fn a_target_that_is_not_there_cannot_be_slowed() {
    if !has_loop_devices() {
        return;
    }
    let bed = TempBed::new();
    let limit: Limit = "1MiB/s".parse().unwrap();
    let slow = |target: &str| bed.bed.slow(target.parse().unwrap(), limit, Direction::Both);
    assert!(matches!(slow("t0"), Err(TestbedError::NoBed { .. })));
    bed.assert_nothing_left();
    bed.up(1);
    assert!(matches!(slow("t1"), Err(TestbedError::NoSuchTarget { .. })));
}

#[test]
fn run_passes_status_and_variables() {
    if !has_loop_devices() {
        return;
    }
    let bed = TempBed::new();
    let run = |script: &str| {
        let arguments = ["-c", script].map(OsString::from);
        bed.bed.run(OsStr::new("sh"), &arguments)
    };
    assert!(matches!(run("true"), Err(TestbedError::NoBed { .. })));
    bed.up(2);
    assert_eq!(run("exit 7").unwrap().code(), Some(7));
    assert_eq!(run("kill -9 $$").unwrap().signal(), Some(9));
    let directory = bed.bed.directory();
    let directory = directory.display();
    let script = format!(
        "test \"$PLIMSOLL_TESTBED\" = {directory} && \
         test \"$PLIMSOLL_TARGETS\" = {directory}/t0:{directory}/t1"
    );
    assert!(run(&script).unwrap().success());
    let error = bed.bed.run(OsStr::new("/no/such/program"), &[]).unwrap_err();
    assert!(error.to_string().contains("/no/such/program"), "{error}");
}

#[test]
fn an_error_in_the_midst_leaves_nothing() {
    if !has_loop_devices() {
        return;
    }
    let bed = TempBed::new();
    let mut hinder = |progress: &Progress| {
        if progress.step == Step::Attaching {
            let _ = fs::create_dir(bed.path("t1.img"));
        }
    };
    let error = bed.bed.up(&loop_targets(2), &mut hinder).unwrap_err();
    assert!(error.to_string().contains("t1.img"), "{error}");
    bed.assert_nothing_left_but(&["bed"]);
    fs::remove_dir(bed.path("t1.img")).unwrap();
    bed.up(2);
}

/// Whether the kernel does direct I/O on a file in that directory, asked without the bed.
fn can_do_direct_io(directory: &Path) -> bool {
    let file = directory.join("reference.img");
    fs::write(&file, vec![0; 1 << 20]).unwrap();
    let losetup = |arguments: &[&OsStr]| {
        let output = Command::new("losetup").args(arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let options = ["--find", "--show", "--direct-io=on"].map(OsStr::new);
    let device = losetup(&[options.as_slice(), &[file.as_os_str()]].concat());
    let dio = fs::read_to_string(device.replace("/dev/", "/sys/block/") + "/loop/dio");
    losetup(&["--detach", &device].map(OsStr::new));
    fs::remove_file(file).unwrap();
    dio.is_ok_and(|dio| dio.trim() == "1")
}

#[test]
fn devices_do_direct_io_where_it_is_possible() {
    if !has_loop_devices() {
        return;
    }
    let bed = TempBed::new();
    let is_possible = can_do_direct_io(bed.base());
    if !is_possible {
        println!("SKIPPED: the file system of {} has no direct I/O", bed.base().display());
    }
    let made = bed.up(1);
    assert_eq!(made.listing.targets[0].device.as_ref().unwrap().direct_io, is_possible);
    let is_missed = made.lacking.iter().any(|it| it.features.contains(&Feature::DirectIo));
    assert_eq!(is_missed, !is_possible);
}

#[test]
fn beds_with_names_that_begin_alike_do_not_meet() {
    if !has_loop_devices() {
        return;
    }
    let bed = TempBed::new();
    let longer = bed.beside("bed2");
    bed.up(1);
    longer.up(1);
    fs::write(longer.path("t0/file"), "contents").unwrap();
    let removed = bed.bed.down(DownOptions::default()).unwrap();
    assert_eq!(removed.unmounted, [bed.path("t0")]);
    assert_eq!(longer.bed.list().unwrap().targets[0].state, TargetState::Mounted);
    assert!(longer.path("t0/file").exists());
    assert_eq!(longer.bed.down(DownOptions::default()).unwrap().detached.len(), 1);
    bed.assert_nothing_left();
}

#[test]
fn a_panic_in_the_midst_leaves_nothing() {
    if !has_loop_devices() {
        return;
    }
    let bed = TempBed::new();
    let attempt = std::panic::catch_unwind(|| {
        bed.bed.up(&loop_targets(2), &mut |progress| {
            assert!(progress.target.index() == 0 || progress.step != Step::Mounting);
        })
    });
    assert!(attempt.is_err());
    bed.assert_nothing_left();
}

#[test]
fn of_two_at_once_one_makes_the_bed() {
    if !has_loop_devices() {
        return;
    }
    let bed = TempBed::new();
    let outcomes: Vec<Result<_, TestbedError>> = std::thread::scope(|scope| {
        let up = || bed.bed.up(&loop_targets(1), &mut |_| ());
        [scope.spawn(up), scope.spawn(up)].map(|thread| thread.join().unwrap()).into()
    });
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    assert!(outcomes.iter().any(|outcome| matches!(outcome, Err(TestbedError::Exists { .. }))));
    bed.bed.down(DownOptions::default()).unwrap();
    bed.assert_nothing_left();
}

#[test]
fn more_than_the_disk_holds_is_refused_before_anything_is_written() {
    if !has_loop_devices() {
        return;
    }
    let bed = TempBed::new();
    for size in [1 << 60, u64::MAX] {
        let mut options = loop_targets(64);
        options.size = Bytes::new(size);
        let error = bed.bed.up(&options, &mut |_| panic!("nothing is begun")).unwrap_err();
        assert!(matches!(error, TestbedError::Space { .. }), "{error}");
        bed.assert_nothing_left();
    }
}
