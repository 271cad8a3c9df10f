//! `plimsoll route bench` on limited targets of a test bed.

use std::path::Path;

use plimsoll_domain::Bytes;
use plimsoll_testbed::{Direction, DownOptions, Limits, Testbed, UpOptions};
use serde_json::Value;

use crate::command::{Outcome, binary};

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
        if made.is_ok_and(|made| made.lacking.is_empty()) {
            return Some(bed);
        }
        eprintln!("SKIPPED: needs root, loop devices and cgroup v1");
        None
    }

    fn base(&self) -> &Path {
        self.base.path()
    }

    fn run(&self, arguments: &str) -> Outcome {
        let mut command = binary();
        command.args(["route", "bench", "--testbed", "race", "--testbed-base"]).arg(self.base());
        command.args(arguments.split_whitespace()).arg("--json").output().unwrap().into()
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

#[test]
fn limits_are_the_rates_and_a_drop_is_undone() {
    let Some(bed) = Bed::up(2) else { return };
    for target in ["t0", "t1"] {
        let limit = "16MiB/s".parse().unwrap();
        bed.bed.slow(target.parse().unwrap(), limit, Direction::Write).unwrap();
    }
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
    let refused = bed.run("--drop t7=1MiB/s@1");
    assert_eq!(refused.status, Some(2));
    bed.bed.normal("t1".parse().unwrap()).unwrap();
    let refused = bed.run("--drop t1=1MiB/s@1");
    assert!(refused.stderr.contains("no limit that could drop"), "{}", refused.stderr);
}
