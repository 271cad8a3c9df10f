//! Calls on descriptors that move no data, and calls that make, copy and end descriptors.

use core::ffi::{c_char, c_int};

use libc::{mode_t, open_how};
use plimsoll_trace::encode::NO_FILE;
use plimsoll_trace::{Layer, Op};

use crate::backend::{self, AttributeRequest, FromAnswer, Name, NameRequest, Request};
use crate::files::EXCLUDED;
use crate::hooks::{Code, Returned, standard_streams, temporary};
use crate::recorder::{self, Finished, Span, Start, begin_in, ended};
use crate::thread::Busy;
use crate::{descriptors, hot, own_descriptors, paths, sys, thread};

/// What `creat` opens with.
pub const CREAT_FLAGS: c_int = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;

/// Records a call on a descriptor.
#[inline]
pub fn on<R: Returned>(op: Op, fd: c_int, argument: u64, real: impl FnOnce() -> R) -> R {
    let start = begin_in(op.layer());
    let result = real();
    end_on(start, op, Some(fd), result, argument);
    result
}

/// Records a call on a descriptor that a backend may serve.
#[inline]
pub fn ask<R: Returned + FromAnswer>(
    op: Op,
    fd: c_int,
    argument: u64,
    request: impl FnOnce() -> Request,
    real: impl FnOnce() -> R,
) -> R {
    on(op, fd, argument, || backend::serve(fd, request, real))
}

/// Records that what was written is made durable.
#[inline]
pub fn sync<R: Returned + FromAnswer>(
    op: Op,
    fd: c_int,
    argument: u64,
    real: impl FnOnce() -> R,
) -> R {
    ask(op, fd, argument, || Request::Sync { op }, real)
}

/// Records a call on a file's extended attributes.
#[inline]
pub fn attribute<R: Returned + FromAnswer>(
    fd: c_int,
    request: impl FnOnce() -> AttributeRequest,
    real: impl FnOnce() -> R,
) -> R {
    ask(Op::Xattr, fd, 0, || Request::Attribute(request()), real)
}

/// Records a call on no file in particular.
#[inline]
pub fn on_none<R: Returned>(op: Op, argument: u64, real: impl FnOnce() -> R) -> R {
    let start = begin_in(op.layer());
    let result = real();
    end_on(start, op, None, result, argument);
    result
}

/// Records a call that moves no data and has ended.
#[inline]
pub fn end_on<R: Returned>(start: Start, op: Op, fd: Option<c_int>, result: R, argument: u64) {
    ended(start, |busy, span| {
        let file = fd.map_or(NO_FILE, |fd| descriptors::file(busy, fd));
        write(busy, span, op, file, result, argument);
    });
}

/// Records a call that moves no data.
#[inline(never)]
pub fn write<R: Returned>(busy: &Busy, span: Span, op: Op, file: u32, result: R, argument: u64) {
    if file != EXCLUDED {
        let outcome = result.outcome();
        let call = Finished { op, file, offset: 0, length: 0, outcome, argument };
        recorder::write(busy, &call.at(span));
    }
}

/// Records that a file is opened by name.
///
/// # Safety
/// The path is what a program gave to `openat`.
#[inline]
pub unsafe fn open(
    directory: c_int,
    path: *const c_char,
    flags: c_int,
    mode: mode_t,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let start = begin_in(Layer::Posix);
    let name = || Name::new(directory, path);
    let fd = backend::serve_name(name, || NameRequest::Open { flags, mode }, || newly_made(real()));
    // SAFETY: as the caller says.
    unsafe { opened(start, directory, path, flags, fd) }
}

/// Records `openat2`, for which the C library has no function. Where the name may lead is bounded by the kernel alone: a backend does not open by such a name.
///
/// # Safety
/// The path is what a program gave to the call, and so is what it wants, of that size.
pub unsafe fn open_as(
    directory: c_int,
    path: *const c_char,
    (how, size): (*const open_how, usize),
    real: impl FnOnce() -> c_int,
) -> c_int {
    let is_there = size >= size_of::<open_how>() && sys::is_memory_at(how);
    if !is_there || !sys::is_memory_at(how.wrapping_byte_add(size_of::<open_how>() - 1)) {
        return newly_made(real());
    }
    // SAFETY: it is there.
    let how = unsafe { how.read_unaligned() };
    let (flags, mode) = (how.flags as c_int, how.mode as mode_t);
    // What is wrong with it, the kernel says.
    if size != size_of::<open_how>() || !is_valid(&how) {
        return newly_made(real());
    }
    if how.resolve == 0 {
        // SAFETY: as the caller says.
        return unsafe { open(directory, path, flags, mode, real) };
    }
    let start = begin_in(Layer::Posix);
    let name = || Name::new(directory, path);
    let fd = backend::serve_name(name, || NameRequest::OpenWithin, || newly_made(real()));
    // SAFETY: as the caller says.
    unsafe { opened(start, directory, path, flags, fd) }
}

/// Returns whether the kernel knows what is wanted: it refuses other bits, which `open` leaves out.
fn is_valid(how: &open_how) -> bool {
    const FLAGS: u64 = 0o37777777;
    const MODE: u64 = 0o7777;
    let has = |flags: c_int| how.flags & flags as u64 == flags as u64;
    let most = if has(libc::O_CREAT) || has(libc::O_TMPFILE) { MODE } else { 0 };
    how.flags & !FLAGS == 0 && how.mode & !most == 0
}

/// Records that a file is made with a name of the C library's choice, which is in `template` after the call; so many
/// characters at its end stay.
///
/// # Safety
/// The template is what a program gave to `mkstemps`.
#[inline]
pub unsafe fn made(
    template: *mut c_char,
    suffix: c_int,
    flags: c_int,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let start = begin_in(Layer::Posix);
    let request = || NameRequest::Open { flags, mode: 0o600 };
    // SAFETY: as the caller says.
    unsafe {
        let fd = match temporary::served(template, suffix, request) {
            Some(answer) => c_int::from_answer(answer),
            None => newly_made(real()),
        };
        opened(start, libc::AT_FDCWD, template, flags, fd)
    }
}

/// Notes that a descriptor is the kernel's, and perhaps its number was another's before.
#[inline]
fn newly_made(fd: c_int) -> c_int {
    backend::forget(fd);
    fd
}

/// Records that a file was opened, or not.
///
/// # Safety
/// The path is what a program gave to the call.
#[inline]
unsafe fn opened(
    start: Start,
    directory: c_int,
    path: *const c_char,
    flags: c_int,
    fd: c_int,
) -> c_int {
    standard_streams::after_change(fd);
    ended(start, |busy, span| {
        // SAFETY: what a program gave to a call that has ended so.
        let file = unsafe { paths::number_after(busy, fd.outcome(), directory, path) };
        if fd >= 0 {
            descriptors::opened(fd, file, flags);
        }
        write(busy, span, Op::Open, file, fd, flags as u32 as u64);
    });
    fd
}

/// Records that a descriptor is closed, by itself or with the directory that has it.
#[inline]
pub fn close(op: Op, fd: c_int, real: impl FnOnce() -> c_int) -> c_int {
    close_by(op, fd, || if backend::is_active() { close_served(fd, real) } else { real() })
}

/// Records that a descriptor is closed inside of libc, where a backend hears of it by another way.
#[inline]
pub fn close_by(op: Op, fd: c_int, real: impl FnOnce() -> c_int) -> c_int {
    let start = begin_in(op.layer());
    // Not asked for when unknown: programs close thousands that are not even open.
    let file = descriptors::look(fd).map_or(NO_FILE, |known| known.file);
    if hot::is_on() {
        // Before the call: after it, another thread may get the same number.
        descriptors::forget(fd);
    }
    let result = real();
    ended(start, |busy, span| write(busy, span, op, file, result, 0));
    result
}

/// Closes a descriptor that may be a backend's, or one of the library's own, of which a program knows
/// nothing.
#[cold]
fn close_served(fd: c_int, real: impl FnOnce() -> c_int) -> c_int {
    if thread::is_serving() {
        own_descriptors::moved::forget(fd);
        return real();
    }
    if own_descriptors::is_own(fd) {
        return c_int::from_answer(Err(libc::EBADF));
    }
    backend::close(fd, real)
}

/// Records that many descriptors are closed: `real` closes those from the one number to the other.
#[inline]
pub fn close_range(
    first: u32,
    last: u32,
    flags: c_int,
    mut real: impl FnMut(u32, u32) -> c_int,
) -> c_int {
    let start = begin_in(Layer::Posix);
    // With CLOEXEC they only will be closed.
    let closes = flags & CLOSE_RANGE_CLOEXEC == 0;
    if closes {
        backend::before_close(first, last);
    }
    let result = if backend::is_active() {
        own_descriptors::around(first, last, real)
    } else {
        real(first, last)
    };
    let closed = result >= 0 && closes;
    if closed && hot::is_on() {
        descriptors::forget_range(first, last);
    }
    if closed {
        backend::forget_range(first, last);
    }
    end_on(start, Op::Close, None, result, u64::from(first));
    result
}

/// include/uapi/linux/close_range.h
const CLOSE_RANGE_CLOEXEC: c_int = 4;

/// Records that all descriptors from one on are closed.
#[inline]
pub fn close_from(first: c_int, real: impl FnOnce()) {
    let first = first.max(0) as u32;
    let start = begin_in(Layer::Posix);
    if backend::is_active() {
        backend::before_close(first, u32::MAX);
        own_descriptors::around(first, u32::MAX, |first, last| {
            sys::close_range(first, last);
            0
        });
    } else {
        real()
    }
    if hot::is_on() {
        descriptors::forget_range(first, u32::MAX);
    }
    backend::forget_range(first, u32::MAX);
    end_on(start, Op::Close, None, 0, u64::from(first));
}

/// Records a call on a descriptor that gives zero or an error number.
#[inline]
pub fn ask_code(
    op: Op,
    fd: c_int,
    argument: u64,
    request: impl FnOnce() -> Request,
    real: impl FnOnce() -> c_int,
) -> c_int {
    ask(op, fd, argument, request, || Code(real())).0
}

/// Records that a descriptor is duplicated, to the number that is wanted or to any.
#[inline]
pub fn duplicate(fd: c_int, to: Option<c_int>, real: impl FnOnce() -> c_int) -> c_int {
    let start = begin_in(Layer::Posix);
    if backend::is_active()
        && let Some(to) = to
    {
        own_descriptors::make_way(to);
        if own_descriptors::moved::is_one(to) {
            return c_int::from_answer(Err(libc::EBADF));
        }
    }
    let copy = match to.filter(|to| *to != fd) {
        Some(to) => backend::replace(to, real),
        None => real(),
    };
    backend::duplicated(fd, copy);
    standard_streams::after_change(copy);
    if copy >= 0 && hot::is_on() {
        descriptors::duplicated(fd, copy);
    }
    end_on(start, Op::Dup, Some(fd), copy, copy.max(0) as u64);
    copy
}

/// Records that the position of a descriptor is set.
#[inline]
pub fn seek(fd: c_int, offset: i64, whence: c_int, real: impl FnOnce() -> i64) -> i64 {
    let start = begin_in(Layer::Posix);
    let position = backend::serve(fd, || Request::Seek { offset, whence }, real);
    ended(start, |busy, span| {
        let known = descriptors::known(busy, fd);
        if position >= 0 {
            known.set_position(position as u64);
        }
        write(busy, span, Op::Lseek, known.file, position, position.max(0) as u64);
    });
    position
}
