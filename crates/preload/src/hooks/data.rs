//! Calls that move data. Reading and writing are the same here; the operation says which.

use core::ffi::c_int;

use libc::{iovec, off_t};
use plimsoll_trace::encode::{DataCall, Outcome, SECOND_OF_CALL};
use plimsoll_trace::{Class, Layer, Op};

use crate::descriptors;
use crate::files::EXCLUDED;
use crate::hooks::failure;
use crate::recorder::{self, Finished, Span, Start, begin_in, ended};

/// Data at a given offset: `pread`, `pwrite`.
#[inline(always)]
pub fn positioned(
    op: Op,
    fd: c_int,
    length: usize,
    offset: off_t,
    real: impl FnOnce() -> isize,
) -> isize {
    let start = begin_in(Layer::Posix);
    let moved = real();
    end(start, op, fd, length as u64, Some(offset as u64), moved);
    moved
}

/// Data at the descriptor's position: `read`, `write`.
#[inline(always)]
pub fn sequential(op: Op, fd: c_int, length: usize, real: impl FnOnce() -> isize) -> isize {
    let start = begin_in(Layer::Posix);
    let moved = real();
    end(start, op, fd, length as u64, None, moved);
    moved
}

/// Data of several buffers, at the descriptor's position or, where `offset` is not -1, there.
///
/// # Safety
/// The arguments are those of a `readv`.
#[inline]
pub unsafe fn vector(
    op: Op,
    fd: c_int,
    buffers: *const iovec,
    count: c_int,
    offset: off_t,
    real: impl FnOnce() -> isize,
) -> isize {
    let start = begin_in(Layer::Posix);
    let moved = real();
    if start.is_on() {
        let length = match moved < 0 || buffers.is_null() || count <= 0 {
            // The list may be the reason for the failure.
            true => 0,
            false => {
                // SAFETY: the kernel has just read the same list.
                unsafe { core::slice::from_raw_parts(buffers, count as usize) }
                    .iter()
                    .fold(0u64, |sum, buffer| sum.wrapping_add(buffer.iov_len as u64))
            }
        };
        let offset = (offset >= 0).then_some(offset as u64);
        end(start, op, fd, length, offset, moved);
    }
    moved
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
    /// The offset before the call; `None` is the descriptor's position.
    pub offset: Option<u64>,
}

/// From one file to another: `copy_file_range`, `sendfile`, `splice`. One call and two events, one
/// for each file: the first is of the side that is named first, unless nobody wants to know about
/// that file, and the second says that it is the same call. A failure has one event.
#[inline]
pub fn between(sides: [Side; 2], length: usize, real: impl FnOnce() -> isize) -> isize {
    let start = begin_in(Layer::Posix);
    let moved = real();
    ended(start, |busy, span| {
        let outcome = if moved < 0 { failure() } else { Outcome::Value(moved as u64) };
        let (bytes, length) = (moved.max(0) as u64, length as u64);
        let mut is_recorded = false;
        for Side { op, fd, offset } in sides {
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

/// The offset that a call is given by address; `None` for the descriptor's position.
///
/// # Safety
/// Null or the address that a program gave to such a call.
#[inline]
pub unsafe fn at(offset: *const off_t) -> Option<u64> {
    if !crate::config::is_on() || offset.is_null() {
        return None;
    }
    // SAFETY: as the caller says; the call reads it next.
    Some(unsafe { offset.read_unaligned() } as u64)
}
