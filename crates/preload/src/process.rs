//! What belongs to one process: its file, chunks, names and descriptors, all in one region that
//! the kernel wipes in a forked child. Zeros are a process that has recorded nothing, so the
//! child begins anew with its first call, whichever way it was forked.
//!
//! The tables are one structure because they are wiped as one; each is in a file of its own, whose functions find it
//! through [`current`]. That is why this file and theirs use each other: `chunk`, `definitions`, `descriptors`, `files`,
//! `lock`, `paths`, `spool` and `thread`; so do `own_stack`, on which the file is made, and `path_room`, where the thread says which room.

use core::cell::UnsafeCell;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use plimsoll_trace::Unseen;
use plimsoll_trace::layout::{FileHeader, HEADER_BYTES, Loss};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use crate::chunk::{SLOTS, ThreadSlot, Writer};
use crate::descriptors::Descriptors;
use crate::files::Names;
use crate::hot::HOT;
use crate::lock::{Held, Lock};
use crate::mappings::Mappings;
use crate::own_stack::on_own_stack;
use crate::paths::WorkingDirectory;
use crate::spool::{self, Spool};
use crate::thread::{Busy, Serving};
use crate::transfers::Transfers;

/// Everything of one process. Zeros are valid everywhere.
#[repr(C)]
pub struct Process {
    /// Guards what is marked so below.
    pub lock: Lock,
    /// A [`Phase`].
    phase: AtomicU32,
    /// The first page of its file; null before there is one.
    header: AtomicPtr<FileHeader>,
    /// Its file. Guarded by `lock`.
    pub spool: UnsafeCell<Spool>,
    /// Where definitions go. Guarded by `lock`.
    pub definitions: UnsafeCell<Writer>,
    /// The directory that relative names count from. Guarded by `lock`.
    pub directory: UnsafeCell<WorkingDirectory>,
    /// Where the threads' events go.
    pub slots: [ThreadSlot; SLOTS],
    /// Where events go of the threads that found no slot.
    pub shared: ThreadSlot,
    /// Guards `shared`.
    pub shared_lock: Lock,
    /// Open files.
    pub descriptors: Descriptors,
    /// Names that have a number.
    pub names: Names,
    /// Mappings of files.
    pub mappings: Mappings,
    /// Asynchronous transfers in flight.
    pub transfers: Transfers,
    /// A bit for each [`Unseen`] that was said already.
    gaps: AtomicU64,
}

// SAFETY: cells are used under the lock or, in slots, by the thread that owns the slot.
unsafe impl Sync for Process {}

/// How far a process is.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Phase {
    Fresh = 0,
    Recording = 1,
    /// No file could be created, or it cannot grow.
    Stopped = 2,
}

/// Makes the region. False when this system cannot wipe it in forked children: then nothing
/// may be recorded, because a child would write into its parent's chunks.
pub fn init() -> bool {
    let length = size_of::<Process>();
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: a new mapping at an address of the kernel's choice.
    let Ok(region) = (unsafe { mmap_anonymous(ptr::null_mut(), length, protection, flags) }) else {
        return false;
    };
    // SAFETY: advice about our own new mapping. Huge pages would make a megabyte of a few bytes.
    unsafe {
        let _ = madvise(region, length, Advice::LinuxNoHugepage);
        if madvise(region, length, Advice::LinuxWipeOnFork).is_err() {
            let _ = munmap(region, length);
            return false;
        }
    }
    HOT.region.store(region, Ordering::Release);
    true
}

/// Returns the process, whether it has recorded anything or not. `None` when recording is off.
#[inline(always)]
pub fn current() -> Option<&'static Process> {
    let region = HOT.region.load(Ordering::Relaxed).cast::<Process>();
    // SAFETY: null or the region, which is never unmapped and valid with any contents that we
    // or the kernel's wiping give it.
    unsafe { region.as_ref() }
}

/// Returns the process with its file, which is created when there is none yet. `None` when it cannot
/// record; the caller counts the loss.
pub fn recording(busy: &Busy) -> Option<&'static Process> {
    let process = current()?;
    match process.phase.load(Ordering::Acquire) {
        phase if phase == Phase::Recording as u32 => Some(process),
        phase if phase == Phase::Fresh as u32 => {
            let held = process.lock.hold(busy);
            process.start(busy, &held)
        }
        _ => None,
    }
}

impl Process {
    /// Creates its file, once. On its own: whoever finds it there needs none of its stack.
    #[cold]
    #[inline(never)]
    fn start(&'static self, busy: &Busy, held: &Held<'_>) -> Option<&'static Process> {
        if self.phase.load(Ordering::Relaxed) == Phase::Fresh as u32 {
            let create = || spool::create(self, busy, held);
            let created = match Serving::begin() {
                // SAFETY: nothing in it unwinds.
                Some(serving) => unsafe { on_own_stack(&serving, create) },
                // A backend works on such a stack already.
                None => create(),
            };
            let phase = match created {
                Ok(()) => Phase::Recording,
                // There may be a descriptor by the next call.
                Err(Errno::MFILE | Errno::NFILE | Errno::INTR) => return None,
                Err(_) => Phase::Stopped,
            };
            self.phase.store(phase as u32, Ordering::Release);
        }
        (self.phase.load(Ordering::Relaxed) == Phase::Recording as u32).then_some(self)
    }

    /// Returns true when it has a file that grows.
    pub fn is_recording(&self) -> bool {
        self.phase.load(Ordering::Acquire) == Phase::Recording as u32
    }

    /// Records no more.
    pub fn stop(&self) {
        self.phase.store(Phase::Stopped as u32, Ordering::Release);
    }

    /// Returns the first page of its file.
    #[inline]
    pub fn header(&self) -> Option<*mut FileHeader> {
        let header = self.header.load(Ordering::Acquire);
        (!header.is_null()).then_some(header)
    }

    /// Says where the first page is mapped.
    pub fn set_header(&self, header: *mut FileHeader) {
        self.header.store(header, Ordering::Release);
    }

    /// Returns true when the address is in a mapping of its file.
    pub fn has_mapped(&self, address: usize) -> bool {
        let nearest = NEAREST_HEADER.load(Ordering::Acquire);
        let is_in_first_page = |header: *mut FileHeader| {
            let start = header as usize;
            start != 0 && (start..start + HEADER_BYTES).contains(&address)
        };
        let slots = self.slots.iter().chain(core::iter::once(&self.shared));
        let mut writers =
            slots.map(|slot| slot.writer.get()).chain(core::iter::once(self.definitions.get()));
        is_in_first_page(self.header.load(Ordering::Acquire))
            || is_in_first_page(nearest)
            // SAFETY: they are of this region.
            || writers.any(|writer| unsafe { Writer::has_mapped(writer, address) })
    }

    /// Returns true when a reason was not said before.
    pub fn is_first_gap(&self, reason: Unseen) -> bool {
        let bit = 1 << (reason as u8 % 64);
        self.gaps.fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    /// Counts an event that is not in the file.
    pub fn lose(&self, why: Loss) {
        let Some(header) = self.header() else { return };
        // SAFETY: the page stays mapped; the index is one of the array's.
        let counter = unsafe { &raw mut (*header).lost }.cast::<u64>().wrapping_add(why as usize);
        // SAFETY: as above, and nobody uses it but atomically.
        unsafe { AtomicU64::from_ptr(counter) }.fetch_add(1, Ordering::Relaxed);
    }
}

/// The first page of the file of this process or, as long as it has none, of the nearest process
/// that forked it and has one. A forked child inherits the mapping of this page and of no other.
static NEAREST_HEADER: AtomicPtr<FileHeader> = AtomicPtr::new(ptr::null_mut());

/// Notes that this process has a file, whose first page is the nearest for what it forks.
pub fn set_nearest_header(header: *mut FileHeader) {
    let old = NEAREST_HEADER.swap(header, Ordering::AcqRel);
    if !old.is_null() {
        // SAFETY: the mapping of an ancestor's page, which nobody uses any more.
        let _ = unsafe { munmap(old.cast(), HEADER_BYTES) };
    }
}

/// Tells in the file of the process that forked this one that it cannot create a file. Not when it may
/// be able to later.
pub fn tell_ancestor(error: Errno) {
    let header = NEAREST_HEADER.load(Ordering::Acquire);
    if header.is_null() || matches!(error, Errno::MFILE | Errno::NFILE | Errno::INTR) {
        return;
    }
    // SAFETY: the page stays mapped; both fields are aligned words, used atomically only.
    unsafe {
        AtomicU32::from_ptr(&raw mut (*header).unrecorded_children).fetch_add(1, Ordering::Relaxed);
        AtomicU32::from_ptr(&raw mut (*header).unrecorded_errno)
            .store(error.raw_os_error() as u32, Ordering::Relaxed);
    }
}

/// Counts an event that is not in the file, if there is one.
#[cold]
#[inline(never)]
pub fn lose(why: Loss) {
    if let Some(process) = current() {
        process.lose(why);
    }
}
