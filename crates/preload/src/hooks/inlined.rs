//! Bytes that a program reads and writes without a call: with optimisation, `getc_unlocked`, `putc_unlocked` and their like work on a stream's buffer themselves (bits/stdio.h of glibc),
//! and call only where that is empty (`__uflow`) or full (`__overflow`).
//!
//! Without a call, only the place in the buffer moves on. So it is noted after each call, and what it has moved until the next one was moved without. Where several threads call, another one
//! may be within a call: then only what is in the buffer counts when it is empty or full, without as many bytes as were recorded since, which is the least that it can be.

use core::ffi::c_int;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use libc::FILE;
use plimsoll_trace::encode::Outcome;
use plimsoll_trace::{Class, Layer, Op};

use crate::files::EXCLUDED;
use crate::hooks::stream_position::{advance, known};
use crate::hooks::{failure, own_stream};
use crate::recorder::{self, Finished, Span, begin_in, ended, ended_at};
use crate::{hot, sys, thread};

/// More of a stream than is looked at here.
const STREAM_BYTES: usize = 128;

/// Streams of descriptors beyond this are not looked at.
const NOTED: usize = 4096;

/// What is known of the stream of a descriptor.
struct Noted {
    stream: AtomicPtr<FILE>,
    /// Where it was in its buffer after the last call.
    read: AtomicUsize,
    written: AtomicUsize,
    /// Bytes that were recorded since the buffer was empty or full.
    recorded: AtomicU64,
    /// The thread that has called, or [`SEVERAL`].
    caller: AtomicUsize,
}

/// No thread's.
const SEVERAL: usize = 0;

static STREAMS: [Noted; NOTED] = [const {
    Noted {
        stream: AtomicPtr::new(ptr::null_mut()),
        read: AtomicUsize::new(0),
        written: AtomicUsize::new(0),
        recorded: AtomicU64::new(0),
        caller: AtomicUsize::new(SEVERAL),
    }
}; NOTED];

/// More than the highest descriptor that has a stream noted.
static MOST: AtomicUsize = AtomicUsize::new(0);

/// A stream whose buffer can be looked at.
struct Looked {
    noted: &'static Noted,
    /// That of its descriptor.
    number: usize,
    stream: *mut FILE,
}

impl Looked {
    /// `None` of one without a file, and with another C library.
    #[inline]
    fn at(stream: *mut FILE) -> Option<Self> {
        // SAFETY: the program's open stream.
        let fd = unsafe { own_stream::known_descriptor(stream)? };
        let number = usize::try_from(fd).ok()?;
        Some(Looked { noted: STREAMS.get(number)?, number, stream })
    }

    /// Returns where the buffer begins and where the stream is in it.
    #[inline]
    fn place(&self, writes: bool) -> [usize; 2] {
        // SAFETY: an open stream whose descriptor is known.
        unsafe { own_stream::place(self.stream, writes) }
    }

    fn is_noted(&self) -> bool {
        self.noted.stream.load(Ordering::Relaxed) == self.stream
    }

    /// Returns whether no other thread calls.
    #[inline]
    fn is_alone(&self) -> bool {
        is_one_thread() || self.noted.caller.load(Ordering::Relaxed) == this_thread()
    }

    /// Returns how many bytes were read, or written, since the last call: for one thread.
    #[inline]
    fn moved(&self, writes: bool) -> u64 {
        let mark = if writes { &self.noted.written } else { &self.noted.read };
        let (mark, [start, now]) = (mark.load(Ordering::Relaxed), self.place(writes));
        let is_there = mark != 0 && start <= mark && mark < now;
        if is_there { (now - mark) as u64 } else { 0 }
    }

    /// Returns how many at least, for several threads.
    fn moved_at_least(&self, writes: bool) -> u64 {
        let [start, now] = self.place(writes);
        let recorded = self.noted.recorded.load(Ordering::Relaxed);
        (now.saturating_sub(start) as u64).saturating_sub(recorded)
    }

    fn unseen(&self, writes: bool) -> u64 {
        match self.is_noted() {
            true if self.is_alone() => self.moved(writes),
            true => self.moved_at_least(writes),
            false => 0,
        }
    }

    /// All that is in the buffer is recorded, or is not to be.
    fn settled(&self) {
        self.note(0);
        let passed = [false, true]
            .map(|writes| self.place(writes))
            .map(|[start, now]| now.saturating_sub(start));
        self.noted.recorded.store(passed.into_iter().max().unwrap_or(0) as u64, Ordering::Relaxed);
    }

    #[inline]
    fn note(&self, recorded: u64) {
        if !self.is_noted() {
            self.noted.stream.store(self.stream, Ordering::Relaxed);
            MOST.fetch_max(self.number + 1, Ordering::Relaxed);
            self.noted.recorded.store(0, Ordering::Relaxed);
            self.noted.caller.store(this_thread(), Ordering::Relaxed);
        } else if !self.is_alone() {
            self.noted.caller.store(SEVERAL, Ordering::Relaxed);
        }
        let [[_, read], [_, written]] = [false, true].map(|writes| self.place(writes));
        self.noted.read.store(read, Ordering::Relaxed);
        self.noted.written.store(written, Ordering::Relaxed);
        let before = self.noted.recorded.load(Ordering::Relaxed);
        self.noted.recorded.store(before.wrapping_add(recorded), Ordering::Relaxed);
    }
}

/// After a call by which a stream may be anywhere in its buffer.
#[inline]
pub fn after_seek(stream: *mut FILE) {
    if let Some(looked) = Looked::at(stream) {
        looked.settled();
    }
}

/// Records `__uflow`, which fills an empty buffer and reads a byte of it, and `__overflow`, which empties a full one and writes a byte.
pub fn call(
    op: Op,
    stream: *mut FILE,
    real: impl FnOnce() -> c_int,
    amounts: impl FnOnce(c_int) -> (u64, Option<u64>),
) -> c_int {
    let start = begin_in(Layer::Stdio);
    if !start.is_on() {
        return real();
    }
    let writes = op.class() as u8 == Class::Write as u8;
    let before = Looked::at(stream).map_or(0, |it| it.unseen(writes));
    let result = real();
    ended(start, |busy, span| {
        let (length, moved) = amounts(result);
        let known = known(busy, stream);
        let offset = advance(&known, stream, before + moved.unwrap_or(0), writes);
        let outcome = moved.map_or_else(failure, |it| Outcome::Value(before + it));
        if known.file != EXCLUDED {
            let (file, length) = (known.file, before + length);
            let call = Finished { op, file, offset, length, outcome, argument: 0 };
            recorder::write(busy, &call.at(span));
        }
        if let Some(looked) = Looked::at(stream) {
            looked.settled();
        }
    });
    result
}

/// Before a recorded call on a stream: records what was moved without a call since the last one.
#[inline]
pub fn before(stream: *mut FILE) {
    if let Some(looked) = Looked::at(stream)
        && looked.is_noted()
        && looked.moved(true) + looked.moved(false) > 0
        && looked.is_alone()
    {
        record(&looked);
    }
}

/// After a recorded call that moved so many bytes.
#[inline]
pub fn after(stream: *mut FILE, recorded: u64) {
    if let Some(looked) = Looked::at(stream) {
        looked.note(recorded);
    }
}

/// Around a call that moves no bytes of the program's, and may empty the buffer or give the stream another one.
pub fn around<R>(stream: *mut FILE, real: impl FnOnce() -> R) -> R {
    before(stream);
    let result = real();
    after_seek(stream);
    result
}

/// Does the same if anything is recorded of streams.
pub fn around_if_on<R>(stream: *mut FILE, real: impl FnOnce() -> R) -> R {
    match begin_in(Layer::Stdio).is_on() {
        true => around(stream, real),
        false => real(),
    }
}

/// The same around a call that does so with all streams.
pub fn around_all<R>(real: impl FnOnce() -> R) -> R {
    for_all(|looked| before(looked.stream));
    let result = real();
    for_all(|looked| looked.settled());
    result
}

/// Before the C library closes all streams, whichever thread has called with them.
pub fn settle_all() {
    if hot::is_on() {
        for_each_noted(|looked| settle(looked.stream));
    }
}

/// In a child: what was read before the fork is its parent's to record. What waits to be written, both write.
pub fn begin_anew() {
    for_each_noted(|looked| {
        let [_, now] = looked.place(false);
        looked.noted.read.store(now, Ordering::Relaxed);
        // There is no other thread, whatever the C library says.
        looked.noted.caller.store(this_thread(), Ordering::Relaxed);
    });
}

/// Around `ungetc`, which may have the stream read from another buffer for a moment. What was read before is still told by its place otherwise.
pub fn around_giving_back(stream: *mut FILE, real: impl FnOnce() -> c_int) -> c_int {
    let looked = Looked::at(stream).filter(|it| it.is_noted() && it.is_alone());
    let before = looked.as_ref().map(|it| (it.place(false), it.moved(false)));
    let result = real();
    if let (Some(looked), Some((place, moved))) = (looked, before)
        && looked.place(false)[0] != place[0]
        && !thread::is_busy()
    {
        record_moved(&looked, false, moved);
        looked.settled();
    }
    result
}

/// Does something to each stream that is noted, and that no other thread calls with.
fn for_all(work: impl Fn(&Looked)) {
    for_each_noted(|looked| {
        if looked.is_alone() {
            work(looked);
        }
    });
}

/// Does something to each stream that is noted. `fclose` and its like have taken those out that are closed.
fn for_each_noted(work: impl Fn(&Looked)) {
    for (number, noted) in STREAMS.iter().enumerate().take(MOST.load(Ordering::Relaxed)) {
        let looked = Looked { noted, number, stream: noted.stream.load(Ordering::Relaxed) };
        if !looked.stream.is_null()
            // The C library may have closed it by itself, and given its memory back.
            && sys::is_memory_at(looked.stream)
            && sys::is_memory_at(looked.stream.wrapping_byte_add(STREAM_BYTES))
            // SAFETY: memory that was a stream's.
            && unsafe { own_stream::known_descriptor(looked.stream) } == c_int::try_from(number).ok()
        {
            work(&looked);
        }
    }
}

/// Before a stream is closed or gets another file: the same as before other calls, also of several threads.
pub fn settle(stream: *mut FILE) {
    // The call itself is what is lost in a handler that has interrupted the recorder.
    if !thread::is_busy()
        && begin_in(Layer::Stdio).is_on()
        && let Some(looked) = Looked::at(stream)
    {
        // Of one that a single thread has called with, nobody else is within a call when it is closed. At the end of a program that thread may be, and its call then counts twice.
        if looked.noted.caller.load(Ordering::Relaxed) != SEVERAL {
            looked.noted.caller.store(this_thread(), Ordering::Relaxed);
        }
        record(&looked);
        looked.noted.stream.store(ptr::null_mut(), Ordering::Relaxed);
    }
}

#[cold]
fn record(looked: &Looked) {
    for writes in [false, true] {
        record_moved(looked, writes, looked.unseen(writes));
    }
    looked.settled();
}

fn record_moved(looked: &Looked, writes: bool, length: u64) {
    let start = begin_in(Layer::Stdio);
    if length == 0 || !start.is_on() {
        return;
    }
    ended_at(Span { start: start.0, end: start.0 }, |busy, span| {
        let known = known(busy, looked.stream);
        let (file, offset) = (known.file, advance(&known, looked.stream, length, writes));
        if file != EXCLUDED {
            let op = if writes { Op::Fputc } else { Op::Fgetc };
            let outcome = Outcome::Value(length);
            let call = Finished { op, file, offset, length, outcome, argument: 0 };
            recorder::write(busy, &call.at(span));
        }
    });
}

#[inline]
fn this_thread() -> usize {
    thread::current().addr()
}

/// Returns whether the C library says so (since 2.32 of glibc).
#[inline]
fn is_one_thread() -> bool {
    static SAYS: AtomicUsize = AtomicUsize::new(0);
    const NOTHING: usize = 1;
    let mut says = SAYS.load(Ordering::Relaxed);
    if says == 0 {
        let before = sys::errno();
        // SAFETY: a C string.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__libc_single_threaded".as_ptr()) };
        sys::set_errno(before);
        says = if found.is_null() { NOTHING } else { found.expose_provenance() };
        SAYS.store(says, Ordering::Relaxed);
    }
    // SAFETY: the C library's variable, a byte.
    says != NOTHING && unsafe { *ptr::with_exposed_provenance::<u8>(says) } != 0
}
