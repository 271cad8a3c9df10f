//! `plimsoll calibrate` on real loop devices with known limits, and where it cannot work.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::bed::Bed;
use crate::support::busy_machine::measured_until_right;
use crate::support::command::{Outcome, binary};

/// A test bed with one target.
fn bed() -> Option<Bed> {
    Bed::up(1, "96MiB")
}

fn only_target(bed: &Bed) -> PathBuf {
    bed.target("t0")
}

/// The result of a calibration of it, and its exit status.
fn calibrated(bed: &Bed, arguments: &str) -> (Value, Option<i32>) {
    let outcome = calibrate(&only_target(bed), &format!("--json --span 16MiB {arguments}"));
    let document: Value = serde_json::from_str(&outcome.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", outcome.stderr));
    assert_eq!(document["schema"], "plimsoll.calibrate/1");
    (document["result"].clone(), outcome.status)
}

fn calibrate(target: &Path, arguments: &str) -> Outcome {
    let mut command = binary();
    command.arg("calibrate").arg("--target").arg(target);
    command.args(arguments.split_whitespace()).output().unwrap().into()
}

fn number(result: &Value, direction: &str, key: &str) -> f64 {
    result[direction][key].as_f64().unwrap_or_else(|| panic!("{direction}.{key} in {result:#}"))
}

fn within(what: &str, value: f64, expected: f64, share: f64) -> Result<(), String> {
    if (value / expected - 1.0).abs() <= share {
        Ok(())
    } else {
        Err(format!("{what} is {value}, expected {expected}"))
    }
}

/// A throttle lets a burst begin with what it saved up in a tenth of a second (throtl_slice in
/// block/blk-throttle.c), so measures must be much longer.
const LONG: &str = "--seconds 2 --repetitions 1 --seed 1";

#[test]
fn a_limit_in_bytes_is_the_rate_of_bytes() {
    let Some(bed) = bed() else { return };
    bed.testbed("slow t0 16MiB/s");
    measured_until_right(|| {
        let (result, _) = calibrated(&bed, &format!("{LONG} --sizes 64KiB,256KiB,1MiB"));
        assert_eq!(result["transactions"], "device");
        for direction in ["read", "write"] {
            let rate = number(&result, direction, "rate");
            within(direction, rate, 16.0 * 1048576.0, 0.10)?;
        }
        Ok(())
    });
}

#[test]
fn a_limit_in_operations_is_the_cost_of_an_operation() {
    let Some(bed) = bed() else { return };
    bed.testbed("slow t0 200op/s");
    measured_until_right(|| {
        // A transfer of 2 MiB is several transactions: their number, not that of the
        // transfers, is what the limit counts.
        let (result, _) = calibrated(&bed, &format!("{LONG} --sizes 4KiB,64KiB,2MiB --depth 4"));
        for direction in ["read", "write"] {
            let seconds = number(&result, direction, "seconds_per_operation");
            within(direction, seconds, 1.0 / 200.0, 0.15)?;
        }
        let rung = &result["write"]["rungs"][2];
        assert!(rung["transactions"].as_u64() > rung["transfers"].as_u64(), "{rung}");
        Ok(())
    });
}

#[test]
fn two_limits_are_no_sum_of_two_costs_and_that_is_said() {
    let Some(bed) = bed() else { return };
    // The limits meet at 41 KiB.
    bed.testbed("slow t0 8MiB/s,200op/s");
    let site = bed.folder.path().join("site.toml");
    let target = PathBuf::from(format!("t0={}", only_target(&bed).display()));
    measured_until_right(|| {
        fs::write(&site, "version = 1\n").unwrap();
        let outcome = calibrate(
            &target,
            &format!(
                "--seconds 1 --repetitions 4 --only write --span 16MiB --site {} \
                 --sizes 4KiB,32KiB,64KiB,512KiB",
                site.display()
            ),
        );
        let said = outcome.stdout.contains("does not fit")
            && outcome.stdout.contains("larger of two limits");
        let unwritten = fs::read_to_string(&site).unwrap() == "version = 1\n";
        if outcome.status == Some(1) && said && unwritten {
            Ok(())
        } else {
            Err(format!("{}{}", outcome.stdout, outcome.stderr))
        }
    });
}

#[test]
fn costs_go_to_the_site_file_and_from_there_to_the_model() {
    let Some(bed) = bed() else { return };
    let site = bed.folder.path().join("site.toml");
    fs::write(&site, "version = 1 # ours\n").unwrap();
    let target = PathBuf::from(format!("disk={}", only_target(&bed).display()));
    let arguments = format!(
        "--sizes 4KiB,512KiB --seconds 0.05 --repetitions 2 --span 16MiB --force --site {}",
        site.display()
    );
    // Two sizes fit any target: without --force nothing is written.
    let outcome = calibrate(&target, &arguments.replace(" --force", ""));
    assert_eq!(outcome.status, Some(1), "{}", outcome.stderr);
    assert!(outcome.stdout.contains("not tested"), "{}", outcome.stdout);
    assert_eq!(fs::read_to_string(&site).unwrap(), "version = 1 # ours\n");
    let outcome = calibrate(&target, &arguments);
    assert!(matches!(outcome.status, Some(0 | 1)), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("wrote the costs of disk"), "{}", outcome.stderr);
    let text = fs::read_to_string(&site).unwrap();
    for part in ["# ours", "[target.cost.read]", "fill = ", "queue_depth = 8", "\"device\""] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // By the directory alone, now that the site file knows it; and by the name.
    for target in [only_target(&bed), PathBuf::from("disk")] {
        let outcome = calibrate(&target, &format!("{arguments} --dry-run"));
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        assert!(outcome.stdout.contains("would calibrate disk"), "{}", outcome.stdout);
    }
    let mut model = binary();
    model.args(["model", "utilization", "--writes", "4KiB=10", "--interval", "1s"]);
    model.arg("--site").arg(&site).args(["--target", "disk"]);
    assert!(model.output().unwrap().status.success());
}

#[test]
fn a_kill_leaves_nothing_behind() {
    let Some(bed) = bed() else { return };
    let mut command = binary();
    command.arg("calibrate").arg("--target").arg(only_target(&bed));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let descriptors = format!("/proc/{}/fd", child.id());
    let has_file = || {
        let links = fs::read_dir(&descriptors).into_iter().flatten().flatten();
        let mut links = links.filter_map(|entry| fs::read_link(entry.path()).ok());
        links.any(|link| link.starts_with(only_target(&bed)))
    };
    while !has_file() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    let names: Vec<_> =
        fs::read_dir(only_target(&bed)).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| name == "lost+found"), "{names:?}");
}

/// Every refusal is one line with a way out, and comes before anything is written.
#[test]
fn what_cannot_be_calibrated_is_refused_with_a_way_out() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let here = folder.path();
    let file = here.join("file");
    fs::write(&file, "").unwrap();
    for (target, arguments, message) in [
        (Path::new("/no/such/directory"), "", "No such file or directory"),
        (Path::new("no-such-name"), "", "--site FILE"),
        (&file, "", "not a directory"),
        (here, "--span 999TiB", "are free"),
        (here, "--span 8MiB", "it holds fewer than 8"),
        (here, "--sizes 4KiB", "with one transfer size"),
        (here, "--sizes 1000B,4KiB", "whole blocks"),
        (here, "--depth 0", "--depth 0"),
        (here, "--seconds 0", "--seconds 0"),
        (here, "--repetitions 0", "--repetitions 0"),
        (here, "--site /no/such/site.toml", "site init"),
        (here, "--force", "--site"),
    ] {
        let outcome = calibrate(target, arguments);
        assert_eq!(outcome.status, Some(2), "{arguments}: {}", outcome.stdout);
        let lines = outcome.stderr.trim_end().lines().count();
        assert!(lines == 1 && outcome.stderr.contains("hint: "), "{}", outcome.stderr);
        let stderr = outcome.stderr.to_lowercase();
        assert!(stderr.contains(&message.to_lowercase()), "{arguments}: {}", outcome.stderr);
    }
}

#[test]
fn memory_is_not_a_device() {
    let Ok(folder) = tempfile::tempdir_in("/dev/shm") else {
        eprintln!("SKIPPED: needs /dev/shm");
        return;
    };
    let outcome = calibrate(folder.path(), "");
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.stderr.contains("no transactions to see"), "{}", outcome.stderr);
}

#[test]
fn a_target_that_cannot_be_written_is_named() {
    let Some(bed) = bed() else { return };
    let target = only_target(&bed);
    let remount = |how: &str| {
        let mut command = Command::new("mount");
        command.args(["-o", how]).arg(&target).status().unwrap().success()
    };
    assert!(remount("remount,ro"));
    let outcome = calibrate(&target, "--span 32MiB");
    assert!(remount("remount,rw"));
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.stderr.contains("mount it writable"), "{}", outcome.stderr);

    // Root may write everywhere, so somebody else must try.
    let mut closed = fs::metadata(&target).unwrap().permissions();
    closed.set_mode(0o755);
    fs::set_permissions(&target, closed).unwrap();
    fs::set_permissions(bed.folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    fs::set_permissions(bed.folder.path().join("default"), PermissionsExt::from_mode(0o755))
        .unwrap();
    // The binary may lie where only root can see it.
    let copy = bed.folder.path().join("plimsoll");
    fs::copy(env!("CARGO_BIN_EXE_plimsoll"), &copy).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&copy);
    command.args(["calibrate", "--span", "32MiB", "--target"]).arg(&target);
    let Ok(output) = command.output() else {
        eprintln!("SKIPPED: needs setpriv");
        return;
    };
    let outcome: Outcome = output.into();
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.stderr.contains("in which you may write"), "{}", outcome.stderr);
}
