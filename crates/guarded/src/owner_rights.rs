//! What the umask takes from the owner of something new: one such as 0177 is meant for files, and makes directories that nobody can enter.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use rustix::fs::{Mode, chmod, fchmod, fstat};
use rustix::io::Errno;

use crate::acting_user;

const OWNER: u32 = 0o700;

/// Gives the owner of something new what its mode says, whatever the umask. Nobody else gets anything, so that it does no harm if
/// somebody has put another file of this user's in its place.
pub(crate) fn restore(made: impl AsFd, mode: u32) -> io::Result<()> {
    let facts = fstat(&made)?;
    let missing = mode & OWNER & !facts.st_mode;
    if missing == 0 || facts.st_uid != acting_user() {
        return Ok(());
    }
    let mode = Mode::from_raw_mode(facts.st_mode & 0o7777 | missing);
    match fchmod(&made, mode) {
        // It is only held.
        Err(Errno::BADF) => Ok(chmod(format!("/proc/self/fd/{}", made.as_fd().as_raw_fd()), mode)?),
        changed => Ok(changed?),
    }
}
