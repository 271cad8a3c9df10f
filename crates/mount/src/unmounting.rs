//! Takes a mount away.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use plimsoll_guarded::Directory;
use rustix::io::Errno;
use rustix::mount::UnmountFlags;

use crate::point::whole_path_of_mount;

/// Unmounts what has this number at this place; nothing if something else is there by now. Programs that have files of it open
/// keep it until they close them.
///
/// # Errors
/// If the system refuses; for whoever is not root, if others can exchange a directory on the way by now.
pub fn unmount(point: &Path, number: u64) -> io::Result<()> {
    // Only held: its server may be gone.
    let root = Directory::open(point)?;
    if root.mount_number() != Some(number) {
        return Ok(());
    }
    match rustix::mount::unmount(root.path_by_descriptor(), UnmountFlags::DETACH) {
        Err(Errno::PERM) => match whole_path_of_mount(point, number)? {
            Some(path) => by_helper(&path),
            None => Ok(()),
        },
        unmounted => Ok(unmounted?),
    }
}

/// Unmounts a FUSE file system at this place if its server is gone. Waits for a server that is ending.
///
/// # Errors
/// If the system refuses.
pub fn unmount_if_dead(point: &Path) -> io::Result<()> {
    let root = Directory::open(point)?;
    let is_dead = root.facts().is_err_and(|error| {
        let errno = Errno::from_io_error(&error);
        matches!(errno, Some(Errno::NOTCONN | Errno::CONNABORTED))
    });
    match root.mount_number() {
        Some(number) if is_dead => unmount(point, number),
        _ => Ok(()),
    }
}

/// Whoever is not root needs one that acts as root (fusermount3(1)), and that looks the path up anew: nobody else may be able to change where it leads.
fn by_helper(point: &Path) -> io::Result<()> {
    let mut command = Command::new("fusermount3");
    command.args(["-u", "-z", "-q", "--"]).arg(point).stdin(Stdio::null());
    let output = command.output()?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    Err(io::Error::other(if words.is_empty() { "fusermount3 refused".into() } else { words }))
}
