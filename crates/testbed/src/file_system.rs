//! Making and mounting the file systems of targets.

use std::ffi::OsStr;
use std::path::Path;

use plimsoll_guarded::Directory;
use plimsoll_machine::Machine;
use rustix::mount::{MountFlags, mount};

use crate::lock::Lock;
use crate::tool::run_tool;
use crate::{FileSystem, TestbedError};

/// No lazy initialisation: the kernel would write to the target while it is measured.
/// No discard: it would punch holes into the backing file. No blocks kept for root.
const MKFS_EXT4: [&str; 6] =
    ["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard", "-m", "0"];

/// Quiet, over whatever is there, without discard.
const MKFS_XFS: [&str; 3] = ["-q", "-f", "-K"];

/// Neither ext4 nor XFS discards unless told so; say it, whatever the defaults become.
const MOUNT_OPTIONS: &std::ffi::CStr = c"nodiscard";

/// Returns the program that makes the file system.
pub(crate) fn mkfs_program(file_system: FileSystem) -> &'static str {
    match file_system {
        FileSystem::Ext4 => "mkfs.ext4",
        FileSystem::Xfs => "mkfs.xfs",
    }
}

/// Makes an empty file system on the device.
pub(crate) fn make(
    machine: &Machine,
    lock: &Lock,
    file_system: FileSystem,
    device: &Path,
) -> Result<(), TestbedError> {
    let options: &[&str] = match file_system {
        FileSystem::Ext4 => &MKFS_EXT4,
        FileSystem::Xfs => &MKFS_XFS,
    };
    let mut arguments: Vec<&OsStr> = options.iter().map(OsStr::new).collect();
    arguments.push(device.as_os_str());
    run_tool(machine, Some(lock), mkfs_program(file_system), &arguments, device).map(drop)
}

/// Mount options. Reads must not write, so access times are not kept. Anyone who may write to a target could
/// put files there that give rights elsewhere.
const MOUNT_FLAGS: MountFlags =
    MountFlags::NOATIME.union(MountFlags::NOSUID).union(MountFlags::NODEV);

/// Mounts the device on that very directory, wherever its path leads by now.
pub(crate) fn mount_on(
    file_system: FileSystem,
    device: &Path,
    point: &Directory,
) -> Result<(), TestbedError> {
    let directory = point.path_by_descriptor();
    let mounted = mount(device, directory, file_system.name(), MOUNT_FLAGS, MOUNT_OPTIONS);
    mounted.map_err(|errno| {
        let (device, point) = (device.to_path_buf(), point.path().to_path_buf());
        TestbedError::Mount { device, point, cause: errno.into() }
    })
}
