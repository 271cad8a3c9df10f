//! Names that are given only where nothing has them, also on file systems that only know how to replace (GlusterFS, NFS).

use core::ffi::CStr;

use rustix::fd::AsFd;
use rustix::fs::{RenameFlags, renameat, renameat_with};
use rustix::io::Errno;
use rustix::path::Arg;

/// Gives a file of a directory a name that nobody can guess.
pub fn rename_aside(
    directory: impl AsFd,
    name: &CStr,
    aside: impl Arg + Copy,
) -> Result<(), Errno> {
    rename_to_free((&directory, name), (&directory, aside))
}

/// Gives a file a name that nothing has; what has it all the same is replaced only where the file system knows no other way.
pub fn rename_to_free(
    (old_above, old): (impl AsFd, &CStr),
    (new_above, new): (impl AsFd, impl Arg + Copy),
) -> Result<(), Errno> {
    match renameat_with(&old_above, old, &new_above, new, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) => renameat(old_above, old, new_above, new),
        renamed => renamed,
    }
}
