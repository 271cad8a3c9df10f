//! Whether a directory is as open to other users as another one.

use std::path::Path;

use plimsoll_guarded::ACCESS_LIST;
use rustix::fd::BorrowedFd;
use rustix::fs::{Stat, lgetxattr, lstat};
use rustix::io::Errno;

use super::names::NamedAt;
use super::naming::held_directory;

/// What a mode has of a directory which everybody can pass, its group too.
const ALL_PASS: u32 = 0o011;
/// The same of one in which everybody sees the names: who may only pass must know them.
const ALL_LOOK: u32 = 0o055;

/// Returns whether all users who can come to `other` can come to all that is in `directory`: what only that one is in lets everybody through.
pub fn is_as_open(directory: BorrowedFd<'static>, other: BorrowedFd<'static>) -> bool {
    let held = |directory| held_directory(&NamedAt { directory, path: c"." });
    let (Some(directory), Some(other)) = (held(directory), held(other)) else { return false };
    let is_in_both = |it: &&Path| other.path().starts_with(it);
    let mut above = directory.path().ancestors().skip(1).take_while(|it| !is_in_both(it));
    is_for_all(directory.path(), ALL_LOOK) && above.all(|it| is_for_all(it, ALL_PASS))
}

fn is_for_all(directory: &Path, rights: u32) -> bool {
    let have_all = |it: Stat| it.st_mode & rights == rights;
    let list = lgetxattr(directory, ACCESS_LIST, &mut [0u8; 0][..]);
    lstat(directory).is_ok_and(have_all) && matches!(list, Err(Errno::NODATA | Errno::NOTSUP))
}
