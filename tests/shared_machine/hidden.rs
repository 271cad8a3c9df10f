//! Another user mounts a file system (FUSE) over a directory above the one that somebody works in: who is there already is not kept waiting by it.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::Base;
use crate::support::attacker::ATTACKER;
use crate::support::command::binary;
use crate::support::recording::library;
use crate::support::served::Served;

/// Runs in a directory that is open, whatever its path leads to by now.
fn inside(directory: &File, arguments: &[&str]) -> Command {
    let mut command = binary();
    command.args(arguments).env("PLIMSOLL_LIBRARY", library()).env_remove("PWD");
    let directory = directory.try_clone().unwrap();
    // SAFETY: fchdir is safe between fork and exec.
    unsafe { command.pre_exec(move || Ok(rustix::process::fchdir(&directory)?)) };
    command
}

/// The attack: the victim works in a directory of theirs below one of the attacker's, who mounts over that.
#[test]
fn who_works_below_what_is_mounted_over_is_not_kept_waiting() {
    let Some(base) = Base::new() else { return };
    let team = base.directory("team", ATTACKER, 0o755);
    let own = base.directory("team/own", 0, 0o755);
    std::fs::create_dir(own.join("target")).unwrap();
    let here = File::open(&own).unwrap();
    let begun =
        inside(&here, &["record", "-q", "-o", "begun", "--", "cat", "/etc/passwd"]).output();
    assert!(begun.unwrap().status.success());
    let Some(served) = Served::on(&team) else { return };
    for arguments in [
        &["record", "-q", "--", "true"][..],
        &["record", "-q", "-o", "other", "--", "cat", "/etc/passwd"],
        &["report", "begun"],
        &["compare", "begun", "begun"],
        &["export", "begun"],
        &["export", "begun", "-o", "it.parquet"],
        &["bench", "target", "--targets", "target", "--rounds", "2", "--burst", "1MiB", "-o", "it"],
        &["route", "bench", "--targets", "target", "--blocks", "2", "--block-size", "1MiB"],
        &["calibrate", "--target", "target", "--dry-run"],
        &["synth", "--store", "made", "--days", "1", "--targets", "2"],
    ] {
        let outcome = served.run_unasked(&mut inside(&here, arguments));
        // Targets are named by whole paths: clients and ranks may work elsewhere.
        if arguments.contains(&"--targets") && arguments.contains(&"bench") {
            let is_told = outcome.stderr.contains("is a file system of user 65533");
            assert!(outcome.status == Some(2) && is_told, "{}", outcome.stderr);
        } else {
            assert_eq!(outcome.status, Some(0), "{arguments:?}: {}", outcome.stderr);
        }
    }
}
