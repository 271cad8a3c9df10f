//! `plimsoll testbed` on real loop devices, and without them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::command::{Outcome, binary, copy_program};

/// A base directory of its own on disk; whatever a test leaves in it goes with it.
pub struct Base {
    folder: tempfile::TempDir,
}

impl Base {
    pub fn new() -> Self {
        Base { folder: tempfile::tempdir_in("/var/tmp").unwrap() }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = binary();
        command.args(["testbed", "--base"]).arg(self.path()).args(arguments.split_whitespace());
        command
    }

    fn run(&self, arguments: &str) -> Outcome {
        self.command(arguments).output().unwrap().into()
    }

    #[track_caller]
    pub fn fine(&self, arguments: &str) -> Outcome {
        let outcome = self.run(arguments);
        assert_eq!(outcome.status, Some(0), "{arguments}: {}", outcome.stderr);
        outcome
    }

    #[track_caller]
    fn targets(&self) -> Vec<Value> {
        let listing: Value = serde_json::from_str(&self.fine("list --json").stdout).unwrap();
        listing["result"]["targets"].as_array().unwrap().clone()
    }

    /// Loop devices and mounts that belong to this base.
    fn remains(&self) -> String {
        let devices =
            Command::new("losetup").args(["-l", "-n", "-O", "BACK-FILE"]).output().unwrap();
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let all = String::from_utf8_lossy(&devices.stdout).into_owned() + &mounts;
        let base = self.path().to_str().unwrap();
        all.lines().filter(|line| line.contains(base)).collect::<Vec<_>>().join("\n")
    }

    #[track_caller]
    fn assert_nothing_left(&self) {
        assert_eq!(self.remains(), "");
        let left: Vec<PathBuf> =
            fs::read_dir(self.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        let beds = left.iter().filter(|path| path.is_dir()).collect::<Vec<_>>();
        assert!(beds.is_empty(), "{beds:?}");
    }
}

impl Drop for Base {
    fn drop(&mut self) {
        // Also after a failed test nothing may stay behind.
        let _ = self.command("down --force").output();
    }
}

pub fn has_loop_devices() -> bool {
    let has = rustix::process::geteuid().is_root() && Path::new("/dev/loop-control").exists();
    if !has {
        eprintln!("SKIPPED: needs root and loop devices");
    }
    has
}

pub fn has_limits() -> bool {
    let has = Path::new("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device").exists();
    if !has {
        eprintln!("SKIPPED: needs the blkio controller of cgroup v1");
    }
    has
}

#[test]
fn targets_are_real_devices_and_leave_nothing_behind() {
    if !has_loop_devices() {
        return;
    }
    let base = Base::new();
    base.fine("up --targets 2 --size 24MiB");
    let targets = base.targets();
    assert_eq!(targets.len(), 2);
    for (target, name) in targets.iter().zip(["t0", "t1"]) {
        assert_eq!(target["name"], name);
        assert!(target["device"].as_str().unwrap().starts_with("/dev/loop"));
        assert_eq!(target["limit"], Value::Null);
        let file = Path::new(target["path"].as_str().unwrap()).join("file");
        fs::write(&file, vec![7u8; 1 << 20]).unwrap();
        assert_eq!(fs::read(&file).unwrap().len(), 1 << 20);
    }
    let again = base.run("up --targets 2 --size 24MiB");
    assert_eq!(again.status, Some(2));
    assert!(again.stderr.contains("hint: remove it first"), "{}", again.stderr);
    base.fine("down");
    base.assert_nothing_left();
    assert!(base.fine("down").stderr.contains("nothing to remove"));
}

#[test]
fn limits_are_set_shown_and_taken_away() {
    if !has_loop_devices() || !has_limits() {
        return;
    }
    let base = Base::new();
    base.fine("up --targets 2 --size 24MiB");
    let device = base.targets()[1]["device"].as_str().unwrap().to_string();
    base.fine("slow t1 20MiB/s");
    assert_eq!(base.targets()[1]["limit"], "20MiB/s");
    base.fine("slow 1 5MiB/s,200op/s --only read");
    assert_eq!(base.targets()[1]["limit"], "read 5MiB/s,200op/s, write 20MiB/s");
    assert_eq!(base.targets()[0]["limit"], Value::Null);
    assert_eq!(base.run("slow t1 0B/s").status, Some(2));
    assert_eq!(base.run("slow t9 1MiB/s").status, Some(2));
    base.fine("normal 1");
    assert_eq!(base.targets()[1]["limit"], Value::Null);

    base.fine("slow t1 20MiB/s");
    let number = fs::read_to_string(device.replace("/dev/", "/sys/block/") + "/dev").unwrap();
    base.fine("down");
    let rules = fs::read_to_string("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device").unwrap();
    let rule = format!("{} ", number.trim());
    assert!(!rules.lines().any(|line| line.starts_with(&rule)), "{rules}");
}

#[test]
fn a_killed_up_is_cleaned_up_by_down() {
    if !has_loop_devices() {
        return;
    }
    // Kill at different moments: while writing, attaching, formatting, mounting.
    for milliseconds in [5, 40, 120, 250, 400, 700] {
        let base = Base::new();
        let mut up = base.command("up --targets 6 --size 48MiB");
        let mut child = up.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        child.kill().unwrap();
        child.wait().unwrap();
        base.fine("list");
        base.fine("down");
        base.assert_nothing_left();
    }
}

#[test]
fn run_passes_targets_in_and_the_status_out() {
    let base = Base::new();
    base.fine("up --targets 2 --size 24MiB --kind directory");
    let run = |script: &str| -> Outcome {
        base.command("run -- sh -c").arg(script).output().unwrap().into()
    };
    let targets = run("echo $PLIMSOLL_TARGETS").stdout;
    assert_eq!(targets.trim().split(':').count(), 2);
    assert!(targets.split(':').all(|path| Path::new(path.trim()).is_dir()), "{targets}");
    assert_eq!(run("exit 7").status, Some(7));
    assert_eq!(run("kill -TERM $$").status, Some(128 + 15));
    let missing = base.run("run -- /no/such/program");
    assert_eq!(missing.status, Some(127));
    assert!(missing.stderr.starts_with("error: cannot start"), "{}", missing.stderr);
    assert_eq!(missing.stderr.lines().count(), 1, "{}", missing.stderr);
    assert_eq!(base.run("run -- /etc").status, Some(126));
    assert_eq!(base.run("run").status, Some(2));
    assert_eq!(base.run("--testbed other run -- true").status, Some(2));
}

#[test]
fn every_command_takes_targets_of_a_test_bed_in_the_same_words() {
    let base = Base::new();
    base.fine("up --testbed lab --targets 3 --size 24MiB --kind directory");
    let bed = base.path().join("lab");
    let run = |arguments: &str| {
        let arguments = arguments.replace("BASE", base.path().to_str().unwrap());
        let arguments = arguments.replace("BED", bed.to_str().unwrap());
        let outcome = Outcome::from(binary().args(arguments.split(' ')).output().unwrap());
        assert_eq!(outcome.status, Some(0), "{arguments}: {}", outcome.stderr);
        outcome.stdout
    };
    let names = |text: &str| {
        let is_in = |name: &&str| text.contains(bed.join(name).to_str().unwrap());
        ["t0", "t1", "t2"].into_iter().filter(is_in).collect::<Vec<_>>().join(" ")
    };
    let bench = "bench many-pairs --dry-run --burst 64KiB --transfer 64KiB --json";
    let race = "route bench --dry-run --block-size 64KiB --json";
    for command in [bench, race] {
        let all = run(&format!("{command} --testbed lab --base BASE"));
        assert_eq!(names(&all), "t0 t1 t2", "{command}");
        for some in ["t2,t0", "t2 t0", "t2 BED/t0", "x=BED/t2,BED/t0"] {
            let text = run(&format!("{command} --testbed lab --base BASE --targets {some}"));
            assert_eq!(names(&text), "t0 t2", "{command} {some}");
        }
    }
    let calibrate = "calibrate --dry-run --span 4MiB --sizes 4KiB,8KiB,16KiB --json --testbed lab --base BASE --target";
    for one in ["t1", "BED/t1", "x=BED/t1"] {
        assert_eq!(names(&run(&format!("{calibrate} {one}"))), "t1", "{one}");
    }
    assert_eq!(names(&run("site init -o - --testbed lab --base BASE")), "t0 t1 t2");
    // As it was spelled before.
    assert_eq!(names(&run("site init -o - --name lab --base BASE")), "t0 t1 t2");
    assert_eq!(names(&run("testbed list --json --name lab --base BASE")), "t0 t1 t2");
    assert_eq!(names(&run(&format!("{race} --testbed lab --testbed-base BASE"))), "t0 t1 t2");
    let mut missing = binary();
    missing.args(["bench", "many-pairs", "--testbed", "none", "--base"]).arg(base.path());
    let missing = Outcome::from(missing.output().unwrap());
    assert_eq!(missing.status, Some(2));
    let hint = format!("plimsoll testbed up --testbed none --base {}", base.path().display());
    assert!(missing.stderr.contains(&hint), "{}", missing.stderr);
}

#[test]
fn signals_reach_the_command() {
    let base = Base::new();
    base.fine("up --targets 1 --size 1MiB --kind directory");
    for (name, signal) in [("TERM", Signal::TERM), ("INT", Signal::INT), ("HUP", Signal::HUP)] {
        let script = format!("trap 'exit 42' {name}; echo ready; while :; do sleep 0.02; done");
        // Whoever runs the tests may ignore signals, and that is inherited.
        let mut command = Command::new("env");
        command.arg("--default-signal").arg(env!("CARGO_BIN_EXE_plimsoll"));
        command.args(["testbed", "--base"]).arg(base.path()).args(["run", "--", "sh", "-c"]);
        let mut child = command.arg(script).stdout(Stdio::piped()).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(42), "{name}");
    }
}

#[test]
fn whoever_waits_is_told_for_whom() {
    let base = Base::new();
    base.fine("up --targets 1 --size 1MiB --kind directory");
    // The lock of a bed is that of this file; this process stands for another command.
    let lock = base.path().join(".default.lock");
    let file = fs::OpenOptions::new().read(true).write(true).open(&lock).unwrap();
    file.lock().unwrap();
    // Whoever may write to the file could say anything; the kernel knows.
    fs::write(&lock, "4242\n").unwrap();
    let mut down = base.command("down").stderr(Stdio::piped()).spawn().unwrap();
    let mut told = String::new();
    let mut stderr = BufReader::new(down.stderr.take().unwrap());
    stderr.read_line(&mut told).unwrap();
    let holder = std::process::id();
    assert_eq!(told, format!("waiting for another plimsoll testbed command (pid {holder})\n"));
    drop(file);
    assert!(down.wait().unwrap().success());
    base.assert_nothing_left();
}

#[test]
fn programs_get_what_was_done() {
    if !has_loop_devices() || !has_limits() {
        return;
    }
    let base = Base::new();
    let result = |arguments: &str| -> Value {
        let outcome = base.fine(arguments);
        assert_eq!(outcome.stderr, "", "{arguments}");
        serde_json::from_str(&outcome.stdout).unwrap()
    };
    base.fine("up --targets 2 --size 24MiB");
    let slow = result("slow t1 5MiB/s,200op/s --only read --json");
    assert_eq!(slow["schema"], "plimsoll.testbed.slow/1");
    assert_eq!(slow["result"]["target"], "t1");
    for limited in [&slow["result"], &base.targets()[1]] {
        assert_eq!(limited["limit"], "read 5MiB/s,200op/s");
        assert_eq!(limited["read_bytes_per_second"], 5 << 20);
        assert_eq!(limited["read_operations_per_second"], 200);
        assert_eq!(limited["write_bytes_per_second"], Value::Null);
        assert_eq!(limited["write_operations_per_second"], Value::Null);
    }
    let normal = result("normal t1 --json");
    assert_eq!(normal["schema"], "plimsoll.testbed.normal/1");
    assert_eq!(normal["result"]["limit"], Value::Null);
    fs::write(base.path().join("default/notes"), "precious").unwrap();
    let down = result("down --json");
    assert_eq!(down["schema"], "plimsoll.testbed.down/1");
    assert_eq!(down["result"]["outcome"], "removed");
    assert_eq!(down["result"]["detached"].as_array().unwrap().len(), 2);
    let kept = down["result"]["kept"][0]["path"].as_str().unwrap();
    assert!(kept.ends_with("default/notes"), "{kept}");
    assert_eq!(result("down --json")["result"]["outcome"], "nothing to remove");
    fs::remove_dir_all(base.path().join("default")).unwrap();
}

#[test]
fn a_file_system_for_directories_is_refused() {
    let base = Base::new();
    let outcome = base.run("up --targets 1 --size 24MiB --kind directory --file-system ext4");
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.stderr.contains("plain directories were asked for"), "{}", outcome.stderr);
}

#[test]
fn directories_say_what_is_missing_and_cannot_be_slowed() {
    let base = Base::new();
    let up = base.fine("up --targets 2 --size 24MiB --kind directory");
    let note = "note: no limits, block counters and isolation: plain directories were asked for";
    assert!(up.stdout.contains(note), "{}", up.stdout);
    assert_eq!(base.targets()[0]["device"], Value::Null);
    let slow = base.run("slow t0 20MiB/s");
    assert_eq!(slow.status, Some(2));
    assert!(slow.stderr.starts_with("error: cannot limit t0"), "{}", slow.stderr);
    base.fine("down");
    base.assert_nothing_left();
}

#[test]
fn without_root_targets_are_directories() {
    if !rustix::process::geteuid().is_root() {
        // Then the test above covers it; with root we must become somebody else.
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    // The build folder may not be open to others, so they get a copy.
    let program = folder.path().join("plimsoll");
    copy_program(env!("CARGO_BIN_EXE_plimsoll"), &program);
    let as_nobody = |arguments: &str| -> Outcome {
        Command::new("setpriv")
            .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
            .arg(&program)
            .args(["testbed", "--base"])
            .arg(folder.path().join("base"))
            .args(arguments.split_whitespace())
            .output()
            .unwrap()
            .into()
    };
    let up = as_nobody("up --targets 2 --size 1MiB");
    assert_eq!(up.status, Some(0), "{}", up.stderr);
    assert!(up.stdout.contains("loop devices need root"), "{}", up.stdout);
    assert!(folder.path().join("base/default/t1").is_dir());
    assert_eq!(as_nobody("up --targets 2 --size 1MiB --kind loop --testbed other").status, Some(2));
    assert_eq!(as_nobody("down").status, Some(0));
    assert!(!folder.path().join("base/default").exists());
}

#[test]
fn no_test_bed_is_an_answer() {
    let base = Base::new();
    assert!(base.targets().is_empty());
    assert!(base.fine("down").stderr.contains("nothing to remove"));
    assert_eq!(base.run("run -- true").status, Some(2));
    assert_eq!(base.run("slow t0 1MiB/s").status, Some(2));
}

#[test]
fn a_bed_that_does_not_fit_is_refused_before_anything_is_written() {
    let base = Base::new();
    for (arguments, part) in [
        ("up --targets 64 --size 100TiB", "free"),
        ("up --targets 65 --size 24MiB", "1 to 64"),
        ("up --targets 100000000000 --size 24MiB", "cannot make 100000000000 targets"),
        ("up --targets 1 --size 18446744073709551615B", "free"),
    ] {
        let outcome = base.run(arguments);
        assert_eq!(outcome.status, Some(2), "{arguments}");
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
        assert!(outcome.stderr.contains(part), "{arguments}: {}", outcome.stderr);
    }
    base.assert_nothing_left();
}

#[test]
fn messages_are_short_and_readable() {
    let base = Base::new();
    let too_large = base.run("up --targets 64 --size 100TiB").stderr;
    assert!(too_large.contains(" GiB free") || too_large.contains(" TiB free"), "{too_large}");
    assert!(too_large.contains("need 6.2 PiB and 512 MiB"), "{too_large}");
    let long = "x".repeat(5000);
    for arguments in [format!("list --testbed {long}"), format!("slow {long} 1MiB/s")] {
        let message = base.run(&arguments).stderr;
        assert!(message.contains("xxx") && message.len() < 250, "{message}");
    }
    let newline = binary().args(["testbed", "--base", "/var/tmp/a\nb", "list"]).output().unwrap();
    let message = Outcome::from(newline).stderr;
    assert!(message.contains("control character") && message.contains("a\\nb"), "{message}");
}
