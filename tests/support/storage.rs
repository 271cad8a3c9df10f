//! Targets that are plain directories, for tests that write to them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Held by tests that make mounts which others would see, and by those that look at all mounts.
pub fn changing_mounts() -> MutexGuard<'static, ()> {
    static MOUNTS: Mutex<()> = Mutex::new(());
    MOUNTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Some targets in a folder of their own, gone at the end.
pub struct Storage {
    pub folder: tempfile::TempDir,
    pub targets: Vec<PathBuf>,
}

impl Storage {
    pub fn with_targets(count: usize) -> Self {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let targets: Vec<PathBuf> =
            (0..count).map(|index| folder.path().join(format!("ost{index}"))).collect();
        targets.iter().for_each(|target| fs::create_dir(target).unwrap());
        Storage { folder, targets }
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = self.targets.iter().flat_map(|target| fs::read_dir(target).unwrap());
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.files().is_empty()
    }

    #[track_caller]
    pub fn assert_nothing_left(&self) {
        let left = self.files();
        assert!(left.is_empty(), "{left:?}");
    }

    /// For what is removed by processes that outlive the command.
    #[track_caller]
    pub fn wait_until_empty(&self) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !self.is_empty() {
            assert!(Instant::now() < deadline, "something is left");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A little memory as a file system, unmounted at the end.
pub struct SmallDisk {
    at: PathBuf,
}

impl SmallDisk {
    /// `None` without the right to mount.
    pub fn mount(at: &Path, size: &str) -> Option<Self> {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "none"])
            .arg(at)
            .stderr(Stdio::null())
            .status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(SmallDisk { at: at.to_path_buf() });
        }
        eprintln!("SKIPPED: a small file system needs root");
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.at).status();
    }
}
