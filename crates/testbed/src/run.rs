//! Running a command on a bed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use plimsoll_machine::{BlockControl, DeviceNumber, Machine};
use plimsoll_process::run_to_end;

use crate::io_max::{LimitedGroup, is_of_bed, remove_stale};
use crate::support::no_control;
use crate::{Limits, Listing, Testbed, TestbedError};

/// The variable that tells a command the bed's directory.
pub const TESTBED_VARIABLE: &str = "PLIMSOLL_TESTBED";

/// The variable that tells a command the targets' paths, separated by colons.
pub const TARGETS_VARIABLE: &str = "PLIMSOLL_TARGETS";

/// This process under the limits of a bed, until dropped.
#[derive(Debug)]
#[must_use = "the limits end with it"]
pub struct UnderLimits {
    _group: Option<LimitedGroup>,
}

impl Testbed {
    /// Runs a command under the limits of the bed and waits for it. It has this
    /// process's input and outputs, and [`TESTBED_VARIABLE`] and [`TARGETS_VARIABLE`].
    ///
    /// With cgroup v1, limits hold for every process anyway. With cgroup v2, the
    /// command and all it starts are put into a cgroup with the limits, and get those that
    /// change while it runs.
    ///
    /// Signals that ask this process to end (SIGHUP, SIGINT, SIGTERM) go to the command
    /// while it runs; to that which was started first where there are several.
    ///
    /// # Errors
    /// If there is no bed, if it is somebody else's ([`Testbed::list_own`]), or if the command cannot be started.
    pub fn run(&self, program: &OsStr, arguments: &[OsString]) -> Result<ExitStatus, TestbedError> {
        let listing = self.list_own()?;
        if !listing.exists {
            return Err(TestbedError::NoBed { directory: listing.directory });
        }
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env(TESTBED_VARIABLE, &listing.directory)
            .env(TARGETS_VARIABLE, joined(&usable_paths(&listing)));
        let group = self.group_for(&listing)?;
        if let Some(group) = &group {
            enter_before_exec(&mut command, group.entrance()?);
        }
        run_to_end(&mut command)
            .map_err(|cause| TestbedError::Start { program: program.to_owned(), cause })
    }

    /// Makes the limits of the bed hold for this process and all that it starts from now on.
    /// Nothing to do with cgroup v1, or under [`Testbed::run`].
    pub fn enter(&self) -> Result<UnderLimits, TestbedError> {
        let group = self.group_for(&self.list()?)?;
        group.iter().try_for_each(LimitedGroup::enter)?;
        Ok(UnderLimits { _group: group })
    }

    /// Returns true if the bed's limits hold for this process, or there are none.
    pub fn limits_hold_here(&self) -> Result<bool, TestbedError> {
        Ok(match self.machine.block_control()? {
            BlockControl::V1 { .. } => true,
            BlockControl::V2 { hierarchy } => {
                let home = home_group(&self.machine, &self.machine.locate(hierarchy));
                is_of_bed(&home, self.place.name()) || limited_devices(&self.list()?).is_empty()
            }
            BlockControl::Neither { .. } => limited_devices(&self.list()?).is_empty(),
        })
    }

    /// Returns the cgroup that commands have to be in, where limits hold in cgroups only. One that has no
    /// limits yet is made if that is possible, because it may get some.
    fn group_for(&self, listing: &Listing) -> Result<Option<LimitedGroup>, TestbedError> {
        let limits = limited_devices(listing);
        match self.machine.block_control()? {
            BlockControl::V1 { .. } => Ok(None),
            BlockControl::V2 { hierarchy } => {
                let hierarchy = self.machine.locate(hierarchy);
                let home = home_group(&self.machine, &hierarchy);
                if is_of_bed(&home, self.place.name()) {
                    return Ok(None);
                }
                let group = self.limited_group(&hierarchy, &home, &limits);
                if limits.is_empty() { Ok(group.ok()) } else { group.map(Some) }
            }
            BlockControl::Neither { .. } if limits.is_empty() => Ok(None),
            BlockControl::Neither { .. } => {
                Err(TestbedError::NoLimitedRun { reason: no_control(&self.machine)? })
            }
        }
    }

    fn limited_group(
        &self,
        hierarchy: &Path,
        home: &Path,
        limits: &[(DeviceNumber, Limits)],
    ) -> Result<LimitedGroup, TestbedError> {
        let is_alive = |pid: u32| self.machine.locate(format!("/proc/{pid}")).exists();
        remove_stale(hierarchy, self.place.name(), is_alive);
        LimitedGroup::make(hierarchy, home, self.place.name(), std::process::id(), limits)
    }
}

/// Makes the command move itself into a cgroup after it is forked and before it is
/// executed, so that nothing of it ever runs without limits.
fn enter_before_exec(command: &mut Command, entrance: File) {
    let enter = move || Ok(rustix::io::write(&entrance, b"0").map(drop)?);
    // SAFETY: between fork and exec only async-signal-safe calls are allowed
    // (signal-safety(7)). The closure does one write(2) to a descriptor that is open
    // already; it neither allocates nor locks.
    unsafe {
        command.pre_exec(enter);
    }
}

fn usable_paths(listing: &Listing) -> Vec<PathBuf> {
    let usable = listing.targets.iter().filter(|target| target.state.is_usable());
    usable.map(|target| target.path.clone()).collect()
}

/// No path has a colon: the bed's base directory is checked for it.
fn joined(paths: &[PathBuf]) -> OsString {
    let names: Vec<&OsStr> = paths.iter().map(|path| path.as_os_str()).collect();
    names.join(OsStr::new(":"))
}

fn limited_devices(listing: &Listing) -> Vec<(DeviceNumber, Limits)> {
    let limited = listing.targets.iter().filter(|target| !target.limits.is_none());
    limited.filter_map(|target| Some((target.device.as_ref()?.number, target.limits))).collect()
}

/// Returns the cgroup of this process: the line "0::/path" of `/proc/self/cgroup`
/// (cgroups(7)); the root of the hierarchy when there is none.
fn home_group(machine: &Machine, hierarchy: &Path) -> PathBuf {
    let text = std::fs::read_to_string(machine.locate("/proc/self/cgroup")).unwrap_or_default();
    let path = text.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    hierarchy.join(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_enters_the_cgroup_before_it_runs() {
        let tree = tempfile::tempdir().unwrap();
        let procs = tree.path().join("cgroup.procs");
        let mut command = Command::new("cat");
        command.arg(&procs);
        enter_before_exec(&mut command, File::create(&procs).unwrap());
        assert_eq!(command.output().unwrap().stdout, b"0");
    }

    #[test]
    fn a_command_that_cannot_enter_does_not_run() {
        let mut command = Command::new("true");
        enter_before_exec(&mut command, File::open("/dev/null").unwrap());
        assert!(command.status().is_err());
    }

    #[test]
    fn finds_its_own_cgroup() {
        let root = tempfile::tempdir().unwrap();
        let machine = Machine::at(root.path(), "");
        assert_eq!(home_group(&machine, Path::new("/cg")), Path::new("/cg"));
        std::fs::create_dir_all(root.path().join("proc/self")).unwrap();
        let text = "1:cpu:/x\n0::/user.slice/session-1.scope\n";
        std::fs::write(root.path().join("proc/self/cgroup"), text).unwrap();
        let home = home_group(&machine, Path::new("/cg"));
        assert_eq!(home, Path::new("/cg/user.slice/session-1.scope"));
    }
}
