//! The process's file: created with its first call, grown chunk by chunk, never held open.
//!
//! Bytes are allocated before they are mapped. A write to a mapped page that the file system
//! cannot store would be SIGBUS, and growing beyond RLIMIT_FSIZE SIGXFSZ: both would kill the
//! program. No descriptor stays open, because programs close all that they do not know.

use core::ptr;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use plimsoll_trace::layout::{
    BLOCK_BYTES, CHUNK_HEADER_BYTES, ChunkHeader, ChunkKind, FILE_EXTENSION, FileHeader,
    HEADER_BYTES, Loss, State,
};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap};

use crate::chunk::{ChunkSpace, Writer};
use crate::folder::Folder;
use crate::lock::Held;
use crate::open_file::{self, OwnFile};
use crate::own_descriptors::OwnDescriptor;
use crate::private_file::{create_file, share};
use crate::process::Process;
use crate::room::allocate;
use crate::text::Text;
use crate::thread::Busy;
use crate::{chunk, clock, config, identity, process, sys};

/// The second page is for the first chunks, so that a process that does little has two pages: so
/// much of it is for definitions, and the rest for the calls of its first thread.
const FIRST_PAGE_BYTES: usize = 4096;
const FIRST_DEFINITIONS_BYTES: usize = 1536;

/// Chunks end at multiples of this where they can, so that they are mapped by whole pages.
const GRAIN_BYTES: u64 = 4096;

/// The file grows by as much as it has, and by this at most.
const GROWTH_BYTES_MAX: u64 = 256 << 10;

/// Anchors are moved on at first after this many ticks, then more and more rarely: a killed
/// process's clock rate is known well soon, and a long run pays nothing.
const FIRST_ANCHOR_TICKS: u64 = 1 << 20;
const LAST_ANCHOR_TICKS: u64 = 1 << 31;

/// Names have a host (64 bytes), two numbers and what is behind them.
pub const NAME_BYTES: usize = 160;

/// The file. Zeros are none.
#[repr(C)]
pub struct Spool {
    /// Which directory it is in.
    pub folder: Folder,
    /// Its name there.
    pub name: Text<NAME_BYTES>,
    /// The file, if it cannot be opened by its name any more. A forked child has another one.
    pub kept: OwnDescriptor,
    /// The process.
    pub pid: u32,
    sequence: u32,
    /// Which file it is: what is there under its name later may be another's.
    device: u64,
    inode: u64,
    /// Bytes after the first page that chunks have taken, and that are allocated.
    taken: u64,
    allocated: u64,
}

impl Spool {
    /// Counts chunks. One count for all threads: numbers of threads are used again.
    pub fn next_sequence(&mut self) -> u32 {
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(1);
        sequence
    }

    /// Remembers which file it is.
    pub fn remember(&mut self, file: &OwnFile) -> Result<(), Errno> {
        let facts = rustix::fs::fstat(file)?;
        (self.device, self.inode) = (facts.st_dev, facts.st_ino);
        Ok(())
    }

    fn give_name(&self, directory: &OwnFile, new: &Text<NAME_BYTES>) -> Result<(), Errno> {
        rustix::fs::renameat(directory, new.as_c_str(), directory, self.name.as_c_str())
    }

    /// Opens the file again. Fails if there is another one under its name, or if it was cut: whoever can write
    /// to the directory could have put it there.
    pub fn open(&self, flags: OFlags) -> Result<OwnFile, Errno> {
        // The program may have closed it, and have another file under its number.
        if let Some(kept) = self.kept.get()
            && let Ok(file) = rustix::io::fcntl_dupfd_cloexec(kept, 0)
            && let Ok(file) = self.checked(file.into())
        {
            return Ok(file);
        }
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let directory = self.folder.open()?;
        self.checked(open_file::openat(directory, self.name.as_c_str(), flags, Mode::empty())?)
    }

    fn checked(&self, file: OwnFile) -> Result<OwnFile, Errno> {
        let facts = rustix::fs::fstat(&file)?;
        let is_same = (facts.st_dev, facts.st_ino) == (self.device, self.inode);
        let is_whole = facts.st_size as u64 >= HEADER_BYTES as u64 + self.allocated;
        if is_same && is_whole { Ok(file) } else { Err(Errno::STALE) }
    }
}

/// Bytes that were mapped for one chunk.
pub struct Mapped {
    /// The chunk's.
    pub place: ChunkSpace,
    /// The mapping, which begins earlier where the chunk is not at the beginning of a page.
    pub map_start: *mut u8,
    /// Bytes of the mapping.
    pub map_length: usize,
}

/// Creates the file with its first chunks, and the calling thread's slot in it.
pub fn create(process: &'static Process, busy: &Busy, _held: &Held<'_>) -> Result<(), Errno> {
    // SAFETY: the lock is held.
    let spool = unsafe { &mut *process.spool.get() };
    let now = clock::anchor();
    let names = rustix::system::uname();
    let host = names.nodename().to_bytes();
    spool.pid = rustix::process::getpid().as_raw_nonzero().get() as u32;
    spool.folder = Folder::Spool;
    spool.name.set(host);
    spool.name.push(b"-");
    spool.name.push_number(u64::from(spool.pid), 10);
    spool.name.push(b"-");
    spool.name.push_number(now.realtime_ns, 16);
    spool.name.push(b".");
    spool.name.push(FILE_EXTENSION.as_bytes());

    // Under another name until it can be read: a process that is killed now leaves no riddle.
    let mut new = Text::<NAME_BYTES>::new();
    new.push(spool.name.as_bytes());
    new.push(b".new");
    let created = spool.folder.open_to_create().and_then(|directory| {
        let file = create_file(&directory, new.as_c_str(), OFlags::RDWR)?;
        spool.remember(&file)?;
        Ok((directory, file))
    });
    let (directory, file) = match created {
        Ok(created) => created,
        Err(error) => {
            process::tell_ancestor(error);
            return Err(error);
        }
    };
    let length = HEADER_BYTES + FIRST_PAGE_BYTES;
    let mapped = match allocate(&file, 0, length as u64) {
        Ok(()) => map(&file, 0, length, MapFlags::empty()),
        Err(error) => Err(error),
    };
    let start_of_file = match mapped {
        Ok(start_of_file) => start_of_file,
        Err(error) => {
            // An empty file says that the process could not be recorded.
            let _ = rustix::fs::ftruncate(&file, 0);
            share(&file);
            let _ = spool.give_name(&directory, &new);
            return Err(error);
        }
    };
    let header = start_of_file.cast::<FileHeader>();
    // SAFETY: freshly mapped, all zeros, and nobody else knows of it.
    unsafe { identity::describe(&mut *header, spool.pid, host, now) };
    share(&file);
    spool.allocated = FIRST_PAGE_BYTES as u64;
    spool.taken = FIRST_PAGE_BYTES as u64;
    process.set_header(header);

    let place = |from: usize, to: usize| ChunkSpace {
        start: start_of_file.wrapping_add(HEADER_BYTES + from),
        span: to - from,
        position: from as u64,
    };
    let thread = sys::thread_id();
    let sequences = (spool.next_sequence(), spool.next_sequence());
    // SAFETY: the lock is held, and the first slot is free in a process that has no file. Both
    // places are mapped, as long as the process lives: the first page must be too.
    unsafe {
        let Some(slot) = process.slots.first() else { return Err(Errno::NOMEM) };
        let definitions = &mut *process.definitions.get();
        let place_of_definitions = place(0, FIRST_DEFINITIONS_BYTES);
        definitions.begin(&place_of_definitions, ChunkKind::Definitions, 0, sequences.0);
        let writer = &mut *slot.writer.get();
        let place_of_events = place(FIRST_DEFINITIONS_BYTES, FIRST_PAGE_BYTES);
        writer.begin(&place_of_events, ChunkKind::Events, thread, sequences.1);
        (*header).taken_bytes = spool.taken;
        spool.give_name(&directory, &new)?;
        if rustix::param::page_size() <= HEADER_BYTES
            && madvise(start_of_file.cast(), HEADER_BYTES, Advice::LinuxDoFork).is_ok()
        {
            process::set_nearest_header(header);
        }
        let slot = chunk::claim(slot, thread);
        (*busy.thread()).slot = slot;
        (*busy.thread()).key = (*slot).key();
        writer.anchor_due = now.ticks.wrapping_add(FIRST_ANCHOR_TICKS);
    }
    Ok(())
}

/// Takes the next bytes of the file and maps them: about as many as are wanted, and not fewer than
/// are needed. All of them are expected to be used soon, or not.
pub fn take(
    process: &Process,
    _held: &Held<'_>,
    wanted: usize,
    needed: usize,
    whole: bool,
) -> Result<Mapped, Errno> {
    // SAFETY: the lock is held.
    let spool = unsafe { &mut *process.spool.get() };
    if !process.is_recording() {
        return Err(Errno::NOSPC);
    }
    let file = spool.open(OFlags::RDWR)?;
    let block_bytes = BLOCK_BYTES as u64;
    let mut start = spool.taken;
    let mut room = block_bytes - start % block_bytes;
    if room < needed as u64 {
        // Too little is left of the block: a chunk of nothing, so that a reader finds the next.
        grow(&file, spool, start + room)?;
        leave_out(&file, start, room)?;
        start += room;
        room = block_bytes;
    }
    let end = (start + wanted.max(needed) as u64).next_multiple_of(GRAIN_BYTES);
    let span = (end - start).min(room);
    grow(&file, spool, start + span)?;
    let page = rustix::param::page_size() as u64;
    let position = HEADER_BYTES as u64 + start;
    let before = (position % page) as usize;
    let populate = if whole { MapFlags::POPULATE } else { MapFlags::empty() };
    let map_length = before + span as usize;
    let map_start = map(&file, position - before as u64, map_length, populate)?;
    spool.taken = start + span;
    let place =
        ChunkSpace { start: map_start.wrapping_add(before), span: span as usize, position: start };
    Ok(Mapped { place, map_start, map_length })
}

/// Says in the file how many bytes are taken. Not before the last of them have a chunk's header:
/// a reader would take what is not there for damage.
pub fn publish(process: &Process, _held: &Held<'_>) {
    // SAFETY: the lock is held.
    let taken = unsafe { (*process.spool.get()).taken };
    if let Some(header) = process.header() {
        // SAFETY: the page stays mapped.
        unsafe { AtomicU64::from_ptr(&raw mut (*header).taken_bytes) }
            .store(taken, Ordering::Release);
    }
}

/// Makes sure that this many bytes are allocated. Near a limit or a full disk, what is needed is
/// better than nothing.
fn grow(file: &OwnFile, spool: &mut Spool, needed: u64) -> Result<(), Errno> {
    if needed <= spool.allocated {
        return Ok(());
    }
    let ahead = spool.allocated.clamp(GRAIN_BYTES, GROWTH_BYTES_MAX);
    for end in [needed.max(spool.allocated + ahead), needed] {
        let from = HEADER_BYTES as u64 + spool.allocated;
        let allocated = allocate(file, from, end - spool.allocated);
        if allocated.is_ok() || end == needed {
            allocated?;
            spool.allocated = end;
            break;
        }
    }
    Ok(())
}

/// Writes a chunk that holds nothing.
fn leave_out(file: &OwnFile, start: u64, span: u64) -> Result<(), Errno> {
    let header = ChunkHeader::new(ChunkKind::Rest, 0, 0, 0, span as u32);
    // SAFETY: plain bytes.
    let bytes = unsafe {
        core::slice::from_raw_parts(ptr::from_ref(&header).cast::<u8>(), CHUNK_HEADER_BYTES)
    };
    match rustix::io::pwrite(file, bytes, HEADER_BYTES as u64 + start) {
        Ok(CHUNK_HEADER_BYTES) => Ok(()),
        Ok(_) => Err(Errno::NOSPC),
        Err(error) => Err(error),
    }
}

/// Cuts off the file what its last chunks do not need, and seals these. Later chunks are allocated
/// again.
///
/// # Safety
/// Nobody uses the writers but the caller: they are its own, or their threads are gone.
pub unsafe fn trim(process: &Process, held: &Held<'_>, writers: &[*mut Writer]) {
    // SAFETY: the lock is held.
    let spool = unsafe { &mut *process.spool.get() };
    loop {
        let last = writers.iter().find_map(|writer| {
            // SAFETY: as the caller says.
            let writer = unsafe { &mut **writer };
            let extent = writer.extent()?;
            (extent.end == spool.taken).then_some((writer, extent))
        });
        let Some((writer, extent)) = last else { break };
        spool.taken = extent.needed_end;
        // First the file's new end, then the chunk's: in between, the chunk is as valid.
        publish(process, held);
        let span = extent.needed_end - extent.start;
        if span > 0 {
            writer.seal(Some(span as usize));
            break;
        }
        writer.forget();
    }
    if spool.taken < spool.allocated
        && !config::is_sandboxed()
        && let Ok(file) = spool.open(OFlags::RDWR)
        && rustix::fs::ftruncate(&file, HEADER_BYTES as u64 + spool.taken).is_ok()
    {
        spool.allocated = spool.taken;
    }
}

/// Maps a part of the file, which a forked child does not get.
pub fn map(file: &OwnFile, from: u64, length: usize, flags: MapFlags) -> Result<*mut u8, Errno> {
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice, of bytes that are allocated.
    unsafe {
        let start =
            mmap(ptr::null_mut(), length, protection, MapFlags::SHARED | flags, file, from)?;
        // A child that wrote here would write into its parent's recording.
        let _ = madvise(start, length, Advice::LinuxDontFork);
        Ok(start.cast())
    }
}

/// Moves the file's latest moment on; gives the ticks when that is due again.
pub fn move_clock(process: &Process, now: u64) -> u64 {
    let Some(header) = process.header() else { return u64::MAX };
    // SAFETY: the page stays mapped. Two threads that write at once leave moments that are a
    // microsecond apart at worst.
    let passed = unsafe {
        (&raw mut (*header).latest).write_volatile(clock::anchor());
        now.saturating_sub((*header).identity.start.ticks)
    };
    now.wrapping_add(passed.clamp(FIRST_ANCHOR_TICKS, LAST_ANCHOR_TICKS))
}

/// Says how the file ended.
pub fn set_state(process: &Process, state: State) {
    if let Some(header) = process.header() {
        // SAFETY: the page stays mapped.
        unsafe { AtomicU32::from_ptr(&raw mut (*header).state) }
            .store(state as u32, Ordering::Release);
    }
}

/// Gives up because the file cannot grow: the event is lost and, unless it was for want of a descriptor, so are
/// all later ones.
#[cold]
pub fn give_up(process: &Process, error: Errno) {
    if matches!(error, Errno::MFILE | Errno::NFILE | Errno::INTR) {
        return process.lose(Loss::NoFile);
    }
    process.lose(Loss::NoSpace);
    if !process.is_recording() {
        return;
    }
    process.stop();
    if let Some(header) = process.header() {
        // SAFETY: the page stays mapped.
        unsafe { AtomicU32::from_ptr(&raw mut (*header).stop_errno) }
            .store(error.raw_os_error() as u32, Ordering::Relaxed);
    }
    set_state(process, State::Stopped);
}
