//! Names by which a program means a file that it has open, such as `/dev/stdout`: to the kernel they are the anchor's, and what is cut off, asked or opened by
//! them must be the container's file.

use core::ffi::{CStr, c_char, c_int};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use plimsoll_stow::is_gone_name;

use rustix::fd::{AsRawFd, IntoRawFd};
use rustix::fs::{Access, AtFlags, CWD, OFlags, accessat};

use super::found::reopen_anchor;
use super::magic_link::MagicLink;
use super::{Outcome, names, number, on_own, registry, space, status};
use crate::backend::{self, Answer, Name, NameRequest, Request};
use crate::text::{PATH_BYTES, Text};
use crate::thread::Serving;

/// Returns the descriptor that a name means, if a backend may own it. By its text, so that other names cost nothing.
pub fn of(name: &Name) -> Option<c_int> {
    let (process, fd) = parse(name.path()?.to_bytes())?;
    is_owned(process, fd).then_some(fd)
}

/// On its own: threads have small stacks, and other names need no room there.
#[inline(never)]
fn is_owned(process: Option<&[u8]>, fd: c_int) -> bool {
    // Another process may have that number where `/proc` is another's.
    backend::is_owned(fd) && process.is_none_or(is_this)
}

/// Returns the process that a name is about, by its number if it has one there, and the descriptor.
fn parse(path: &[u8]) -> Option<(Option<&[u8]>, c_int)> {
    let link = MagicLink::of(path)?;
    // With a slash or a dot behind it, it is a directory.
    let is_all = link.end == path.len();
    link.descriptor.filter(|_| is_all).map(|fd| (link.process, fd))
}

fn is_this(process: &[u8]) -> bool {
    let mut own = Text::<32>::new();
    own.push_link(c"/proc/self");
    own.as_bytes() == process
}

/// Serves a call on such a name. `None` where the kernel does to the anchor what is to be done to the file.
pub fn serve(serving: &Serving, fd: c_int, name: &Name, request: &NameRequest) -> Answer {
    let path = name.path()?;
    match *request {
        NameRequest::Open { flags, .. } => {
            reopen(serving, fd, path, OFlags::from_bits_retain(flags as u32))
        }
        NameRequest::Status(status) if status::follows(status.flags()) => {
            on_own(serving, fd, &Request::Status(status))
        }
        NameRequest::Truncate { length } => on_container(serving, fd, || {
            accessat(CWD, path, Access::WRITE_OK, AtFlags::empty()).map_err(number)?;
            let (entry, _) = registry::of(serving, fd)?.ok_or(libc::ESTALE)?;
            space::set_size(&mut entry.hold(serving), length)
        }),
        NameRequest::Access { mode, flags } => on_container(serving, fd, || {
            let access = Access::from_bits_retain(mode as u32);
            let flags = AtFlags::from_bits_retain(flags as u32);
            accessat(CWD, path, access, flags).map(|()| 0).map_err(number)
        }),
        // The kernel changes the anchor.
        NameRequest::ChangeMode { mode, flags } if status::follows(flags) => {
            status::change_mode_of(fd, mode)
        }
        NameRequest::ChangeOwner { group, flags, .. } if status::follows(flags) => {
            status::change_group_of(fd, group)
        }
        NameRequest::Attribute { ref request, flags } if status::follows(flags) => {
            status::change_list_of(fd, request)
        }
        NameRequest::ReadLink { to, length } if !path.to_bytes().starts_with(b"/dev/std") => {
            on_container(serving, fd, || read_link(path, to, length))
        }
        NameRequest::Link { flags, .. } if flags & libc::AT_SYMLINK_FOLLOW != 0 => {
            on_container(serving, fd, || Err(libc::EPERM))
        }
        _ => None,
    }
}

/// Tells where the file is that a descriptor is of, as the kernel tells it of other files.
fn read_link(path: &CStr, to: *mut c_char, length: usize) -> Outcome {
    const DELETED: &[u8] = b" (deleted)";
    let mut told = Text::<PATH_BYTES>::new();
    told.push_link(path);
    let known = names::without_anchor(told.as_bytes()).len();
    told.truncate(known);
    let name = told.as_bytes().rsplit(|byte| *byte == b'/').next();
    if name.is_some_and(|name| is_gone_name(OsStr::from_bytes(name))) {
        told.push(DELETED);
    }
    if length == 0 {
        return Err(libc::EINVAL);
    }
    if to.is_null() {
        return Err(libc::EFAULT);
    }
    let count = told.as_bytes().len().min(length);
    // SAFETY: the program's room for as many bytes, which the C library would fill in the same way.
    unsafe { to.cast::<u8>().copy_from_nonoverlapping(told.as_bytes().as_ptr(), count) };
    Ok(count)
}

/// Does something to the container that a descriptor is of, if it is one's.
fn on_container(serving: &Serving, fd: c_int, work: impl FnOnce() -> Outcome) -> Answer {
    match registry::of(serving, fd) {
        Ok(Some(_)) => Some(work()),
        Ok(None) => None,
        Err(error) => Some(Err(error)),
    }
}

/// Flags with which the kernel says what is wrong, or gives what cannot be read and written by.
const LEFT: OFlags = OFlags::NOFOLLOW.union(OFlags::DIRECTORY).union(OFlags::PATH);

/// Opens the file anew: with a position of its own, and as short as is wanted.
fn reopen(serving: &Serving, fd: c_int, path: &CStr, flags: OFlags) -> Answer {
    if flags.intersects(LEFT) || flags.contains(OFlags::CREATE | OFlags::EXCL) {
        return None;
    }
    on_container(serving, fd, || {
        let file = reopen_anchor(path, flags)?;
        match prepare(serving, file.as_raw_fd(), flags) {
            Ok(()) => Ok(file.into_raw_fd() as usize),
            Err(error) => {
                registry::give_up(serving, file);
                Err(error)
            }
        }
    })
}

fn prepare(serving: &Serving, fd: c_int, flags: OFlags) -> Result<(), c_int> {
    let (entry, _) = registry::of(serving, fd)?.ok_or(libc::ESTALE)?;
    let mut entry = entry.hold(serving);
    entry.follow_others()?;
    if flags.contains(OFlags::TRUNC)
        && flags & OFlags::ACCMODE != OFlags::RDONLY
        && !entry.is_empty()?
    {
        space::set_size(&mut entry, 0)?;
    }
    entry.note(fd);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_descriptors_are_known_by_their_text() {
        let told = |path: &'static str| parse(path.as_bytes());
        assert_eq!((told("/dev/stdin"), told("/dev/stderr")), (Some((None, 0)), Some((None, 2))));
        assert_eq!(
            (told("/dev/fd/7"), told("/proc/self/fd/0")),
            (Some((None, 7)), Some((None, 0)))
        );
        assert_eq!(told("/proc/thread-self/fd/12"), Some((None, 12)));
        assert_eq!(told("/proc/42/fd/12"), Some((Some(b"42".as_slice()), 12)));
        assert_eq!(told("/proc/42/task/43/fd/1"), Some((Some(b"42".as_slice()), 1)));
        assert_eq!(
            (told("//proc/self//fd/3"), told("/dev/./fd/4")),
            (Some((None, 3)), Some((None, 4)))
        );
        for other in [
            "/dev/null",
            "/dev/fd",
            "/dev/fd/",
            "/dev/fd/07",
            "/dev/fd/7/x",
            "/dev/fd/7/",
            "/dev/fd/7/.",
            "/dev/stdin/x",
            "/proc/self/task/fd/7",
            "/proc/self/task/x/fd/7",
            "/dev/fd/-1",
            "/dev/fd/+1",
            "/proc/self/fd/7/x",
            "/proc/self/fdinfo/7",
            "/proc/x/fd/7",
            "/proc/self/fd/99999999999",
            "/proc/self/cwd",
            "/proc/self/root",
            "dev/fd/1",
            "",
        ] {
            assert_eq!(told(other), None, "{other}");
        }
    }
}
