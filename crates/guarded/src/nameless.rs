//! Files without a name, which do not stay behind however a program ends.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, lstat, openat};
use rustix::io::Errno;

use crate::Directory;
use crate::descriptors::moved;
use crate::directory::checked;

impl Directory {
    /// Creates a file without a name: it is gone when nobody has it open any more, and only this user may open it meanwhile.
    ///
    /// # Errors
    /// If there can be none; [`is_without_nameless`] tells where that is because of the file system or the kernel.
    pub fn create_nameless(&self, flags: OFlags) -> Result<File, Errno> {
        let flags = flags | OFlags::TMPFILE | OFlags::CLOEXEC;
        Ok(moved(openat(self, ".", flags, Mode::RUSR | Mode::WUSR)?).into())
    }

    /// Gives a file without a name this one.
    ///
    /// # Errors
    /// If there is anything of that name, or /proc is not there.
    pub fn give_name(&self, nameless: &File, name: impl AsRef<OsStr>) -> io::Result<()> {
        let path = path_of(nameless);
        Ok(linkat(CWD, path, self, checked(name.as_ref())?, AtFlags::SYMLINK_FOLLOW)?)
    }
}

/// Returns the only path that leads to a file without a name.
fn path_of(nameless: &File) -> String {
    format!("/proc/self/fd/{}", nameless.as_raw_fd())
}

/// Returns whether a file without a name can get one: /proc is there.
pub(crate) fn can_be_named(nameless: &File) -> bool {
    lstat(path_of(nameless)).is_ok()
}

/// Returns whether the error means that a file system or an old kernel does not know files without names (O_TMPFILE, open(2)).
pub fn is_without_nameless(errno: Errno) -> bool {
    [Errno::OPNOTSUPP, Errno::ISDIR, Errno::INVAL].contains(&errno)
}
