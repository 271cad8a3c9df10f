//! Recording a call: `begin_in`, the real call, `ended`.

use core::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use plimsoll_trace::definition::DefinitionKind;
use plimsoll_trace::encode::{Call, DataCall, EVENT_BYTES_MAX, NO_FILE, Outcome};
use plimsoll_trace::layout::{ChunkKind, Loss};
use plimsoll_trace::{Layer, Op, Unseen};

use crate::files::{self, EXCLUDED};
use crate::hot::{self, bit};
use crate::process::{self, Process};
use crate::thread::{self, Busy};
use crate::{chunk, clock, decision, definitions, spool, sys};

/// When a call began; zero when nothing is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start(pub u64);

impl Start {
    /// Returns true when the call is recorded.
    #[inline(always)]
    pub fn is_on(self) -> bool {
        self.0 != 0
    }

    /// Returns the time from then to now.
    #[inline(always)]
    pub fn until_now(self) -> Span {
        Span { start: self.0, end: clock::ticks() }
    }
}

/// From when to when a call took, in ticks of the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// When it began.
    pub start: u64,
    /// When it ended.
    pub end: u64,
}

/// What is known of a call when it has ended.
#[derive(Debug, Clone, Copy)]
pub struct Finished {
    /// The operation.
    pub op: Op,
    /// The file's number.
    pub file: u32,
    /// Where data was moved.
    pub offset: u64,
    /// Bytes asked for.
    pub length: u64,
    /// What came back.
    pub outcome: Outcome,
    /// Whatever else is worth keeping.
    pub argument: u64,
}

/// Begins a call of a layer.
#[inline(always)]
pub fn begin_in(layer: Layer) -> Start {
    begin_if(bit(layer))
}

#[inline(always)]
fn begin_if(layers: u32) -> Start {
    let mode = hot::mode();
    if mode & layers == 0 {
        return match mode {
            hot::UNDECIDED => begin_undecided(layers),
            _ => Start(0),
        };
    }
    if thread::is_busy() {
        // A backend's own calls are not the program's.
        if !thread::is_serving() {
            process::lose(Loss::Reentered);
        }
        return Start(0);
    }
    Start(clock::ticks())
}

/// Begins a call that came before our constructor.
#[cold]
#[inline(never)]
fn begin_undecided(layers: u32) -> Start {
    decision::make();
    if hot::mode() & layers != 0 && !thread::is_busy() { Start(clock::ticks()) } else { Start(0) }
}

/// Ends a call now: `record` writes it down, where it is wanted.
#[inline(always)]
pub fn ended(start: Start, record: impl FnOnce(&Busy, Span)) {
    if start.is_on() {
        ended_at(start.until_now(), record);
    }
}

/// Ends a call: `record` writes it down. Every stand-in comes here, so that none forgets to count a call
/// that cannot be written because the recorder itself was interrupted.
#[inline(always)]
pub fn ended_at(span: Span, record: impl FnOnce(&Busy, Span)) {
    match Busy::begin() {
        Some(busy) => record(&busy, span),
        None => process::lose(Loss::Reentered),
    }
}

/// Begins a call that may contain others.
pub fn enter() -> Start {
    let start = begin_in(Layer::Mpi);
    if start.is_on() {
        let call = Finished {
            op: Op::Enter,
            file: NO_FILE,
            offset: 0,
            length: 0,
            outcome: Outcome::Value(0),
            argument: 0,
        };
        let span = Span { start: start.0, end: start.0 };
        ended_at(span, |busy, span| write(busy, &call.at(span)));
    }
    start
}

/// Ends a call of which everything is known.
#[inline(never)]
pub fn end(start: Start, call: &Finished) {
    if call.file != EXCLUDED && hot::mode() & bit(call.op.layer()) != 0 {
        ended(start, |busy, span| write(busy, &call.at(span)));
    }
}

impl Finished {
    /// Returns the call with its times.
    #[inline(always)]
    pub fn at(&self, span: Span) -> Call {
        Call {
            op: self.op,
            file: self.file,
            offset: self.offset,
            length: self.length,
            outcome: self.outcome,
            argument: self.argument,
            start: span.start,
            end: span.end,
        }
    }
}

/// Puts an event into the thread's chunk.
#[inline(always)]
pub fn write(busy: &Busy, call: &Call) {
    let thread = busy.thread();
    // SAFETY: the thread's own storage. A slot that is not null is in the process's region, and
    // it is this thread's as long as the keys agree; in a forked child its key was wiped.
    unsafe {
        let slot = (*thread).slot;
        if !slot.is_null() && (*slot).key() == (*thread).key {
            let writer = &mut *(*slot).writer.get();
            if writer.has_room(EVENT_BYTES_MAX) && call.end < writer.anchor_due {
                writer.put(call);
                return;
            }
        }
    }
    write_slowly(busy, call);
}

/// Puts a data event into the thread's chunk. The hot path: a call that is as predicted.
#[inline(always)]
pub fn write_data(busy: &Busy, data: &DataCall) {
    let thread = busy.thread();
    // SAFETY: as in `write`.
    unsafe {
        let slot = (*thread).slot;
        if !slot.is_null()
            && (*slot).key() == (*thread).key
            && (*(*slot).writer.get()).put_predicted(data)
        {
            return;
        }
    }
    write_unpredicted(
        busy,
        data.op,
        data.file,
        data.offset,
        data.length,
        data.moved,
        data.start,
        data.end,
    );
}

#[inline(never)]
#[allow(clippy::too_many_arguments)] // in registers, so that the hot path stores nothing
fn write_unpredicted(
    busy: &Busy,
    op: Op,
    file: u32,
    offset: u64,
    length: u64,
    moved: isize,
    start: u64,
    end: u64,
) {
    let outcome =
        if moved < 0 { Outcome::Error(sys::errno() as u32) } else { Outcome::Value(moved as u64) };
    write(busy, &Call { op, file, offset, length, outcome, argument: 0, start, end });
}

/// Writes an event for which the thread has no chunk, or whose chunk is full, or with which the file's clock is due.
#[cold]
#[inline(never)]
fn write_slowly(busy: &Busy, call: &Call) {
    let Some(process) = process::recording(busy) else {
        return process::lose(Loss::NoSpace);
    };
    let thread = busy.thread();
    // SAFETY: as in `write`.
    unsafe {
        let slot = (*thread).slot;
        let is_ours = !slot.is_null() && (*slot).key() == (*thread).key;
        if is_ours && slot == &raw const process.shared {
            return write_shared(process, busy, call);
        }
        if is_ours && (*(*slot).writer.get()).has_room(EVENT_BYTES_MAX) {
            let writer = &mut *(*slot).writer.get();
            writer.anchor_due = spool::move_clock(process, call.end);
            return writer.put(call);
        }
        let held = process.lock.hold(busy);
        let number = sys::thread_id();
        let taken = if is_ours {
            let writer = &mut *(*slot).writer.get();
            let room = EVENT_BYTES_MAX;
            writer.renew(process, &held, ChunkKind::Events, number, room).map(|()| Some(slot))
        } else {
            chunk::take_slot(process, &held, number)
        };
        match taken {
            Ok(Some(slot)) => {
                (*thread).slot = slot;
                (*thread).key = (*slot).key();
                let writer = &mut *(*slot).writer.get();
                writer.anchor_due = spool::move_clock(process, call.end);
                writer.put(call);
            }
            Ok(None) => {
                let shared = &process.shared;
                if shared.key() == 0 {
                    shared.renew_key();
                }
                (*thread).slot = shared;
                (*thread).key = shared.key();
                drop(held);
                write_shared(process, busy, call);
            }
            Err(error) => spool::give_up(process, error),
        }
    }
}

/// Writes an event where there are more threads than slots: one chunk for all others, under a lock. Its writer never
/// looks like it had room to the fast path, because its clock is always due.
fn write_shared(process: &'static Process, busy: &Busy, call: &Call) {
    let _shared = process.shared_lock.hold(busy);
    // SAFETY: under its lock.
    let writer = unsafe { &mut *process.shared.writer.get() };
    if !writer.has_room(EVENT_BYTES_MAX) {
        let held = process.lock.hold(busy);
        if let Err(error) = writer.renew(process, &held, ChunkKind::Events, 0, EVENT_BYTES_MAX) {
            return spool::give_up(process, error);
        }
        writer.anchor_due = 0;
    }
    // SAFETY: there is room.
    unsafe { writer.put(call) };
}

/// Returns the number of the file at this absolute path.
pub fn file_number(path: &[u8]) -> u32 {
    if hot::mode() & hot::ANY_LAYER == 0 {
        return NO_FILE;
    }
    Busy::begin().map_or(NO_FILE, |busy| files::number(&busy, path))
}

/// Says what a number means.
pub fn define(kind: DefinitionKind, number: u32, value: u64, text: &[u8]) {
    if hot::mode() & hot::ANY_LAYER == 0 {
        return;
    }
    if let Some(busy) = Busy::begin()
        && let Some(process) = process::recording(&busy)
    {
        let held = process.lock.hold(&busy);
        definitions::write(process, &held, kind, number, value, text);
    }
}

/// Says, once, that something which this process does is not recorded.
#[cold]
pub fn gap(reason: Unseen, text: &[u8]) {
    let is_new = process::current().is_some_and(|process| process.is_first_gap(reason));
    if is_new {
        let before = sys::errno();
        define(DefinitionKind::Gap, 0, reason as u64, text);
        sys::set_errno(before);
    }
}

/// Notes that the process is a rank of an MPI program.
pub fn set_rank(rank: i32, ranks: u32) {
    if hot::mode() & hot::ANY_LAYER == 0 {
        return;
    }
    if let Some(busy) = Busy::begin()
        && let Some(process) = process::recording(&busy)
        && let Some(header) = process.header()
    {
        // SAFETY: the page stays mapped; both fields are aligned words.
        unsafe {
            AtomicI32::from_ptr(&raw mut (*header).rank).store(rank, Ordering::Relaxed);
            AtomicU32::from_ptr(&raw mut (*header).ranks).store(ranks, Ordering::Relaxed);
        }
    }
}

/// Returns the clock that events are stamped with.
pub fn ticks() -> u64 {
    clock::ticks()
}
