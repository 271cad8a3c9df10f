//! The C library's streams. Their own system calls are invisible to us, so a stream counts its
//! position itself: it is where the program is, not where the buffer is.

use core::ffi::{CStr, c_char, c_int};

use libc::{AT_FDCWD, FILE};
use plimsoll_trace::encode::{NO_FILE, Outcome, UNKNOWN_OFFSET};
use plimsoll_trace::{Class, Layer, Op};

use crate::backend;
use crate::files::EXCLUDED;
use crate::hooks::served_stream::Reopening;
use crate::hooks::stream_position::{advance, descriptor_of, known, position_of};
use crate::hooks::{Returned, descriptor, failure, inlined, own_stream, served_stream};
use crate::recorder::{self, Finished, Start, begin_in, ended, ended_at};
use crate::thread::Busy;
use crate::{clock, descriptors, hot, paths, sys};

/// Records data through a stream. `amounts` says of the result how many bytes were asked for and how
/// many moved, `None` for a failure.
#[inline(always)]
pub fn data<R: Copy>(
    op: Op,
    stream: *mut FILE,
    real: impl FnOnce() -> R,
    amounts: impl FnOnce(R) -> (u64, Option<u64>),
) -> R {
    let start = begin_in(Layer::Stdio);
    if start.is_on() {
        inlined::before(stream);
    }
    let result = real();
    ended(start, |busy, span| {
        let (length, moved) = amounts(result);
        let outcome = moved.map_or_else(failure, Outcome::Value);
        inlined::after(stream, moved.unwrap_or(0));
        let known = known(busy, stream);
        if known.file != EXCLUDED {
            let writes = op.class() as u8 == Class::Write as u8;
            let offset = advance(&known, stream, moved.unwrap_or(0), writes);
            let call = Finished { op, file: known.file, offset, length, outcome, argument: 0 };
            recorder::write(busy, &call.at(span));
        }
    });
    result
}

/// Records `fread`. A backend's stream reads by its buffer, which has to fit what is asked for.
///
/// # Safety
/// An open stream.
#[inline(always)]
pub unsafe fn read(
    stream: *mut FILE,
    (size, items): (usize, usize),
    real: impl FnOnce() -> usize,
) -> usize {
    let real = || {
        if backend::is_active() {
            // SAFETY: as the caller says.
            unsafe { own_stream::fit(stream, size.saturating_mul(items)) };
        }
        real()
    };
    data(Op::Fread, stream, real, self::items(size, items))
}

/// Amounts of `fread` and `fwrite`. Less than everything is the end of the file or a failure,
/// and only the stream knows which; the bytes are right in both cases.
#[inline]
pub fn items(size: usize, asked: usize) -> impl FnOnce(usize) -> (u64, Option<u64>) {
    move |done| (size.wrapping_mul(asked) as u64, Some(size.wrapping_mul(done) as u64))
}

/// Amounts of a call that gives a number of bytes, negative at the end of the file.
#[inline]
pub fn count(done: isize) -> (u64, Option<u64>) {
    let moved = done.max(0) as u64;
    (moved, Some(moved))
}

/// Amounts of a call that gives a number of bytes, negative after a failure.
#[inline]
pub fn count_or_failure(done: c_int) -> (u64, Option<u64>) {
    if done < 0 { (0, None) } else { (done as u64, Some(done as u64)) }
}

/// Amounts of a call that reads one byte, -1 at the end of the file.
#[inline]
pub fn byte_read(result: c_int) -> (u64, Option<u64>) {
    (1, Some(u64::from(result >= 0)))
}

/// Amounts of a call that writes one byte, -1 after a failure.
#[inline]
pub fn byte_written(result: c_int) -> (u64, Option<u64>) {
    (1, (result >= 0).then_some(1))
}

/// Amounts of `fgets`: null at the end of the file.
///
/// # Safety
/// The result is null or a C string.
#[inline]
pub unsafe fn line(result: *mut c_char) -> (u64, Option<u64>) {
    if result.is_null() {
        return (0, Some(0));
    }
    // SAFETY: as the caller says.
    let length = unsafe { CStr::from_ptr(result) }.count_bytes() as u64;
    (length, Some(length))
}

/// Amounts of a call that writes a string and more bytes after it.
///
/// # Safety
/// A C string.
#[inline]
pub unsafe fn text(text: *const c_char, more: u64) -> impl FnOnce(c_int) -> (u64, Option<u64>) {
    move |result| {
        // SAFETY: as the caller says, and libc has just read it.
        let length = unsafe { CStr::from_ptr(text) }.count_bytes() as u64 + more;
        (length, (result >= 0).then_some(length))
    }
}

/// Records that a stream is opened by name.
///
/// # Safety
/// Path and mode are what a program gave to `fopen`.
#[inline]
pub unsafe fn open(
    path: *const c_char,
    mode: *const c_char,
    real: impl FnOnce() -> *mut FILE,
) -> *mut FILE {
    let start = begin_in(Layer::Stdio);
    // SAFETY: as the caller says; the stream is new.
    let stream = unsafe {
        served_stream::open(path, mode).unwrap_or_else(|| served_stream::checked(real(), mode))
    };
    // SAFETY: as the caller says.
    unsafe { opened(start, path, mode, stream) }
}

/// Records that a stream was opened, or not.
///
/// # Safety
/// Path and mode are what a program gave to `fopen`.
#[inline]
unsafe fn opened(
    start: Start,
    path: *const c_char,
    mode: *const c_char,
    stream: *mut FILE,
) -> *mut FILE {
    // SAFETY: libc has read it.
    let flags = unsafe { flags_of(mode) };
    let begin_file = |busy: &Busy| {
        // SAFETY: what a program gave to a call that has ended so.
        let file = unsafe { paths::number_after(busy, stream.outcome(), AT_FDCWD, path) };
        let fd = descriptor_of(stream);
        if fd >= 0 && file != NO_FILE {
            descriptors::opened(fd, file, flags);
        }
        file
    };
    if start.is_on() {
        ended(start, |busy, span| {
            let file = begin_file(busy);
            descriptor::write(busy, span, Op::Fopen, file, stream, flags as u32 as u64);
        });
    } else if hot::is_on() {
        // Calls on its descriptor may be recorded though those on streams are not.
        Busy::begin().map(|busy| begin_file(&busy));
    }
    stream
}

/// Records that a stream gets another file; its descriptor is closed inside of libc. What happens where a backend owns one of
/// the two files is in `served_stream`.
///
/// # Safety
/// The arguments are what a program gave to `freopen`.
#[inline]
pub unsafe fn reopen(
    path: *const c_char,
    mode: *const c_char,
    stream: *mut FILE,
    real: impl Fn(*const c_char) -> *mut FILE,
) -> *mut FILE {
    if hot::is_on() && !stream.is_null() {
        inlined::settle(stream);
    }
    if hot::is_on() && !path.is_null() {
        descriptors::forget(descriptor_of(stream));
    }
    let start = begin_in(Layer::Stdio);
    // SAFETY: as the caller says.
    unsafe {
        let refuse = || {
            // Nothing has this name, so that the C library closes the stream and fails.
            let failed = real(c"".as_ptr());
            sys::set_errno(libc::ENOTSUP);
            failed
        };
        let new = match served_stream::reopen(path, mode, stream) {
            Reopening::Done(new) => new,
            Reopening::Refused => refuse(),
            Reopening::Left => {
                let new = real(path);
                if served_stream::was_reopened(new) { new } else { refuse() }
            }
        };
        opened(start, path, mode, new)
    }
}

/// Records that a stream is made of a descriptor.
///
/// # Safety
/// The mode is what a program gave to `fdopen`.
#[inline]
pub unsafe fn open_descriptor(
    fd: c_int,
    mode: *const c_char,
    real: impl FnOnce() -> *mut FILE,
) -> *mut FILE {
    // SAFETY: as the caller says.
    let served = || unsafe { served_stream::open_descriptor(fd, mode) }.unwrap_or_else(real);
    descriptor::on(Op::Fopen, fd, 0, served)
}

/// Records that a stream is closed.
#[inline]
pub fn close(stream: *mut FILE, real: impl FnOnce() -> c_int) -> c_int {
    let is_needed = hot::is_on() || backend::is_active();
    let fd = if is_needed { descriptor_of(stream) } else { -1 };
    if hot::is_on() {
        inlined::settle(stream);
    }
    descriptor::close_by(Op::Fclose, fd, || {
        let result = real();
        // Of a stream of ours, the backend has heard by now.
        backend::forget(fd);
        result
    })
}

/// Records that a stream's position is set.
#[inline]
pub fn seek<R: Returned>(stream: *mut FILE, real: impl FnOnce() -> R) -> R {
    let start = begin_in(Layer::Stdio);
    if start.is_on() {
        inlined::before(stream);
    }
    let result = real();
    if start.is_on() {
        inlined::after_seek(stream);
        let span = start.until_now();
        // Only libc knows where it is now. It may ask the program (fopencookie), whose calls are recorded.
        let position = position_of(stream);
        ended_at(span, |busy, span| {
            let known = known(busy, stream);
            if let Some(position) = position {
                known.set_position(position);
            }
            let argument = position.unwrap_or(0);
            descriptor::write(busy, span, Op::Fseek, known.file, result, argument);
        });
    }
    result
}

/// Records that a stream's buffer is written, or those of all.
#[inline]
pub fn flush(stream: *mut FILE, real: impl FnOnce() -> c_int) -> c_int {
    let start = begin_in(Layer::Stdio);
    let result = match (start.is_on(), stream.is_null()) {
        (true, true) => inlined::around_all(real),
        (true, false) => inlined::around(stream, real),
        (false, _) => real(),
    };
    ended(start, |busy, span| {
        let file = if stream.is_null() { NO_FILE } else { known(busy, stream).file };
        descriptor::write(busy, span, Op::Fflush, file, result, 0);
    });
    result
}

/// Records formatted input: only libc knows how much was read, so it is asked for the stream's position
/// before and after. A stream that has none (a pipe) is read without being counted.
#[inline]
pub fn scan(stream: *mut FILE, real: impl FnOnce() -> c_int) -> c_int {
    if !begin_in(Layer::Stdio).is_on() {
        return real();
    }
    inlined::before(stream);
    let before = position_of(stream);
    let start = Start(clock::ticks());
    let result = real();
    let span = start.until_now();
    let after = before.and_then(|_| position_of(stream));
    inlined::after(stream, before.zip(after).map_or(0, |(from, to)| to.saturating_sub(from)));
    ended_at(span, |busy, span| {
        let known = known(busy, stream);
        if known.file == EXCLUDED {
            return;
        }
        let (offset, length) = match before.zip(after) {
            Some((before, after)) => {
                known.set_position(after);
                (before, after.saturating_sub(before))
            }
            None => (UNKNOWN_OFFSET, 0),
        };
        let outcome = Outcome::Value(length);
        let op = Op::Fscanf;
        let call = Finished { op, file: known.file, offset, length, outcome, argument: 0 };
        recorder::write(busy, &call.at(span));
    });
    result
}

/// Returns the flags of `open` that a mode of `fopen` means.
///
/// # Safety
/// Null or a C string.
unsafe fn flags_of(mode: *const c_char) -> c_int {
    if mode.is_null() {
        return 0;
    }
    // SAFETY: as the caller says.
    let mode = unsafe { CStr::from_ptr(mode) }.to_bytes();
    let access = match (mode.first(), mode.contains(&b'+')) {
        (_, true) => libc::O_RDWR,
        (Some(b'r'), false) => libc::O_RDONLY,
        _ => libc::O_WRONLY,
    };
    access
        | match mode.first() {
            Some(b'w') => libc::O_CREAT | libc::O_TRUNC,
            Some(b'a') => libc::O_CREAT | libc::O_APPEND,
            _ => 0,
        }
}
