//! Names that are exchanged, or given only where nothing has them, also on file systems that only know how to replace (GlusterFS, NFS).

use core::ffi::{CStr, c_int};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use plimsoll_stow::aside_name;
use rustix::fd::AsFd;
use rustix::fs::{RenameFlags, renameat, renameat_with};
use rustix::io::Errno;
use rustix::path::Arg;

use super::names::NamedAt;
use super::number;

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

/// Exchanges two names: at once, or else step by step, so that there is nothing of the second name for a moment.
pub fn exchange(from: &NamedAt<'_>, to: &NamedAt<'_>) -> Result<(), c_int> {
    match renameat_with(from.directory, from.path, to.directory, to.path, RenameFlags::EXCHANGE) {
        Err(Errno::INVAL | Errno::NOSYS) => exchange_by_steps(from, to),
        exchanged => exchanged.map_err(number),
    }
}

fn exchange_by_steps(from: &NamedAt<'_>, to: &NamedAt<'_>) -> Result<(), c_int> {
    // By its name it is given back if this process is killed.
    let aside = aside_name(OsStr::from_bytes(to.path.to_bytes())).map_err(|_| libc::EIO)?;
    renameat(to.directory, to.path, to.directory, &aside).map_err(number)?;
    let renamed = renameat(from.directory, from.path, to.directory, to.path);
    let back = if renamed.is_ok() { from } else { to };
    let returned = renameat(to.directory, &aside, back.directory, back.path);
    match renamed.and(returned) {
        // It has made room, and somebody has removed it since.
        Err(Errno::NOENT) if renamed.is_ok() => Ok(()),
        exchanged => exchanged.map_err(number),
    }
}
