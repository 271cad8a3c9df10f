//! `plimsoll route bench` on limited targets of a test bed.

use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use plimsoll_domain::{Bytes, Limit};
use plimsoll_testbed::{Direction, DownOptions, Limits, Testbed, UpOptions};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;

use crate::support::command::{Outcome, binary};

/// A bed of its own, gone at the end, also of a failed test.
struct Bed {
    bed: Testbed,
    base: tempfile::TempDir,
}

impl Bed {
    fn up(targets: u64) -> Option<Self> {
        let base = tempfile::tempdir_in("/var/tmp").unwrap();
        let bed = Testbed::in_base(base.path(), "race").unwrap();
        let made = bed.up(&UpOptions::new(targets, Bytes::new(96 << 20)), &mut |_| {});
        let bed = Bed { bed, base };
        if !made.is_ok_and(|made| made.lacking.is_empty()) {
            eprintln!("SKIPPED: needs root, loop devices and cgroup v1");
            return None;
        }
        for target in bed.bed.list().unwrap().targets {
            let limit = "16MiB/s".parse().unwrap();
            bed.bed.slow(target.name, limit, Direction::Write).unwrap();
        }
        Some(bed)
    }

    fn base(&self) -> &Path {
        self.base.path()
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = binary();
        command.args(["route", "bench", "--testbed", "race", "--testbed-base"]).arg(self.base());
        command.args(arguments.split_whitespace()).arg("--json");
        command
    }

    fn run(&self, arguments: &str) -> Outcome {
        self.command(arguments).output().unwrap().into()
    }

    /// A race in a process group of its own, with a drop that has just happened.
    #[track_caller]
    fn in_a_drop(&self) -> Running {
        let before = self.limits();
        // So slow that the noise would be stuck in its write for a minute.
        let arguments = "--policy static --writers 2 --blocks 4 --drop t1=8KiB/s@0.1 --noise t1:1";
        let mut command = self.command(arguments);
        command.process_group(0).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut running = Running(command.spawn().unwrap());
        wait_until("the drop", || {
            running.assert_alive();
            self.limits() != before
        });
        let lowered: Limit = "8KiB/s".parse().unwrap();
        assert_eq!(self.limits()[1].write, lowered);
        running
    }

    /// What races made on the targets.
    fn files(&self) -> Vec<std::path::PathBuf> {
        let targets = self.bed.list().unwrap().targets;
        let entries = targets.iter().flat_map(|target| fs::read_dir(&target.path).unwrap());
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| !path.ends_with("lost+found")).collect()
    }

    fn limits(&self) -> Vec<Limits> {
        self.bed.list().unwrap().targets.iter().map(|target| target.limits).collect()
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = self.bed.down(DownOptions { force: true });
    }
}

/// A race, ended also when the test fails.
struct Running(Child);

impl Running {
    fn pid(&self) -> Pid {
        Pid::from_child(&self.0)
    }

    #[track_caller]
    fn assert_alive(&mut self) {
        if self.0.try_wait().unwrap().is_some() {
            let mut why = String::new();
            self.0.stderr.take().unwrap().read_to_string(&mut why).unwrap();
            panic!("the race ended too early: {why}");
        }
    }

    /// Its exit status, once it has ended.
    #[track_caller]
    fn end(&mut self) -> Option<i32> {
        wait_until("the end of the race", || self.0.try_wait().unwrap().is_some());
        self.0.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
    }
}

#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "waited a minute for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn limits_are_the_rates_and_a_drop_is_undone() {
    let Some(bed) = Bed::up(2) else { return };
    let before = bed.limits();
    let outcome = bed.run(
        "--policy static,window --writers 2 --blocks 8 --block-size 1MiB --rounds 1 --drop t1=2MiB/s@0.2 --verify",
    );
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_eq!(bed.limits(), before);
    let result: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let result = &result["result"];
    assert_eq!(result["targets"][0]["rate"], f64::from(16 << 20));
    assert_eq!(result["targets"][0]["rate_source"], "limit");
    assert_eq!(result["targets"][1]["drops_to"], f64::from(2 << 20));
    // 0.2 s at 32 MiB/s, then 9.6 MiB at 18.
    let bound = result["fluid_bound"].as_f64().unwrap();
    assert!((bound - (0.2 + 9.6 / 18.0)).abs() < 1e-6, "{bound}");
    for run in result["runs"].as_array().unwrap() {
        assert_eq!((&run["lost_bytes"], &run["wrong_pages"]), (&0.into(), &0.into()));
        assert!(run["drops_after"].as_f64().unwrap() >= 0.2, "{run}");
    }
    let refused = [
        ("--drop t7=1MiB/s@1", "no target"),
        ("--drop t1=16MiB/s@1", "a lower rate"),
        ("--drop t1=2MiB/s@1 --drop t1=1MiB/s@2", "once"),
    ];
    for (arguments, word) in refused {
        let refused = bed.run(arguments);
        assert_eq!(refused.status, Some(2));
        assert!(refused.stderr.contains(word), "{}", refused.stderr);
    }
    let refused = bed.run("--blocks 1 --noise t0:6");
    assert_eq!(refused.status, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("less --noise"), "{}", refused.stderr);
    bed.bed.normal("t1".parse().unwrap()).unwrap();
    let refused = bed.run("--drop t1=1MiB/s@1");
    assert!(refused.stderr.contains("no limit that could drop"), "{}", refused.stderr);
}

#[test]
fn the_bound_counts_what_the_noise_leaves_before_and_after_a_drop() {
    let Some(bed) = Bed::up(2) else { return };
    let bound = |arguments: &str| -> f64 {
        let course = "--policy static --writers 2 --blocks 12 --block-size 1MiB --dry-run";
        let outcome = bed.run(&format!("{course} {arguments}"));
        let result: Value = serde_json::from_str(&outcome.stdout).unwrap();
        result["result"]["fluid_bound"].as_f64().unwrap()
    };
    // 24 MiB: at 16 and 8 MiB/s; and 0.5 s of that, then 12 MiB at 16 and 4.
    assert!((bound("--noise t1:1") - 1.0).abs() < 1e-9);
    assert!((bound("--noise t1:1 --drop t1=8MiB/s@0.5") - 1.1).abs() < 1e-9);
}

#[test]
fn a_signal_during_a_drop_restores_the_limit_and_removes_the_files() {
    let Some(bed) = Bed::up(2) else { return };
    let before = bed.limits();
    for (signal, to_all, status) in [
        (Signal::INT, false, 130),
        (Signal::TERM, false, 143),
        // Ctrl-C reaches every process of the terminal, and the end of a batch job all of its.
        (Signal::INT, true, 130),
        (Signal::TERM, true, 143),
    ] {
        let mut running = bed.in_a_drop();
        let sent = if to_all {
            kill_process_group(running.pid(), signal)
        } else {
            kill_process(running.pid(), signal)
        };
        sent.unwrap();
        assert_eq!(running.end(), Some(status), "{signal:?}");
        assert_eq!(bed.limits(), before, "{signal:?}");
        assert!(bed.files().is_empty(), "{signal:?}: {:?}", bed.files());
    }
}

#[test]
fn a_race_that_is_killed_during_a_drop_restores_the_limit() {
    let Some(bed) = Bed::up(2) else { return };
    let before = bed.limits();
    let mut running = bed.in_a_drop();
    kill_process(running.pid(), Signal::KILL).unwrap();
    running.end();
    wait_until("the limit", || bed.limits() == before);
    wait_until("the files to go", || bed.files().is_empty());
    // With all its writers, so that nobody is left to remove files; the next race does.
    let mut running = bed.in_a_drop();
    kill_process_group(running.pid(), Signal::KILL).unwrap();
    running.end();
    wait_until("the limit", || bed.limits() == before);
    let next = bed.run("--policy static --writers 1 --blocks 1 --rounds 1");
    assert_eq!(next.status, Some(0), "{}", next.stderr);
    assert!(bed.files().is_empty(), "{:?}", bed.files());
}
