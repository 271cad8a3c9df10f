//! A directory that `plimsoll stow mount` shows.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::command::binary;

/// A mount, gone at the end.
pub struct View {
    pub server: Child,
    pub point: PathBuf,
}

impl View {
    /// Shows a folder in this directory as `view` in the same; `None`, and says so, where there is no FUSE.
    pub fn of(directory: &Path, folder: &str, arguments: &[&str]) -> Option<Self> {
        Self::by(binary(), directory, folder, arguments)
    }

    /// The same by a command that runs the program.
    pub fn by(
        mut command: Command,
        directory: &Path,
        folder: &str,
        arguments: &[&str],
    ) -> Option<Self> {
        let point = directory.join("view");
        fs::create_dir_all(&point).unwrap();
        let can = File::options().read(true).write(true).open("/dev/fuse");
        if can.is_err() || !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED: mounting needs /dev/fuse, and root to look at it as others");
            return None;
        }
        command.args(["stow", "mount", folder, "view"]).args(arguments).current_dir(directory);
        let server = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let view = View { server, point };
        let deadline = Instant::now() + Duration::from_secs(60);
        while !view.is_mounted() {
            assert!(Instant::now() < deadline, "it is not mounted");
            std::thread::sleep(Duration::from_millis(10));
        }
        Some(view)
    }

    /// Returns whether something is mounted there.
    pub fn is_mounted(&self) -> bool {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        mounts.lines().any(|line| line.split(' ').nth(4) == self.point.to_str())
    }

    /// Waits until nothing is mounted there.
    #[track_caller]
    pub fn wait_until_gone(&self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.is_mounted() {
            assert!(Instant::now() < deadline, "it is still mounted");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Sends a signal to its server.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.server), signal).unwrap();
    }

    /// Returns the path of something in it.
    pub fn at(&self, name: &str) -> PathBuf {
        self.point.join(name)
    }
}

impl Drop for View {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
        if self.is_mounted() {
            let _ = Command::new("umount").arg("-l").arg(&self.point).output();
        }
    }
}
