//! A bed of plain directories, as an ordinary user gets it.

mod common;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{SIZE, TempBed, directory_targets};
use plimsoll_machine::Machine;
use plimsoll_testbed::{
    Direction, DownOptions, Feature, Kind, TargetState, Testbed, TestbedError, UpOptions,
};

/// Tells the child where to make a bed.
const BASE: &str = "PLIMSOLL_TEST_BASE";
/// "nobody" on every Linux system (overflow uid, Documentation/admin-guide/sysctl/kernel.rst).
const NOBODY: u32 = 65534;

fn use_bed(bed: &Testbed, options: &UpOptions) {
    let made = bed.up(options, &mut |_| ()).unwrap();
    assert_eq!(made.listing.kind, Some(Kind::Directory));
    let lacking: Vec<Feature> = made.lacking.iter().map(|lacking| lacking.feature).collect();
    assert_eq!(lacking, [Feature::Limits, Feature::BlockCounters, Feature::Isolation]);
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
    let is_root = Machine::host().effective_uid().unwrap() == 0;
    if !is_root || !nobody_can_run(&std::env::current_exe().unwrap()) {
        println!("SKIPPED: needs root, setpriv, and a test program that everyone can run");
        return;
    }
    let bed = TempBed::new();
    std::os::unix::fs::chown(bed.base(), Some(NOBODY), Some(NOBODY)).unwrap();
    let status = as_nobody(&std::env::current_exe().unwrap())
        .args(["--exact", "child_that_is_an_ordinary_user"])
        .env(BASE, bed.base())
        .status()
        .unwrap();
    assert!(status.success());
    bed.assert_nothing_left();
}

fn as_nobody(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    let user = NOBODY.to_string();
    command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]).arg(program);
    command
}

fn nobody_can_run(program: &Path) -> bool {
    as_nobody(program).arg("--list").output().is_ok_and(|output| output.status.success())
}
