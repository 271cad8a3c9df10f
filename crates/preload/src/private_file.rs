//! Files of a recording, which only its owner reads.

use core::ffi::CStr;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::config;
use crate::open_file::{self, OwnFile};

/// Creates a file that nobody else may read, whatever the program's mask is. Fails if it would be another user's than its directory: a process that has become that user, and keeps rights
/// to come into all directories, would leave them a part of the recording.
pub fn create_file(directory: &OwnFile, name: &CStr, flags: OFlags) -> Result<OwnFile, Errno> {
    let flags = flags | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = open_file::openat(directory, name, flags, Mode::RUSR | Mode::WUSR)?;
    if !is_of_owner(&file, directory)? {
        let _ = rustix::fs::unlinkat(directory, name, AtFlags::empty());
        return Err(Errno::PERM);
    }
    // Not every file system keeps modes, and the mask is usually one that changes nothing.
    let _ = rustix::fs::fchmod(&file, Mode::RUSR | Mode::WUSR);
    Ok(file)
}

/// Returns whether a new file belongs to whoever has its directory, or to root. Whoever set the variables by hand may have named any directory.
fn is_of_owner(file: &OwnFile, directory: &OwnFile) -> Result<bool, Errno> {
    if config::get().id.as_bytes().is_empty() {
        return Ok(true);
    }
    let owner = rustix::fs::fstat(file)?.st_uid;
    Ok(owner == 0 || owner == rustix::fs::fstat(directory)?.st_uid)
}

/// Lets others read a file if the user has said so. Not before the secrets in its header are masked.
pub fn share(file: &OwnFile) {
    if config::get().is_shared {
        let _ = rustix::fs::fchmod(file, Mode::from_raw_mode(0o644));
    }
}
