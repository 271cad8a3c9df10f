//! Containers in listings of the directories that they are in.

use core::ffi::{CStr, c_char, c_int};

use libc::dirent64;
use plimsoll_guarded::acting_user;

use super::found::{Found, Listed};
use super::names::{HIDDEN_PREFIX, NamedAt};
use super::settings;
use crate::backend::HIDDEN;
use crate::descriptors;
use crate::sys;
use crate::text::{PATH_BYTES, Text};

/// Shows a container as a regular file, and hides what is not one yet or any more, if it is this user's or root's: another user's file of such a name is like any other, and
/// who does not see it cannot remove the directory.
pub fn show(fd: c_int, entry: *mut dirent64) -> usize {
    // SAFETY: the kernel has given it, with a zero behind its name.
    let (kind, name) = unsafe {
        let name = CStr::from_ptr((&raw const (*entry).d_name).cast::<c_char>());
        ((&raw const (*entry).d_type).read_unaligned(), name)
    };
    let is_hidden = name.to_bytes().starts_with(HIDDEN_PREFIX);
    let may_be_one = matches!(kind, libc::DT_DIR | libc::DT_UNKNOWN);
    if !(may_be_one || is_hidden) || matches!(name.to_bytes(), b"." | b"..") {
        return !HIDDEN;
    }
    let mut path = Text::<PATH_BYTES>::new();
    descriptors::push_link(fd, &mut path);
    if !settings::get().is_some_and(|it| it.is_below(path.as_bytes())) {
        return !HIDDEN;
    }
    let Some(directory) = sys::borrow(fd) else { return !HIDDEN };
    if is_hidden && is_of_this_user(&NamedAt { directory, path: name }) {
        return HIDDEN;
    }
    // SAFETY: as above.
    unsafe {
        let listed = (&raw const (*entry).d_ino).read_unaligned();
        match Found::listed(&NamedAt { directory, path: name }, listed) {
            Listed::Container(found) => {
                (&raw mut (*entry).d_type).write_unaligned(libc::DT_REG);
                (&raw mut (*entry).d_ino).write_unaligned(found.anchor.st_ino);
            }
            Listed::Changed => (&raw mut (*entry).d_type).write_unaligned(libc::DT_UNKNOWN),
            Listed::Other => {}
        }
    }
    !HIDDEN
}

/// Returns whether a file is this user's or root's, also one that is gone by now.
fn is_of_this_user(at: &NamedAt<'_>) -> bool {
    at.facts().map_or(true, |it| it.st_uid == 0 || it.st_uid == acting_user())
}
