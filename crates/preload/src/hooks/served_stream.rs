//! Streams of files that a backend owns. The C library's own streams make system calls that cannot be seen, so these
//! are streams of ours (`own_stream`).
//!
//! What cannot be done fails: wide characters, another mode for the same file (`freopen` without a name), and `freopen` of
//! one of the C library's streams by the name of a backend's file.

use core::ffi::{CStr, c_char, c_int};
use core::mem::ManuallyDrop;
use core::ptr;

use libc::{AT_FDCWD, FILE};
use rustix::fd::{AsRawFd, FromRawFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::DupFlags;

use crate::backend::{self, Name, NameRequest, Request};
use crate::hooks::own_stream::{self, fail, is_one, wrap};
use crate::open_file::{self, OwnFile};
use crate::{call_real, sys, table};

/// Opens a stream by a name that a backend owns. `None` where none does.
///
/// # Safety
/// Path and mode are what a program gave to `fopen`.
#[inline]
pub unsafe fn open(path: *const c_char, mode: *const c_char) -> Option<*mut FILE> {
    if !backend::is_active() || path.is_null() || mode.is_null() {
        return None;
    }
    // SAFETY: as the caller says.
    let mode = unsafe { CStr::from_ptr(mode) };
    let flags = open_flags(mode)?;
    let request = || NameRequest::Open { flags, mode: 0o666 };
    Some(match backend::answer_name(|| Name::new(AT_FDCWD, path), request)? {
        Ok(fd) => make(fd as c_int, mode),
        Err(error) => fail(error),
    })
}

/// Returns a stream that the C library has opened, or in its place one of the same file, if a backend owns that: it
/// may have been reached by another name.
///
/// # Safety
/// An open stream that nobody has used yet, or null; the mode is that of `fopen`.
#[inline]
pub unsafe fn checked(stream: *mut FILE, mode: *const c_char) -> *mut FILE {
    if !backend::is_active() || stream.is_null() || mode.is_null() {
        return stream;
    }
    // SAFETY: as the caller says.
    let (fd, mode) = unsafe { (libc::fileno(stream), CStr::from_ptr(mode)) };
    backend::forget(fd);
    let Some(borrowed) = sys::borrow(fd).filter(|_| backend::is_owned(fd)) else { return stream };
    let copy = if mode.to_bytes().contains(&b'e') {
        rustix::io::fcntl_dupfd_cloexec(borrowed, 0)
    } else {
        rustix::io::dup(borrowed)
    };
    // SAFETY: the stream is not used any more.
    unsafe { call_real!(table::reals::fclose, fn(*mut FILE) -> c_int, stream) };
    backend::forget(fd);
    match copy.map(rustix::fd::IntoRawFd::into_raw_fd) {
        Ok(copy) => {
            backend::forget(copy);
            make(copy, mode)
        }
        Err(error) => fail(error.raw_os_error()),
    }
}

/// Makes a stream of a descriptor that a backend owns. `None` where none does.
///
/// # Safety
/// The mode is what a program gave to `fdopen`.
#[inline]
pub unsafe fn open_descriptor(fd: c_int, mode: *const c_char) -> Option<*mut FILE> {
    if !backend::is_owned(fd) || mode.is_null() {
        return None;
    }
    // SAFETY: as the caller says.
    let mode = unsafe { CStr::from_ptr(mode) };
    let wanted = open_flags(mode)?;
    let borrowed = sys::borrow(fd)?;
    let Ok(has) = rustix::fs::fcntl_getfl(borrowed) else { return Some(fail(libc::EBADF)) };
    let access = has.bits() as c_int & libc::O_ACCMODE;
    if access != libc::O_RDWR && access != wanted & libc::O_ACCMODE {
        return Some(fail(libc::EINVAL));
    }
    if wanted & libc::O_APPEND != 0 && !has.contains(OFlags::APPEND) {
        let _ = rustix::fs::fcntl_setfl(borrowed, has | OFlags::APPEND);
        if begins_at_end(wanted) && !own_stream::seek_end(fd) {
            return Some(ptr::null_mut());
        }
    }
    Some(wrap(fd, mode))
}

/// What is done where a program wants a stream to have another file.
pub enum Reopening {
    /// It was done, or has failed with `errno`; the result of `freopen`.
    Done(*mut FILE),
    /// The C library does it.
    Left,
    /// It must fail: the file is a backend's and the stream is the C library's own, which cannot become one of ours.
    Refused,
}

/// Gives a stream another file, as `freopen`.
///
/// # Safety
/// The arguments are what a program gave to `freopen`.
#[inline]
pub unsafe fn reopen(path: *const c_char, mode: *const c_char, stream: *mut FILE) -> Reopening {
    if !backend::is_active() || stream.is_null() || mode.is_null() {
        return Reopening::Left;
    }
    // SAFETY: as the caller says.
    unsafe {
        if is_one(stream) {
            return Reopening::Done(reopen_one(path, CStr::from_ptr(mode), stream));
        }
        let access = || NameRequest::Access { mode: libc::F_OK, flags: 0 };
        let is_owned = if path.is_null() {
            backend::is_owned(libc::fileno(stream))
        } else {
            backend::answer_name(|| Name::new(AT_FDCWD, path), access).is_some()
        };
        if is_owned { Reopening::Refused } else { Reopening::Left }
    }
}

/// Gives another file to a stream of ours, which keeps its number. Without a path, only the mode would change: refused.
///
/// # Safety
/// A stream of ours, and what a program gave to `freopen`.
unsafe fn reopen_one(path: *const c_char, mode: &CStr, stream: *mut FILE) -> *mut FILE {
    let Some(flags) = open_flags(mode) else { return fail(libc::EINVAL) };
    // SAFETY: as the caller says.
    unsafe {
        call_real!(table::reals::fflush, fn(*mut FILE) -> c_int, stream);
        if path.is_null() {
            return fail(libc::ENOTSUP);
        }
        let fd = libc::fileno(stream);
        let request = || NameRequest::Open { flags, mode: 0o666 };
        let opened = match backend::answer_name(|| Name::new(AT_FDCWD, path), request) {
            Some(Ok(opened)) => Ok(OwnFile::from_number(opened as c_int)),
            Some(Err(error)) => return fail(error),
            None => {
                let flags = OFlags::from_bits_retain(flags as u32);
                open_file::openat(CWD, CStr::from_ptr(path), flags, Mode::from_raw_mode(0o666))
            }
        };
        let moved = opened.and_then(|opened| {
            backend::answer(fd, || Request::Close);
            backend::forget(fd);
            backend::forget(opened.as_raw_fd());
            let mut number = ManuallyDrop::new(OwnedFd::from_raw_fd(fd));
            let flags = DupFlags::from_bits_retain(flags as u32) & DupFlags::CLOEXEC;
            rustix::io::dup3(&opened, &mut number, flags)
        });
        if let Err(error) = moved {
            return fail(error.raw_os_error());
        }
        if begins_at_end(flags) && !own_stream::seek_end(fd) {
            return fail(sys::errno());
        }
        own_stream::__fpurge(stream);
        libc::clearerr(stream);
        own_stream::set_mode(stream, flags);
    }
    stream
}

/// Returns false where the file that `freopen` has given to a stream of the C library is a backend's in spite of its name.
///
/// # Safety
/// The stream that `freopen` gave, or null.
#[inline]
pub unsafe fn was_reopened(stream: *mut FILE) -> bool {
    if !backend::is_active() || stream.is_null() {
        return true;
    }
    // SAFETY: as the caller says.
    let fd = unsafe { libc::fileno(stream) };
    backend::forget(fd);
    !backend::is_owned(fd)
}

/// Makes a stream of a descriptor that is closed when that fails.
fn make(fd: c_int, mode: &CStr) -> *mut FILE {
    let begins_at_end = open_flags(mode).is_some_and(begins_at_end);
    let is_there = !begins_at_end || own_stream::seek_end(fd);
    let stream = if is_there { wrap(fd, mode) } else { ptr::null_mut() };
    if stream.is_null() {
        let error = sys::errno();
        own_stream::close(own_stream::cookie(fd));
        sys::set_errno(error);
    }
    stream
}

/// Returns whether the C library puts a stream at the end of its file at first: it does so with those that only append.
fn begins_at_end(flags: c_int) -> bool {
    const APPENDS_ONLY: c_int = libc::O_APPEND | libc::O_WRONLY;
    flags & (libc::O_APPEND | libc::O_ACCMODE) == APPENDS_ONLY
}

/// Returns the flags of `open` that a mode of `fopen` means; `None` for what is no mode.
fn open_flags(mode: &CStr) -> Option<c_int> {
    let mode = mode.to_bytes();
    let (first, rest) = mode.split_first()?;
    // What follows a comma names characters.
    let rest = rest.split(|byte| *byte == b',').next().unwrap_or(&[]);
    let has = |letter: u8, flag: c_int| if rest.contains(&letter) { flag } else { 0 };
    let (access, more) = match first {
        b'r' => (libc::O_RDONLY, 0),
        b'w' => (libc::O_WRONLY, libc::O_CREAT | libc::O_TRUNC),
        b'a' => (libc::O_WRONLY, libc::O_CREAT | libc::O_APPEND),
        _ => return None,
    };
    let access = if rest.contains(&b'+') { libc::O_RDWR } else { access };
    Some(access | more | has(b'x', libc::O_EXCL) | has(b'e', libc::O_CLOEXEC))
}
