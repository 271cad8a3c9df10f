//! Names by which a program means a file that it has open, such as `/dev/stdout`: to the kernel they are the anchor's, and what is cut off, asked or opened by
//! them must be the container's file.

use core::ffi::{CStr, c_char, c_int};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use plimsoll_stow::is_gone_name;

use rustix::fd::{AsRawFd, IntoRawFd};
use rustix::fs::{Access, AtFlags, CWD, OFlags, accessat};

use super::found::reopen_anchor;
use super::{Outcome, names, number, on_own, registry, space, status};
use crate::backend::{self, Answer, Name, NameRequest, Request};
use crate::path_room::PathText;
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

/// What the kernel makes of a process's open files and directories: links that lead there without a path (proc(5)).
struct MagicLink<'a> {
    process: Option<&'a [u8]>,
    /// `None` of a working directory, or a root.
    descriptor: Option<c_int>,
    /// Where its name ends in the path.
    end: usize,
}

impl<'a> MagicLink<'a> {
    /// Returns the one that a path begins with.
    fn of(path: &'a [u8]) -> Option<Self> {
        if !path.starts_with(b"/") {
            return None;
        }
        // Neither means anything: `/dev/./fd//1`.
        let is_step = |part: &&[u8]| !part.is_empty() && *part != b".";
        let mut parts = path.split(|byte| *byte == b'/').filter(is_step);
        let end = |last: &[u8]| last.as_ptr().addr() - path.as_ptr().addr() + last.len();
        let of =
            |process, name: &'a [u8], descriptor| MagicLink { process, descriptor, end: end(name) };
        match parts.next()? {
            b"dev" => match parts.next()? {
                name @ b"stdin" => Some(of(None, name, Some(libc::STDIN_FILENO))),
                name @ b"stdout" => Some(of(None, name, Some(libc::STDOUT_FILENO))),
                name @ b"stderr" => Some(of(None, name, Some(libc::STDERR_FILENO))),
                b"fd" => {
                    let name = parts.next()?;
                    Some(of(None, name, Some(digits(name)?)))
                }
                _ => None,
            },
            b"proc" => {
                let process = match parts.next()? {
                    b"self" | b"thread-self" => None,
                    process => Some(process).filter(|it| digits(it).is_some()).map(Some)?,
                };
                // All threads of a process have its descriptors.
                let mut next = parts.next()?;
                if next == b"task" {
                    digits(parts.next()?)?;
                    next = parts.next()?;
                }
                match next {
                    b"fd" => {
                        let name = parts.next()?;
                        Some(of(process, name, Some(digits(name)?)))
                    }
                    b"cwd" | b"root" => Some(of(process, next, None)),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// Adds where such a link at the beginning of a path leads, and returns the rest of the path. `None` if it has no such beginning, or nothing behind it.
pub fn follow<'a>(path: &'a [u8], whole: &mut PathText) -> Option<&'a [u8]> {
    let (link, rest) = path.split_at_checked(MagicLink::of(path)?.end)?;
    let mut name = Text::<LINK_BYTES>::new();
    name.push(link);
    let is_it = !rest.is_empty() && name.as_bytes() == link;
    is_it.then(|| {
        whole.push_link(name.as_c_str());
        rest
    })
}

/// More than the name of such a link needs, unless somebody puts slashes into it.
const LINK_BYTES: usize = 128;

/// Returns a number as the kernel reads it in such names.
fn digits(text: &[u8]) -> Option<c_int> {
    let is_usual = text == b"0" || !text.starts_with(b"0");
    let is_number = is_usual && text.iter().all(u8::is_ascii_digit);
    str::from_utf8(text).ok().filter(|_| is_number)?.parse().ok()
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

    #[test]
    fn what_is_behind_a_link_of_a_process_is_told_from_it() {
        let here = std::env::current_dir().unwrap();
        for begin in ["/proc/self/cwd", "//proc/thread-self/./cwd"] {
            let path = format!("{begin}/a//b");
            let mut whole = Text::new();
            assert_eq!(follow(path.as_bytes(), &mut whole), Some(b"/a//b".as_slice()));
            assert_eq!(whole.as_bytes(), here.as_os_str().as_bytes());
        }
        for other in
            ["/proc/self/cwd", "/proc/self/status/x", "/dev/null/x", "proc/self/cwd/x", "/proc"]
        {
            assert_eq!(follow(other.as_bytes(), &mut Text::new()), None, "{other}");
        }
    }
}
