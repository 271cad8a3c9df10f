//! Calls that move data. Reading and writing are the same here; the operation says which.

use core::ffi::{c_int, c_uint, c_ulong};

use libc::{iovec, off_t};
use plimsoll_trace::encode::{DataCall, Outcome, SECOND_OF_CALL, UNKNOWN_OFFSET};
use plimsoll_trace::{Class, Layer, Op};

use crate::backend::{self, Buffers, End, FromAnswer, Request, TransferRequest};
use crate::descriptors;
use crate::files::EXCLUDED;
use crate::hooks::failure;
use crate::recorder::{self, Finished, Span, Start, begin_in, ended};

/// Records data at a given offset: `pread`, `pwrite`.
#[inline(always)]
pub fn positioned<T>(
    op: Op,
    fd: c_int,
    (buffer, length): (*const T, usize),
    offset: off_t,
    real: impl FnOnce() -> isize,
) -> isize {
    let start = begin_in(Layer::Posix);
    let buffers = Buffers::one(buffer, length);
    let request = || Request::Move(TransferRequest { op, buffers, offset: Some(offset), flags: 0 });
    let moved = backend::serve(fd, request, real);
    end(start, op, fd, length as u64, Some(offset as u64), moved);
    moved
}

/// Records data at the descriptor's position: `read`, `write`.
#[inline(always)]
pub fn sequential<T>(
    op: Op,
    fd: c_int,
    (buffer, length): (*const T, usize),
    real: impl FnOnce() -> isize,
) -> isize {
    let start = begin_in(Layer::Posix);
    let buffers = Buffers::one(buffer, length);
    let request = || Request::Move(TransferRequest { op, buffers, offset: None, flags: 0 });
    let moved = backend::serve(fd, request, real);
    end(start, op, fd, length as u64, None, moved);
    moved
}

/// Records data of several buffers, at the descriptor's position or, where `offset` is not -1, there.
///
/// # Safety
/// The arguments are those of a `readv`.
#[inline]
pub unsafe fn vector(
    op: Op,
    fd: c_int,
    (buffers, count): (*const iovec, c_int),
    offset: off_t,
    flags: c_int,
    real: impl FnOnce() -> isize,
) -> isize {
    let start = begin_in(Layer::Posix);
    let request = || {
        let list = Buffers::Many { list: buffers, count };
        let offset = (offset != -1).then_some(offset);
        Request::Move(TransferRequest { op, buffers: list, offset, flags })
    };
    let moved = backend::serve(fd, request, real);
    if start.is_on() {
        let length = if moved < 0 || buffers.is_null() || count <= 0 {
            // The list may be the reason for the failure.
            0
        } else {
            // SAFETY: the kernel has just read the same list.
            unsafe { sum_of(buffers, count as usize) }
        };
        let offset = (offset >= 0).then_some(offset as u64);
        end(start, op, fd, length, offset, moved);
    }
    moved
}

/// Returns the bytes of several buffers together.
///
/// # Safety
/// The list has as many.
pub unsafe fn sum_of(buffers: *const iovec, count: usize) -> u64 {
    // SAFETY: as the caller says.
    let list = unsafe { core::slice::from_raw_parts(buffers, count) };
    list.iter().fold(0u64, |sum, buffer| sum.wrapping_add(buffer.iov_len as u64))
}

/// Records a data call. An offset of `None` is the descriptor's position.
#[inline(always)]
fn end(start: Start, op: Op, fd: c_int, length: u64, offset: Option<u64>, moved: isize) {
    ended(start, |busy, span| {
        let (file, offset) = match offset {
            Some(offset) => (descriptors::file(busy, fd), offset),
            None => {
                let known = descriptors::known(busy, fd);
                (known.file, known.advance(fd, moved.max(0) as u64, op.class() == Class::Write))
            }
        };
        if file != EXCLUDED {
            let Span { start, end } = span;
            recorder::write_data(busy, &DataCall { op, file, offset, length, moved, start, end });
        }
    });
}

/// One of the two files of a call that moves data between them.
pub struct Side {
    /// What the call does with it.
    pub op: Op,
    /// Its descriptor.
    pub fd: c_int,
    /// Where its offset is kept; null is the descriptor's position.
    pub offset: *mut off_t,
}

impl Side {
    /// Returns where its offset was before a call that has moved so many bytes; `None` if it is the descriptor's position.
    ///
    /// # Safety
    /// A program gave it to such a call.
    unsafe fn before(&self, moved: isize) -> Option<u64> {
        if self.offset.is_null() {
            None
        } else if moved < 0 {
            // It may be what is wrong.
            Some(UNKNOWN_OFFSET)
        } else {
            // SAFETY: the call has moved it on.
            Some((unsafe { self.offset.read_unaligned() } as u64).wrapping_sub(moved as u64))
        }
    }

    fn end(&self) -> End {
        End { fd: self.fd, offset: self.offset }
    }
}

/// Stands in for `ioctl`, for the requests by which a file gets another's blocks: refused where a backend owns one of the two,
/// as on file systems that cannot do it. Programs copy then. Others are not I/O, and nothing is recorded.
///
/// # Safety
/// The arguments are what a program gave to `ioctl`.
#[inline]
pub unsafe fn share_blocks(
    fd: c_int,
    request: c_ulong,
    argument: usize,
    real: impl FnOnce() -> c_int,
) -> c_int {
    if backend::is_active() && matches!(request as u32, FICLONE | FICLONERANGE) {
        let from = if request as u32 == FICLONE || argument == 0 {
            argument as c_int
        } else {
            // SAFETY: as the caller says; the structure begins with the descriptor, of 64 bits.
            unsafe { (argument as *const i64).read_unaligned() as c_int }
        };
        if backend::is_owned(fd) || backend::is_owned(from) {
            return c_int::from_answer(Err(libc::EOPNOTSUPP));
        }
    }
    real()
}

/// linux/fs.h
const FICLONE: u32 = 0x4004_9409;
const FICLONERANGE: u32 = 0x4020_940d;

/// Records what goes from one file to another: `copy_file_range`, `sendfile`, `splice`. One call and two events, one
/// for each file: the first is of the side that is named first, unless nobody wants to know about
/// that file, and the second says that it is the same call. A failure has one event.
///
/// # Safety
/// The arguments are what a program gave to such a call.
#[inline]
pub unsafe fn between(
    sides: [Side; 2],
    length: usize,
    flags: c_uint,
    real: impl FnOnce() -> isize,
) -> isize {
    let start = begin_in(Layer::Posix);
    let request = || {
        let [one, other] = &sides;
        let (from, to) = match one.op.class() {
            Class::Write => (other, one),
            _ => (one, other),
        };
        Request::Copy { op: one.op, from: from.end(), to: to.end(), length, flags }
    };
    let moved = backend::serve_between(sides.each_ref().map(|side| side.fd), request, real);
    ended(start, |busy, span| {
        let outcome = if moved < 0 { failure() } else { Outcome::Value(moved as u64) };
        let (bytes, length) = (moved.max(0) as u64, length as u64);
        let mut is_recorded = false;
        for side in sides {
            // SAFETY: as the caller says.
            let offset = unsafe { side.before(moved) };
            let Side { op, fd, .. } = side;
            let known = descriptors::known(busy, fd);
            let writes = op.class() == Class::Write;
            let offset = offset.unwrap_or_else(|| known.advance(fd, bytes, writes));
            if known.file == EXCLUDED || is_recorded && moved < 0 {
                continue;
            }
            let argument = if is_recorded { SECOND_OF_CALL } else { 0 };
            let call = Finished { op, file: known.file, offset, length, outcome, argument };
            recorder::write(busy, &call.at(span));
            is_recorded = true;
        }
    });
    moved
}
