//! Chunks: a writer puts events into the mapping of one; threads own them through slots.

use core::cell::UnsafeCell;
use core::ptr;
use core::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};

use plimsoll_trace::encode::{
    Call, DataCall, EVENT_BYTES_MAX, PREDICTED_BYTES, Prediction, encode, encode_predicted,
};
use plimsoll_trace::layout::{
    BLOCK_BYTES, CHUNK_HEADER_BYTES, CHUNK_MAGIC, ChunkHeader, ChunkKind,
};
use rustix::io::Errno;
use rustix::mm::munmap;

use crate::lock::Held;
use crate::process::Process;
use crate::spool::Spool;
use crate::{clock, spool, sys};

/// Threads that can have a chunk of their own: 96 chunks are 6 MiB at most.
pub const SLOTS: usize = 96;

/// The rest of a chunk that is worth a chunk of its own.
const REST_BYTES_MIN: usize = 512;

/// A writer's first chunk after that of the first page. The next ones grow, so that a process that
/// does little has a small file, and one that does much takes chunks rarely.
const FIRST_BYTES: usize = 4096;

/// A place in a mapped chunk. Zeros are no chunk: the limit is below every cursor.
#[repr(C)]
pub struct Writer {
    /// What the next event is predicted from.
    pub prediction: Prediction,
    /// Where the next byte goes.
    pub cursor: *mut u8,
    /// One past the last byte of the chunk; null without a chunk.
    pub end: *mut u8,
    /// The chunk's header.
    pub chunk: *mut ChunkHeader,
    /// When the file's latest anchor is to be moved on, in ticks.
    pub anchor_due: u64,
    /// Where the chunk is, in bytes after the file's first page.
    position: u64,
    /// Bytes that the next chunk is to have; 0 before the first.
    next_bytes: usize,
    /// The mapping that is given back with the chunk.
    map_start: *mut u8,
    map_end: *mut u8,
}

impl Writer {
    /// Returns true when an event fits.
    #[inline(always)]
    pub fn has_room(&self, bytes: usize) -> bool {
        (self.cursor as usize).wrapping_add(bytes) <= self.end as usize
    }

    /// Adds an event.
    ///
    /// # Safety
    /// There is room for [`EVENT_BYTES_MAX`], and nobody else uses the writer.
    #[inline(always)]
    pub unsafe fn put(&mut self, call: &Call) {
        // SAFETY: the caller's promise: the bytes are mapped and only ours.
        let room = unsafe { core::slice::from_raw_parts_mut(self.cursor, EVENT_BYTES_MAX) };
        let length = encode(call, &mut self.prediction, room);
        // SAFETY: not past the room.
        unsafe { self.advance(length) };
    }

    /// Adds a data event that is what was predicted; false when it is not, or there is no room, or
    /// the clock is due.
    ///
    /// # Safety
    /// Nobody else uses the writer.
    #[inline(always)]
    pub unsafe fn put_predicted(&mut self, data: &DataCall) -> bool {
        if data.end >= self.anchor_due || !self.has_room(EVENT_BYTES_MAX) {
            return false;
        }
        let Some(word) = encode_predicted(data, &mut self.prediction) else { return false };
        // SAFETY: there is room for more than the word, of which some bytes are made valid.
        unsafe {
            self.cursor.cast::<u64>().write_unaligned(word.to_le());
            self.advance(PREDICTED_BYTES);
        }
        true
    }

    /// Makes the next `length` bytes valid.
    ///
    /// # Safety
    /// They are within the chunk and written.
    #[inline(always)]
    pub unsafe fn advance(&mut self, length: usize) {
        // SAFETY: within the chunk, says the caller.
        unsafe { self.cursor = self.cursor.add(length) };
        let payload = self.chunk.wrapping_add(1) as usize;
        let committed = (self.cursor as usize).wrapping_sub(payload) as u32;
        // SAFETY: the header is mapped with its chunk. The release makes the bytes valid for
        // whoever sees the count, which after a kill is the reader of the file.
        unsafe {
            AtomicU32::from_ptr(&raw mut (*self.chunk).committed)
                .store(committed, Ordering::Release);
        }
    }

    /// Begins a chunk in mapped bytes. What was there before must be sealed.
    ///
    /// # Safety
    /// The place is mapped, and nobody else writes to it.
    pub unsafe fn begin(
        &mut self,
        place: &ChunkSpace,
        kind: ChunkKind,
        thread: u32,
        sequence: u32,
    ) {
        let base = clock::ticks();
        let ChunkSpace { start, span, position } = *place;
        let chunk = start.cast::<ChunkHeader>();
        let mut header = ChunkHeader::new(kind, thread, sequence, base, span as u32);
        header.magic = 0;
        // SAFETY: the header fits. The magic comes last: a chunk without it does not count as
        // begun, so that a kill in this moment leaves no half header behind.
        unsafe {
            chunk.write(header);
            AtomicU32::from_ptr(&raw mut (*chunk).magic).store(CHUNK_MAGIC, Ordering::Release);
        }
        self.chunk = chunk;
        self.cursor = start.wrapping_add(CHUNK_HEADER_BYTES);
        self.end = start.wrapping_add(span);
        self.position = position;
        self.prediction = Prediction::new(base);
    }

    /// Returns where the chunk begins and ends, in bytes after the file's first page, and where it would
    /// end if it were cut to what it holds. `None` without a chunk.
    pub fn extent(&self) -> Option<Extent> {
        if self.chunk.is_null() {
            return None;
        }
        let from_start = |at: *mut u8| (at as usize).wrapping_sub(self.chunk as usize);
        let (used, span) = (from_start(self.cursor), from_start(self.end));
        let is_empty = used == CHUNK_HEADER_BYTES;
        let needed = if is_empty { 0 } else { used.next_multiple_of(CHUNK_HEADER_BYTES) };
        let at = |bytes: usize| self.position + bytes as u64;
        Some(Extent { start: at(0), needed_end: at(needed), end: at(span) })
    }

    /// Completes the chunk: cut to this span if one is given, with its checksum.
    pub fn seal(&mut self, cut: Option<usize>) {
        if self.chunk.is_null() {
            return;
        }
        let payload = self.chunk.wrapping_add(1).cast::<u8>();
        let from_start = |at: *mut u8| (at as usize).wrapping_sub(self.chunk as usize);
        let committed = from_start(self.cursor) - CHUNK_HEADER_BYTES;
        // SAFETY: the chunk is mapped and only ours. How long it is and what it holds is known here:
        // what the header says of it, the program may have overwritten.
        unsafe {
            let mut header = *self.chunk;
            header.committed = committed as u32;
            header.span = cut.unwrap_or_else(|| from_start(self.end)) as u32;
            AtomicU32::from_ptr(&raw mut (*self.chunk).committed)
                .store(header.committed, Ordering::Release);
            AtomicU32::from_ptr(&raw mut (*self.chunk).span).store(header.span, Ordering::Release);
            let crc = header.checksum(core::slice::from_raw_parts(payload, committed));
            AtomicU32::from_ptr(&raw mut (*self.chunk).crc).store(crc, Ordering::Release);
            AtomicU16::from_ptr(&raw mut (*self.chunk).sealed).store(1, Ordering::Release);
        }
        self.forget();
    }

    /// Forgets the chunk, which holds nothing and is not in the file any more.
    pub fn forget(&mut self) {
        self.chunk = ptr::null_mut();
        self.cursor = ptr::null_mut();
        self.end = ptr::null_mut();
    }

    /// Gives the mapping back.
    pub fn unmap(&mut self) {
        let length = (self.map_end as usize).wrapping_sub(self.map_start as usize);
        if length != 0 {
            // SAFETY: the range was mapped for this writer only, and its chunk is sealed.
            let _ = unsafe { munmap(self.map_start.cast(), length) };
        }
        self.map_start = ptr::null_mut();
        self.map_end = ptr::null_mut();
    }

    /// Returns true when the address is in the chunk or in the mapping that is given back with it.
    ///
    /// # Safety
    /// The writer is one of the process's region; its thread may be using it.
    pub unsafe fn has_mapped(writer: *const Writer, address: usize) -> bool {
        // SAFETY: aligned words that are there; read as they are at this moment.
        let (chunk, end, map_start, map_end) = unsafe {
            (
                (&raw const (*writer).chunk).read_volatile() as usize,
                (&raw const (*writer).end).read_volatile() as usize,
                (&raw const (*writer).map_start).read_volatile() as usize,
                (&raw const (*writer).map_end).read_volatile() as usize,
            )
        };
        (chunk..end).contains(&address) || (map_start..map_end).contains(&address)
    }

    /// Says which mapping is given back with the chunk.
    pub fn set_mapping(&mut self, start: *mut u8, length: usize) {
        self.map_start = start;
        self.map_end = start.wrapping_add(length);
    }

    /// Seals the chunk if there is one, and begins another that has room for `room_bytes`.
    pub fn renew(
        &mut self,
        process: &Process,
        held: &Held<'_>,
        kind: ChunkKind,
        thread: u32,
        room_bytes: usize,
    ) -> Result<(), Errno> {
        // Whoever filled a chunk will fill the next: its pages are had cheaper at once.
        let was_full = !self.chunk.is_null();
        self.seal(None);
        self.unmap();
        let wanted = self.next_bytes.max(FIRST_BYTES);
        let needed = CHUNK_HEADER_BYTES + room_bytes;
        let mapped = spool::take(process, held, wanted, needed, was_full)?;
        self.next_bytes = (2 * wanted).min(BLOCK_BYTES);
        // SAFETY: the lock is held.
        let sequence = unsafe { (*process.spool.get()).next_sequence() };
        self.set_mapping(mapped.map_start, mapped.map_length);
        // SAFETY: it was just mapped for us.
        unsafe { self.begin(&mapped.place, kind, thread, sequence) };
        spool::publish(process, held);
        Ok(())
    }
}

/// Bytes of the file for one chunk.
#[derive(Clone, Copy)]
pub struct ChunkSpace {
    /// Its first byte in memory: at a multiple of the header's size in a block.
    pub start: *mut u8,
    /// How many there are.
    pub span: usize,
    /// Where it is, in bytes after the file's first page.
    pub position: u64,
}

/// Where a chunk is, in bytes after the file's first page.
pub struct Extent {
    /// Its first byte.
    pub start: u64,
    /// Where it would end if it were cut to what it holds; its start when that is nothing.
    pub needed_end: u64,
    /// Where it ends.
    pub end: u64,
}

/// The place of one thread.
#[repr(C, align(64))]
pub struct ThreadSlot {
    /// What its owner must know to use it; 0 when it must be taken anew.
    key: AtomicU64,
    /// The events' chunk. Only for the owner, and for others once the owner is gone.
    pub writer: UnsafeCell<Writer>,
    /// The thread; 0 when free.
    pub owner: AtomicU32,
}

impl ThreadSlot {
    /// Returns what its owner must know to use it.
    #[inline(always)]
    pub fn key(&self) -> u64 {
        self.key.load(Ordering::Relaxed)
    }

    /// Gives it a key that nobody has. Ticks are never 0 and differ from those of every earlier
    /// one, also of the process that forked us.
    pub fn renew_key(&self) {
        self.key.store(clock::ticks() | 1, Ordering::Relaxed);
    }
}

/// Returns a slot for this thread. `None`: all are taken, share one.
pub fn take_slot(
    process: &'static Process,
    held: &Held<'_>,
    thread: u32,
) -> Result<Option<*const ThreadSlot>, Errno> {
    // SAFETY: the lock is held.
    let spool = unsafe { &mut *process.spool.get() };
    let mut free = None;
    for slot in &process.slots {
        let owner = slot.owner.load(Ordering::Acquire);
        if owner == 0 {
            free = free.or(Some(slot));
            // Slots are taken from the front: behind one that was never used there is none.
            if slot.key() == 0 {
                break;
            }
            continue;
        }
        // A thread that has our number and is not we is gone: numbers are used again.
        if owner == thread || sys::is_gone(spool.pid, owner) {
            // SAFETY: the owner is gone and we hold the lock.
            let writer = unsafe { &mut *slot.writer.get() };
            inherit(writer, spool, thread);
            if !writer.has_room(EVENT_BYTES_MAX) {
                writer.renew(process, held, ChunkKind::Events, thread, EVENT_BYTES_MAX)?;
            }
            return Ok(Some(claim(slot, thread)));
        }
    }
    let Some(slot) = free else { return Ok(None) };
    // SAFETY: free, and we hold the lock.
    let writer = unsafe { &mut *slot.writer.get() };
    writer.renew(process, held, ChunkKind::Events, thread, EVENT_BYTES_MAX)?;
    Ok(Some(claim(slot, thread)))
}

/// Makes a slot a thread's own.
pub fn claim(slot: &ThreadSlot, thread: u32) -> *const ThreadSlot {
    slot.renew_key();
    slot.owner.store(thread, Ordering::Release);
    slot
}

/// Makes the rest of a dead thread's chunk a chunk of this thread.
fn inherit(writer: &mut Writer, spool: &mut Spool, thread: u32) {
    let Some(extent) = writer.extent() else { return };
    let span = (extent.needed_end - extent.start).max(CHUNK_HEADER_BYTES as u64);
    let rest = extent.end - extent.start - span;
    if rest < REST_BYTES_MIN as u64 {
        return writer.seal(None);
    }
    let place = ChunkSpace {
        start: writer.chunk.cast::<u8>().wrapping_add(span as usize),
        span: rest as usize,
        position: extent.start + span,
    };
    let mut next = Writer {
        cursor: ptr::null_mut(),
        end: ptr::null_mut(),
        chunk: ptr::null_mut(),
        prediction: Prediction::new(0),
        anchor_due: 0,
        position: 0,
        next_bytes: writer.next_bytes,
        map_start: writer.map_start,
        map_end: writer.map_end,
    };
    let sequence = spool.next_sequence();
    // SAFETY: within the dead thread's chunk, behind what it wrote. The new header is complete
    // before the old chunk is cut, so that at no moment a reader finds a gap.
    unsafe { next.begin(&place, ChunkKind::Events, thread, sequence) };
    writer.seal(Some(span as usize));
    *writer = next;
}
