//! Limits of block devices through cgroup v2: a cgroup for one command, or for this process.
//!
//! The root cgroup has no limits in v2. The memory controller is enabled in the
//! same cgroup, or write-back would not be charged to it
//! (Documentation/admin-guide/cgroup-v2.rst, "Writeback").

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use plimsoll_domain::Limit;
use plimsoll_machine::DeviceNumber;

use crate::error::file_error;
use crate::{Limits, TestbedError};

const PREFIX: &str = "plimsoll-testbed-";

/// A cgroup whose processes are limited. Removed when dropped.
#[derive(Debug)]
pub(crate) struct LimitedGroup {
    path: PathBuf,
    /// Where processes go that outlive the command.
    home: PathBuf,
}

impl LimitedGroup {
    /// Makes the cgroup in the hierarchy and sets the limits. `pid` is the process that
    /// will remove it, and `home` the cgroup which that process is in.
    pub(crate) fn make(
        hierarchy: &Path,
        home: &Path,
        bed: &str,
        pid: u32,
        limits: &[(DeviceNumber, Limits)],
    ) -> Result<Self, TestbedError> {
        let controllers = hierarchy.join("cgroup.subtree_control");
        append(&controllers, "+io +memory")
            .map_err(file_error("enable the io and memory controllers in", &controllers))?;
        let path = hierarchy.join(format!("{PREFIX}{bed}-{pid}"));
        fs::create_dir(&path).map_err(file_error("create", &path))?;
        let group = Self { path, home: home.to_path_buf() };
        let io_max = group.path.join("io.max");
        for (device, limits) in limits {
            append(&io_max, &rule(*device, limits))
                .map_err(file_error("set limits in", &io_max))?;
        }
        Ok(group)
    }

    /// Returns the file through which a process enters: it writes "0".
    pub(crate) fn entrance(&self) -> Result<File, TestbedError> {
        let path = self.path.join("cgroup.procs");
        OpenOptions::new().append(true).create(true).open(&path).map_err(file_error("open", &path))
    }

    /// Moves this process in.
    pub(crate) fn enter(&self) -> Result<(), TestbedError> {
        let path = self.path.join("cgroup.procs");
        append(&path, "0").map_err(file_error("enter", &path))
    }

    fn remove(&self) -> io::Result<()> {
        let inside = fs::read_to_string(self.path.join("cgroup.procs")).unwrap_or_default();
        for pid in inside.lines() {
            // It may have ended by now.
            let _ = append(&self.home.join("cgroup.procs"), pid);
        }
        fs::remove_dir(&self.path)
    }
}

impl Drop for LimitedGroup {
    fn drop(&mut self) {
        // What stays is removed by the next `run` or `down`: see `remove_stale`.
        let _ = self.remove();
    }
}

/// Removes the cgroups of this bed whose makers are dead; gives how many.
pub(crate) fn remove_stale(hierarchy: &Path, bed: &str, is_alive: impl Fn(u32) -> bool) -> usize {
    let stale = groups_of(hierarchy, bed).into_iter().filter(|(_, maker)| !is_alive(*maker));
    // The kernel refuses to remove one that still has processes.
    stale.filter(|(path, _)| fs::remove_dir(path).is_ok()).count()
}

/// Changes the limits of a device for what runs in the cgroups of this bed.
pub(crate) fn change_running(
    hierarchy: &Path,
    bed: &str,
    device: DeviceNumber,
    limits: &Limits,
) -> Result<(), TestbedError> {
    for (path, _) in groups_of(hierarchy, bed) {
        let io_max = path.join("io.max");
        match append(&io_max, &rule(device, limits)) {
            // Its command has just ended.
            Err(_) if !path.exists() => {}
            changed => changed.map_err(file_error("set limits in", &io_max))?,
        }
    }
    Ok(())
}

/// Returns true if a process of this cgroup is under the limits of the bed.
pub(crate) fn is_of_bed(group: &Path, bed: &str) -> bool {
    let mut names = group.iter().filter_map(|name| name.to_str());
    names.any(|name| maker_of(name, bed).is_some())
}

/// Returns the cgroups of this bed, and the process that made each.
fn groups_of(hierarchy: &Path, bed: &str) -> Vec<(PathBuf, u32)> {
    let Ok(entries) = fs::read_dir(hierarchy) else { return Vec::new() };
    let groups = entries.flatten().filter_map(|entry| {
        let maker = entry.file_name().to_str().and_then(|name| maker_of(name, bed))?;
        Some((entry.path(), maker))
    });
    groups.collect()
}

/// Returns the process that made a cgroup of that name for this bed.
fn maker_of(name: &str, bed: &str) -> Option<u32> {
    let (owner, pid) = name.strip_prefix(PREFIX)?.rsplit_once('-')?;
    (owner == bed).then_some(())?;
    pid.parse().ok()
}

/// One line of io.max (Documentation/admin-guide/cgroup-v2.rst, "IO Interface Files").
fn rule(device: DeviceNumber, limits: &Limits) -> String {
    let value = |value: Option<u64>| value.map_or("max".to_owned(), |value| value.to_string());
    let bytes = |limit: Limit| value(limit.bytes.map(|rate| rate.get()));
    let operations = |limit: Limit| value(limit.operations.map(|rate| rate.get()));
    let Limits { read, write } = *limits;
    let (rbps, wbps) = (bytes(read), bytes(write));
    let (riops, wiops) = (operations(read), operations(write));
    format!("{device} rbps={rbps} wbps={wbps} riops={riops} wiops={wiops}\n")
}

/// Control files take one rule per write. Appending and creating change nothing for
/// them: they exist, and the kernel lets nobody create others.
fn append(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().append(true).create(true).open(path)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(minor: u32) -> DeviceNumber {
        DeviceNumber { major: 7, minor }
    }

    fn slow(text: &str) -> Limits {
        Limits { read: Limit::NONE, write: text.parse().unwrap() }
    }

    #[test]
    fn makes_a_cgroup_with_the_limits_of_all_devices() {
        let tree = tempfile::tempdir().unwrap();
        let limits = [(device(0), slow("20MiB/s")), (device(1), slow("5op/s"))];
        let group = LimitedGroup::make(tree.path(), tree.path(), "bed", 42, &limits).unwrap();
        let read = |file: &str| fs::read_to_string(tree.path().join(file)).unwrap();
        assert_eq!(read("cgroup.subtree_control"), "+io +memory");
        assert_eq!(
            read("plimsoll-testbed-bed-42/io.max"),
            "7:0 rbps=max wbps=20971520 riops=max wiops=max\n\
             7:1 rbps=max wbps=max riops=max wiops=5\n"
        );
        group.entrance().unwrap().write_all(b"77\n").unwrap();
        drop(group);
        assert_eq!(read("cgroup.procs"), "77", "whoever outlives the command goes home");
    }

    #[test]
    fn an_empty_cgroup_is_removed() {
        let tree = tempfile::tempdir().unwrap();
        let group = LimitedGroup::make(tree.path(), tree.path(), "bed", 42, &[]).unwrap();
        let path = group.path.clone();
        assert!(path.exists());
        drop(group);
        assert!(!path.exists());
    }

    #[test]
    fn only_this_beds_dead_cgroups_are_stale() {
        let tree = tempfile::tempdir().unwrap();
        for name in ["bed-1", "bed-2", "bed-2-1", "other-1", "bed-x", "bed"] {
            fs::create_dir(tree.path().join(format!("{PREFIX}{name}"))).unwrap();
        }
        fs::create_dir(tree.path().join("user.slice")).unwrap();
        assert_eq!(remove_stale(tree.path(), "bed", |pid| pid == 2), 1);
        assert!(!tree.path().join("plimsoll-testbed-bed-1").exists());
        assert_eq!(fs::read_dir(tree.path()).unwrap().count(), 6);
    }

    #[test]
    fn what_runs_on_this_bed_gets_a_new_limit_and_nothing_else_does() {
        let tree = tempfile::tempdir().unwrap();
        let make = |bed, pid| LimitedGroup::make(tree.path(), tree.path(), bed, pid, &[]).unwrap();
        let groups = [make("bed", 1), make("bed", 2), make("other", 3)];
        change_running(tree.path(), "bed", device(4), &slow("2MiB/s")).unwrap();
        let limits = groups.each_ref().map(|group| fs::read_to_string(group.path.join("io.max")));
        let rule = "7:4 rbps=max wbps=2097152 riops=max wiops=max\n";
        assert_eq!(limits[0].as_ref().unwrap(), rule);
        assert_eq!(limits[1].as_ref().unwrap(), rule);
        assert!(limits[2].is_err());
    }

    #[test]
    fn a_process_is_under_the_limits_of_its_own_bed() {
        assert!(is_of_bed(Path::new("/cg/plimsoll-testbed-bed-7"), "bed"));
        assert!(is_of_bed(Path::new("/cg/plimsoll-testbed-bed-7/below"), "bed"));
        assert!(!is_of_bed(Path::new("/cg/plimsoll-testbed-bed-7"), "other"));
        assert!(!is_of_bed(Path::new("/cg/user.slice"), "bed"));
    }
}
