//! Bytes that a program reads and writes without a call: with optimisation, `getc_unlocked`, `putc_unlocked` and their like work on a stream's buffer themselves (bits/stdio.h of glibc),
//! and call only where that is empty (`__uflow`) or full (`__overflow`). Such a call is recorded with all bytes that have moved since the last one.
//!
//! How many these are is told by the stream's position. A stream that has none (a pipe) tells what is in its buffer, of which as many bytes as were recorded since are not counted again.

use core::ffi::c_int;

use libc::FILE;
use plimsoll_trace::encode::{Outcome, UNKNOWN_OFFSET};
use plimsoll_trace::{Class, Layer, Op};

use crate::descriptors;
use crate::files::EXCLUDED;
use crate::hooks::stream_position::{known, position_of};
use crate::hooks::{failure, own_stream};
use crate::recorder::{self, Finished, Span, Start, begin_in, ended, ended_at};
use crate::thread::Busy;
use crate::{clock, hot};

/// Records `__uflow`, which fills an empty buffer and reads a byte of it, and `__overflow`, which empties a full one and writes a byte.
pub fn call(
    op: Op,
    stream: *mut FILE,
    real: impl FnOnce() -> c_int,
    amounts: impl FnOnce(c_int) -> (u64, Option<u64>),
) -> c_int {
    if !begin_in(Layer::Stdio).is_on() {
        return real();
    }
    let writes = op.class() as u8 == Class::Write as u8;
    let (offset, before) = moved_before(stream, writes);
    let start = Start(clock::ticks());
    let result = real();
    ended(start, |busy, span| {
        let (length, moved) = amounts(result);
        let known = known(busy, stream);
        known.advance_stream(moved.unwrap_or(0), writes);
        let outcome = moved.map_or_else(failure, |it| Outcome::Value(before + it));
        write(busy, span, Moved { op, file: known.file, offset, length: before + length, outcome });
    });
    result
}

/// Records what has moved since the last call through a stream that is about to be closed, or to be somewhere else.
#[inline]
pub fn settle(stream: *mut FILE, fd: c_int) {
    if hot::is_on()
        && let Some([reads, writes]) = descriptors::look(fd).map(|it| it.is_inline())
        && (reads || writes)
    {
        settle_rest(stream, [reads, writes]);
    }
}

#[cold]
fn settle_rest(stream: *mut FILE, [was_read, was_written]: [bool; 2]) {
    let start = begin_in(Layer::Stdio);
    if !start.is_on() {
        return;
    }
    // SAFETY: the program's open stream.
    let pending = unsafe { own_stream::buffered(stream, true) };
    let writes = was_written && (!was_read || pending.is_none_or(|(count, _)| count > 0));
    let (offset, length) = moved_before(stream, writes);
    if length == 0 {
        return;
    }
    let op = if writes { Op::Fputc } else { Op::Fgetc };
    ended_at(Span { start: start.0, end: start.0 }, |busy, span| {
        let file = known(busy, stream).file;
        let outcome = Outcome::Value(length);
        write(busy, span, Moved { op, file, offset, length, outcome });
    });
}

/// Returns where a stream was after the last call, and how many bytes moved since.
fn moved_before(stream: *mut FILE, writes: bool) -> (u64, u64) {
    // SAFETY: the program's open stream.
    let buffered = unsafe { own_stream::buffered(stream, writes) };
    let is_known = |busy: &Busy| known(busy, stream).is_inline()[usize::from(writes)];
    // Without room, each byte that is written is a call.
    if buffered.is_some_and(|(_, has_room)| writes && !has_room)
        && Busy::begin().is_none_or(|busy| is_known(&busy))
    {
        return (UNKNOWN_OFFSET, 0);
    }
    let at = position_of(stream).ok_or(buffered.map_or(0, |it| it.0));
    let moved = |busy: &Busy| known(busy, stream).moved_inline(at, writes);
    Busy::begin().map_or((UNKNOWN_OFFSET, 0), |busy| moved(&busy))
}

/// What moved, and where.
struct Moved {
    op: Op,
    file: u32,
    offset: u64,
    length: u64,
    outcome: Outcome,
}

fn write(busy: &Busy, span: Span, moved: Moved) {
    let Moved { op, file, offset, length, outcome } = moved;
    if file != EXCLUDED {
        let call = Finished { op, file, offset, length, outcome, argument: 0 };
        recorder::write(busy, &call.at(span));
    }
}
