//! Calls on files by name.

use core::ffi::{c_char, c_int};

use libc::{AT_FDCWD, gid_t, timespec, timeval, uid_t, utimbuf};
use plimsoll_trace::Op;

use crate::backend::{self, AttributeRequest, FromAnswer, Name, NameRequest};
use crate::hooks::descriptor::write;
use crate::hooks::{Returned, temporary};
use crate::recorder::{begin_in, ended};
use crate::{paths, sys};

/// Records a call on the file of this name.
///
/// # Safety
/// `path` is what a program gave to such a call.
#[inline]
pub unsafe fn on<R: Returned>(
    op: Op,
    directory: c_int,
    path: *const c_char,
    argument: u64,
    real: impl FnOnce() -> R,
) -> R {
    let start = begin_in(op.layer());
    let result = real();
    ended(start, |busy, span| {
        // SAFETY: what a program gave to a call that has ended so.
        let file = unsafe { paths::number_after(busy, result.outcome(), directory, path) };
        write(busy, span, op, file, result, argument);
    });
    result
}

/// Records a call on the file of this name that a backend may serve.
///
/// # Safety
/// `path` is what a program gave to such a call.
#[inline]
pub unsafe fn ask<R: Returned + FromAnswer>(
    op: Op,
    directory: c_int,
    path: *const c_char,
    argument: u64,
    request: impl FnOnce() -> NameRequest,
    real: impl FnOnce() -> R,
) -> R {
    let served = || backend::serve_name(|| Name::new(directory, path), request, real);
    // SAFETY: the same name.
    unsafe { on(op, directory, path, argument, served) }
}

/// Records a call on extended attributes of the file of this name.
///
/// # Safety
/// `path` is what a program gave to such a call.
#[inline]
pub unsafe fn attribute<R: Returned + FromAnswer>(
    path: *const c_char,
    flags: c_int,
    request: impl FnOnce() -> AttributeRequest,
    real: impl FnOnce() -> R,
) -> R {
    let request = || NameRequest::Attribute { request: request(), flags };
    // SAFETY: the same name.
    unsafe { ask(Op::Xattr, AT_FDCWD, path, 0, request, real) }
}

/// Records that a name is removed, of a file or, where it is none, of a directory: `remove`.
///
/// # Safety
/// `path` is what a program gave to `remove`.
#[inline]
pub unsafe fn remove(path: *const c_char, real: impl FnOnce() -> c_int) -> c_int {
    let ask = |flags| {
        backend::answer_name(|| Name::new(AT_FDCWD, path), || NameRequest::Unlink { flags })
    };
    let served = || match ask(0) {
        Some(Err(libc::EISDIR)) => ask(libc::AT_REMOVEDIR).map_or(-1, c_int::from_answer),
        Some(answer) => c_int::from_answer(answer),
        None => real(),
    };
    // SAFETY: the same name.
    unsafe { on(Op::Unlink, AT_FDCWD, path, 0, served) }
}

/// Records that a directory is made with a name of the C library's choice: `mkdtemp`.
///
/// # Safety
/// The template is what a program gave to it.
#[inline]
pub unsafe fn made(template: *mut c_char, real: impl FnOnce() -> *mut c_char) -> *mut c_char {
    let request = || NameRequest::MakeDirectory { mode: 0o700 };
    // SAFETY: as the caller says.
    let served = || match unsafe { temporary::served(template, 0, request) } {
        Some(Ok(_)) => template,
        Some(Err(error)) => {
            sys::set_errno(error);
            core::ptr::null_mut()
        }
        None => real(),
    };
    // SAFETY: the same name.
    unsafe { on(Op::Mkdir, AT_FDCWD, template, 0, served) }
}

/// Returns whether `unlinkat` does what `unlink` or what `rmdir` does.
#[inline]
pub fn unlinkat_op(flags: c_int) -> Op {
    if flags & libc::AT_REMOVEDIR != 0 { Op::Rmdir } else { Op::Unlink }
}

/// Changes the owner of the file of this name; nothing is recorded.
#[inline]
pub fn change_owner(
    directory: c_int,
    path: *const c_char,
    owner: uid_t,
    group: gid_t,
    flags: c_int,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let request = || NameRequest::ChangeOwner { owner, group, flags };
    backend::serve_name(|| Name::new(directory, path), request, real)
}

/// Changes the times of the file of this name; nothing is recorded.
#[inline]
pub fn change_times(
    directory: c_int,
    path: *const c_char,
    times: impl FnOnce() -> [timespec; 2],
    flags: c_int,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let request = || NameRequest::ChangeTimes { times: times(), flags };
    backend::serve_name(|| Name::new(directory, path), request, real)
}

const NOW: timespec = timespec { tv_sec: 0, tv_nsec: libc::UTIME_NOW };

/// Returns the times that `utimensat` sets: now, if none are given.
///
/// # Safety
/// Null or two times.
pub unsafe fn times(times: *const timespec) -> [timespec; 2] {
    // SAFETY: as the caller says.
    if times.is_null() { [NOW; 2] } else { unsafe { [*times, *times.add(1)] } }
}

/// Returns the times that `utimes` sets.
///
/// # Safety
/// Null or two times.
pub unsafe fn exact_times(times: *const timeval) -> [timespec; 2] {
    let time = |it: timeval| timespec { tv_sec: it.tv_sec, tv_nsec: it.tv_usec * 1000 };
    // SAFETY: as the caller says.
    if times.is_null() { [NOW; 2] } else { unsafe { [time(*times), time(*times.add(1))] } }
}

/// Returns the times that `utime` sets.
///
/// # Safety
/// Null or such times.
pub unsafe fn whole_times(times: *const utimbuf) -> [timespec; 2] {
    let time = |tv_sec| timespec { tv_sec, tv_nsec: 0 };
    // SAFETY: as the caller says.
    let times = unsafe { times.as_ref() };
    times.map_or([NOW; 2], |it| [time(it.actime), time(it.modtime)])
}
