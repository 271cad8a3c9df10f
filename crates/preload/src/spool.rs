//! The process's file: created with its first call, grown block by block, never held open.
//!
//! Blocks are allocated before they are mapped. A write to a mapped page that the file system
//! cannot store would be SIGBUS, and growing beyond RLIMIT_FSIZE SIGXFSZ: both would kill the
//! program. No descriptor stays open, because programs close all that they do not know.

use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};

use plimsoll_trace::layout::{
    BLOCK_BYTES, ChunkKind, FILE_MAGIC, FORMAT_VERSION, FileHeader, HEADER_BYTES, Loss, State,
    identity_checksum, put_text,
};
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, FallocateFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap};
use rustix::process::{Resource, getrlimit};

use crate::lock::Held;
use crate::process::Process;
use crate::text::Text;
use crate::thread::Busy;
use crate::{chunk, clock, config, setting, sys};

/// Blocks that are allocated at once, after the first.
const EXTENT_BLOCKS: u32 = 4;

/// Of the first block, so much is for definitions, so that a small process needs one block only.
const FIRST_DEFINITIONS_BYTES: usize = 16 << 10;

/// Anchors are moved on at first after so many ticks, then more and more rarely: a killed
/// process's clock rate is known well soon, and a long run pays nothing.
const FIRST_ANCHOR_TICKS: u64 = 1 << 20;
const LAST_ANCHOR_TICKS: u64 = 1 << 31;

/// The file. Zeros are none.
#[repr(C)]
pub struct Spool {
    /// Where it is.
    pub path: Text<1280>,
    /// Where its name begins in the path.
    pub name_at: usize,
    /// The process.
    pub pid: u32,
    allocated: u32,
    taken: u32,
    sequence: u32,
}

impl Spool {
    /// Counts chunks. One count for all threads: numbers of threads are used again.
    pub fn next_sequence(&mut self) -> u32 {
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(1);
        sequence
    }
}

/// A block that was mapped for one writer.
pub struct Block {
    /// Its first byte.
    pub start: *mut u8,
    /// The mapping, which begins earlier where pages are larger than the file's header.
    pub map_start: *mut u8,
    /// Bytes of the mapping.
    pub map_length: usize,
}

/// The calling thread's number.
pub fn thread_id() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}

/// Creates the file with its first block, and the calling thread's slot in it.
pub fn create(process: &'static Process, busy: &Busy, _held: &Held<'_>) -> Result<(), Errno> {
    // SAFETY: the lock is held.
    let spool = unsafe { &mut *process.spool.get() };
    let now = clock::anchor();
    let names = rustix::system::uname();
    let host = names.nodename().to_bytes();
    spool.pid = rustix::process::getpid().as_raw_nonzero().get() as u32;
    spool.path.set(config::get().spool.as_bytes());
    spool.path.push(b"/");
    spool.name_at = spool.path.as_bytes().len();
    spool.path.push(host);
    spool.path.push(b"-");
    spool.path.push_number(u64::from(spool.pid), 10);
    spool.path.push(b"-");
    spool.path.push_number(now.realtime_ns, 16);
    spool.path.push(b".rec");

    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    // Under another name until it can be read: a process that is killed now leaves no riddle.
    let mut new = Text::<1280>::new();
    new.push(spool.path.as_bytes());
    new.push(b".new");
    let path = new.as_c_str();
    let file = rustix::fs::openat(CWD, path, flags, Mode::from_raw_mode(0o644))?;
    let length = HEADER_BYTES + BLOCK_BYTES;
    let mapped = match allocate(&file, 0, length as u64) {
        Ok(()) => map(&file, 0, length, MapFlags::empty()),
        Err(error) => Err(error),
    };
    let start_of_file = match mapped {
        Ok(start_of_file) => start_of_file,
        Err(error) => {
            let _ = rustix::fs::unlinkat(CWD, path, rustix::fs::AtFlags::empty());
            return Err(error);
        }
    };
    let header = start_of_file.cast::<FileHeader>();
    // SAFETY: freshly mapped, all zeros, and nobody else knows of it.
    unsafe { describe(&mut *header, spool.pid, host, now) };
    spool.allocated = 1;
    spool.taken = 1;
    process.set_header(header);

    let block = start_of_file.wrapping_add(HEADER_BYTES);
    let events = block.wrapping_add(FIRST_DEFINITIONS_BYTES);
    let events_bytes = BLOCK_BYTES - FIRST_DEFINITIONS_BYTES;
    let thread = thread_id();
    let sequences = (spool.next_sequence(), spool.next_sequence());
    // SAFETY: the lock is held, and the first slot is free in a process that has no file. The
    // chunk behind goes first: a reader follows the spans from the block's beginning.
    unsafe {
        let Some(slot) = process.slots.first() else { return Err(Errno::NOMEM) };
        let writer = &mut *slot.writer.get();
        writer.begin(events, events_bytes, ChunkKind::Events, thread, sequences.1);
        let definitions = &mut *process.definitions.get();
        definitions.begin(block, FIRST_DEFINITIONS_BYTES, ChunkKind::Definitions, 0, sequences.0);
        // The parts of the mapping can be given back apart only where pages are small.
        if rustix::param::page_size() <= HEADER_BYTES {
            writer.set_mapping(events, events_bytes);
            definitions.set_mapping(block, FIRST_DEFINITIONS_BYTES);
        }
        rustix::fs::renameat(CWD, path, CWD, spool.path.as_c_str())?;
        let slot = chunk::claim(slot, thread);
        (*busy.thread()).slot = slot;
        (*busy.thread()).key = (*slot).key;
        writer.anchor_due = now.ticks.wrapping_add(FIRST_ANCHOR_TICKS);
    }
    Ok(())
}

fn describe(header: &mut FileHeader, pid: u32, host: &[u8], now: plimsoll_trace::layout::Anchor) {
    let identity = &mut header.identity;
    identity.magic = FILE_MAGIC;
    identity.version = FORMAT_VERSION;
    identity.block_bytes = BLOCK_BYTES as u32;
    identity.clock = clock::source();
    identity.pid = pid;
    identity.parent_pid =
        rustix::process::getppid().map_or(0, |parent| parent.as_raw_nonzero().get() as u32);
    // Not now: the first recorded call has ended already.
    identity.start = config::get().loaded;
    let mut boot = [0u8; 40];
    let boot = sys::read_file(c"/proc/sys/kernel/random/boot_id", &mut boot);
    let digits = boot.iter().filter_map(|byte| (*byte as char).to_digit(16));
    for (index, digit) in digits.take(32).enumerate() {
        if let Some(byte) = identity.boot_id.get_mut(index / 2) {
            *byte = *byte << 4 | digit as u8;
        }
    }
    put_text(&mut identity.host, host);
    put_text(&mut identity.job, config::get().job.as_bytes());
    let mut link = Text::<1024>::new();
    link.push_link(c"/proc/self/exe");
    put_text(&mut identity.program, link.as_bytes());
    sys::read_file(c"/proc/self/cmdline", &mut identity.arguments);
    link.truncate(0);
    link.push_link(c"/proc/self/cwd");
    put_text(&mut identity.directory, link.as_bytes());
    header.identity_crc = identity_checksum(&header.identity);
    header.rank = -1;
    header.blocks = 1;
    header.latest = now;
    setting::describe(&mut header.setting, &now);
}

/// Maps the next block, after growing the file if need be; the whole of it is expected to be
/// used soon, or not.
pub fn take_block(process: &Process, _held: &Held<'_>, whole: bool) -> Result<Block, Errno> {
    // SAFETY: the lock is held.
    let spool = unsafe { &mut *process.spool.get() };
    if !process.is_recording() {
        return Err(Errno::NOSPC);
    }
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = rustix::fs::openat(CWD, spool.path.as_c_str(), flags, Mode::empty())?;
    if spool.taken == spool.allocated {
        let blocks = EXTENT_BLOCKS;
        // Near a limit or a full disk, one block is better than none.
        let grown = match allocate(&file, position(spool.allocated), position_bytes(blocks)) {
            Ok(()) => blocks,
            Err(_) => {
                allocate(&file, position(spool.allocated), position_bytes(1))?;
                1
            }
        };
        spool.allocated += grown;
        if let Some(header) = process.header() {
            // SAFETY: the page stays mapped.
            unsafe { AtomicU32::from_ptr(&raw mut (*header).blocks) }
                .store(spool.allocated, Ordering::Release);
        }
    }
    let wanted = position(spool.taken);
    let page = rustix::param::page_size() as u64;
    let from = wanted - wanted % page;
    let before = (wanted - from) as usize;
    let populate = if whole { MapFlags::POPULATE } else { MapFlags::empty() };
    let map_start = map(&file, from, before + BLOCK_BYTES, populate)?;
    spool.taken += 1;
    let start = map_start.wrapping_add(before);
    Ok(Block { start, map_start, map_length: before + BLOCK_BYTES })
}

/// Position of a block in the file.
fn position(block: u32) -> u64 {
    HEADER_BYTES as u64 + position_bytes(block)
}

fn position_bytes(blocks: u32) -> u64 {
    u64::from(blocks) * BLOCK_BYTES as u64
}

/// Cuts blocks off that were never taken. Later ones are allocated again.
pub fn trim(process: &Process, _held: &Held<'_>) {
    // SAFETY: the lock is held.
    let spool = unsafe { &mut *process.spool.get() };
    if spool.taken == spool.allocated {
        return;
    }
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    if let Ok(file) = rustix::fs::openat(CWD, spool.path.as_c_str(), flags, Mode::empty())
        && let Some(header) = process.header()
    {
        spool.allocated = spool.taken;
        // SAFETY: the page stays mapped.
        unsafe { AtomicU32::from_ptr(&raw mut (*header).blocks) }
            .store(spool.allocated, Ordering::Release);
        let _ = rustix::fs::ftruncate(&file, position(spool.taken));
    }
}

/// Makes sure that the file system has the room.
fn allocate(file: &OwnedFd, from: u64, length: u64) -> Result<(), Errno> {
    if getrlimit(Resource::Fsize).current.is_some_and(|limit| limit < from + length) {
        return Err(Errno::FBIG);
    }
    match rustix::fs::fallocate(file, FallocateFlags::empty(), from, length) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => fill(file, from, length),
        Err(Errno::INTR) => allocate(file, from, length),
        done => done,
    }
}

/// For file systems that cannot allocate: zeros.
fn fill(file: &OwnedFd, from: u64, length: u64) -> Result<(), Errno> {
    static ZEROS: [u8; 4096] = [0; 4096];
    let mut done = 0;
    while done < length {
        let room = (length - done).min(ZEROS.len() as u64) as usize;
        match rustix::io::pwrite(file, ZEROS.get(..room).unwrap_or(&[]), from + done) {
            Ok(0) => return Err(Errno::NOSPC),
            Ok(count) => done += count as u64,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Maps a part of the file, which a forked child does not get.
pub fn map(file: &OwnedFd, from: u64, length: usize, flags: MapFlags) -> Result<*mut u8, Errno> {
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

/// The file cannot grow: the event is lost and, unless it was for want of a descriptor, so are
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
