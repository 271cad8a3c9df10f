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

/// Returns whether all users who can come to `other` can come to `directory`: what only that one is in lets everybody through.
pub fn is_as_open(directory: BorrowedFd<'static>, other: BorrowedFd<'static>) -> bool {
    let held = |directory| held_directory(&NamedAt { directory, path: c"." });
    let (Some(directory), Some(other)) = (held(directory), held(other)) else { return false };
    let is_in_both = |it: &&Path| other.path().starts_with(it);
    directory.path().ancestors().take_while(|it| !is_in_both(it)).all(is_for_all)
}

fn is_for_all(directory: &Path) -> bool {
    let all_pass = |it: Stat| it.st_mode & ALL_PASS == ALL_PASS;
    let list = lgetxattr(directory, ACCESS_LIST, &mut [0u8; 0][..]);
    lstat(directory).is_ok_and(all_pass) && matches!(list, Err(Errno::NODATA | Errno::NOTSUP))
}
