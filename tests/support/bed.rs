//! A test bed with limits that hold, removed also when a test fails.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::command::{Outcome, binary};

const THROTTLE: &str = "/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device";

/// The bed `default` below a folder of its own.
pub struct Bed {
    pub folder: tempfile::TempDir,
}

impl Bed {
    /// Makes one of so many targets of this size; `None` with a word about what is missing.
    pub fn up(targets: usize, size: &str) -> Option<Self> {
        let root = rustix::process::geteuid().is_root() && Path::new("/dev/loop-control").exists();
        if !root || !Path::new(THROTTLE).exists() {
            eprintln!("SKIPPED: needs root, loop devices and the blkio controller of cgroup v1");
            return None;
        }
        let bed = Bed { folder: tempfile::tempdir_in("/var/tmp").unwrap() };
        bed.testbed(&format!("up --targets {targets} --size {size}"));
        Some(bed)
    }

    /// Runs `plimsoll testbed` with these arguments for it.
    #[track_caller]
    pub fn testbed(&self, arguments: &str) {
        let outcome: Outcome = self.command(arguments).output().unwrap().into();
        assert_eq!(outcome.status, Some(0), "{arguments}: {}", outcome.stderr);
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = binary();
        command.args(["testbed", "--base"]).arg(self.folder.path());
        command.args(arguments.split_whitespace());
        command
    }

    /// Where a target is mounted.
    pub fn target(&self, name: &str) -> PathBuf {
        self.folder.path().join("default").join(name)
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = self.command("down --force").output();
    }
}
