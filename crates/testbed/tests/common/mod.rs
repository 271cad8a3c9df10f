//! A bed in a directory of its own, removed when the test ends in whatever way.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll_domain::Bytes;
use plimsoll_machine::{BlockControl, DeviceNumber, Machine, THROTTLE_FILES};
use plimsoll_testbed::{Bed, DownOptions, KindChoice, Testbed, UpOptions};

pub const SIZE: Bytes = Bytes::new(24 << 20);

/// Directories on a disk as a rule, in contrast to `/tmp`.
const DISK: &str = "/var/tmp";

/// True when there are loop devices; otherwise says so.
pub fn has_loop_devices() -> bool {
    let machine = Machine::host();
    let can = machine.effective_uid().is_ok_and(|uid| uid == 0)
        && machine.has_loop_control()
        && machine.find_system_program("losetup").is_some()
        && machine.find_system_program("mkfs.ext4").is_some();
    if !can {
        println!("SKIPPED: needs root and loop devices");
    }
    can
}

/// Where limits are set for all processes; otherwise says that there is no such place.
pub fn blkio() -> Option<PathBuf> {
    match Machine::host().block_control() {
        Ok(BlockControl::V1 { hierarchy }) => Some(hierarchy),
        _ => {
            println!("SKIPPED: needs cgroup v1 blkio");
            None
        }
    }
}

/// "nobody" on every Linux system (overflow uid, Documentation/admin-guide/sysctl/kernel.rst).
pub const NOBODY: u32 = 65534;

/// True when this is root and the test program can be run by everyone; otherwise says so.
pub fn can_be_nobody() -> bool {
    let is_root = Machine::host().effective_uid().unwrap() == 0;
    let can = is_root && as_nobody().arg("--list").output().is_ok_and(|it| it.status.success());
    if !can {
        println!("SKIPPED: needs root, setpriv, and a test program that everyone can run");
    }
    can
}

/// This test program as an ordinary user.
pub fn as_nobody() -> Command {
    let mut command = Command::new("setpriv");
    let user = NOBODY.to_string();
    command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
    command.arg(std::env::current_exe().unwrap());
    command
}

/// Runs a system program that has to succeed.
#[track_caller]
pub fn system(program: &str, arguments: &[&OsStr]) {
    assert!(Command::new(program).args(arguments).status().unwrap().success(), "{program}");
}

pub fn mount_tmpfs(point: &Path) {
    let options = ["-t", "tmpfs", "-o", "size=1m", "foreign"].map(OsStr::new);
    system("mount", &[options.as_slice(), &[point.as_os_str()]].concat());
}

pub struct TempBed {
    base: PathBuf,
    owns_base: bool,
    pub bed: Testbed,
}

impl TempBed {
    pub fn new() -> Self {
        let base = tempfile::Builder::new().prefix("plimsoll-test-").tempdir_in(DISK).unwrap();
        let base = base.keep().canonicalize().unwrap();
        let bed = Testbed::in_base(&base, "bed").unwrap();
        Self { base, owns_base: true, bed }
    }

    /// Another bed in the same base directory.
    pub fn beside(&self, name: &str) -> Self {
        let bed = Testbed::in_base(&self.base, name).unwrap();
        Self { base: self.base.clone(), owns_base: false, bed }
    }

    pub fn base(&self) -> &Path {
        &self.base
    }

    pub fn up(&self, targets: u64) -> Bed {
        self.bed.up(&loop_targets(targets), &mut |_| ()).unwrap()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.bed.directory().join(name)
    }

    /// Nothing of the bed is left but these files in the base directory.
    pub fn assert_nothing_left_but(&self, names: &[&str]) {
        let machine = Machine::host();
        for device in machine.block_devices().unwrap() {
            let on_bed = device.backing.iter().any(|backing| backing.file.starts_with(&self.base));
            assert!(!on_bed, "{device:?}");
        }
        for mount in machine.mounts().unwrap() {
            assert!(!mount.point.starts_with(&self.base), "{mount:?}");
        }
        let mut left: Vec<String> = fs::read_dir(&self.base)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, names);
    }

    pub fn assert_nothing_left(&self) {
        self.assert_nothing_left_but(&[]);
    }
}

impl Drop for TempBed {
    fn drop(&mut self) {
        if let Err(error) = self.bed.down(DownOptions { force: true }) {
            eprintln!("cannot clean up after the test: {error}");
        }
        if self.owns_base {
            let _ = fs::remove_dir_all(&self.base);
        }
    }
}

pub fn loop_targets(targets: u64) -> UpOptions {
    UpOptions { kind: KindChoice::Loop, ..UpOptions::new(targets, SIZE) }
}

pub fn directory_targets(targets: u64) -> UpOptions {
    UpOptions { kind: KindChoice::Directory, ..UpOptions::new(targets, SIZE) }
}

/// The lines that the kernel has for a device in all four files.
pub fn rules(hierarchy: &Path, device: DeviceNumber) -> Vec<String> {
    let wanted = format!("{device} ");
    THROTTLE_FILES
        .iter()
        .flat_map(|file| {
            let text = fs::read_to_string(hierarchy.join(file)).unwrap();
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines
        })
        .filter(|line| line.starts_with(&wanted))
        .collect()
}
