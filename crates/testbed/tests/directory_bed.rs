//! A bed of plain directories, as an ordinary user gets it.

mod common;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::PathBuf;

use common::{NOBODY, SIZE, TempBed, as_nobody, can_be_nobody, directory_targets};
use plimsoll_testbed::{
    Direction, DownOptions, Feature, Kind, TargetState, Testbed, TestbedError, UpOptions,
};

/// Tells the child where to make a bed.
const BASE: &str = "PLIMSOLL_TEST_BASE";

fn use_bed(bed: &Testbed, options: &UpOptions) {
    let made = bed.up(options, &mut |_| ()).unwrap();
    assert_eq!(made.listing.kind, Some(Kind::Directory));
    assert_eq!(made.lacking.len(), 1);
    let lacking = &made.lacking[0].features;
    assert_eq!(*lacking, [Feature::Limits, Feature::BlockCounters, Feature::Isolation]);
    for target in &made.listing.targets {
        assert_eq!((target.state, target.device.clone()), (TargetState::Plain, None));
        fs::create_dir_all(target.path.join("deep/er")).unwrap();
        fs::write(target.path.join("deep/er/file"), "data").unwrap();
    }
    let arguments = ["-c", "test -d \"${PLIMSOLL_TARGETS%%:*}\""].map(OsString::from);
    assert!(bed.run(OsStr::new("sh"), &arguments).unwrap().success());
    let limit = "1MiB/s".parse().unwrap();
    let error = bed.slow("t0".parse().unwrap(), limit, Direction::Both).unwrap_err();
    assert!(matches!(&error, TestbedError::NoLimit { .. }), "{error}");
    assert!(error.to_string().contains("plain directory"), "{error}");
}

#[test]
fn directories_on_demand() {
    let bed = TempBed::new();
    use_bed(&bed.bed, &directory_targets(2));
    assert!(bed.bed.down(DownOptions::default()).unwrap().kept.is_empty());
    bed.assert_nothing_left();
}

#[test]
fn a_lost_state_file_does_not_matter() {
    let bed = TempBed::new();
    use_bed(&bed.bed, &directory_targets(2));
    fs::remove_file(bed.path("testbed.toml")).unwrap();
    assert!(bed.bed.down(DownOptions::default()).unwrap().kept.is_empty());
    bed.assert_nothing_left();
}

/// Not a test of its own: what the ordinary user does.
#[test]
fn child_that_is_an_ordinary_user() {
    let Some(base) = std::env::var_os(BASE) else { return };
    let bed = Testbed::in_base(&PathBuf::from(base), "bed").unwrap();
    let options = UpOptions::new(2, SIZE);
    use_bed(&bed, &options);
    let lacking = bed.up(&options, &mut |_| ()).unwrap_err();
    assert!(matches!(lacking, TestbedError::Exists { .. }));
    bed.down(DownOptions::default()).unwrap();
}

#[test]
fn an_ordinary_user_gets_directories() {
    if !can_be_nobody() {
        return;
    }
    let bed = TempBed::new();
    std::os::unix::fs::chown(bed.base(), Some(NOBODY), Some(NOBODY)).unwrap();
    let status = as_nobody()
        .args(["--exact", "child_that_is_an_ordinary_user"])
        .env(BASE, bed.base())
        .status()
        .unwrap();
    assert!(status.success());
    bed.assert_nothing_left();
}
