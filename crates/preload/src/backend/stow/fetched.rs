//! Bytes of files that were read before they were asked for, so that small reads in order need no system call each.
//!
//! What is kept is that of one version of a view, and counts only while it is certain that nobody has written since. Who keeps or copies it has the room
//! alone; who finds it taken, as a signal handler does that interrupts its holder, anybody once a holder has never come back, or a child that was forked
//! while another thread had it, reads as if there were none.

use core::cell::UnsafeCell;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use plimsoll_stow::Reader;

use crate::thread::Serving;

/// Rooms of the process, a bit of `TAKEN` each.
const ROOMS: usize = 32;

/// Bytes of a room.
const BYTES: usize = 256 << 10;

/// Longer reads take so long that a system call for each does not matter.
pub const READ_BYTES_MAX: usize = 16 << 10;

/// From so many reads in order on, more is read than was asked for: as much as so many more of them would, and twice as much with each.
const STREAK: u32 = 2;

/// Which rooms belong to descriptors.
static TAKEN: AtomicU32 = AtomicU32::new(0);

static ALL: [FetchedRoom; ROOMS] = [const {
    FetchedRoom {
        is_held: AtomicBool::new(false),
        content: UnsafeCell::new(FetchedBytes { version: 0, range: 0..0, bytes: Vec::new() }),
    }
}; ROOMS];

struct FetchedRoom {
    is_held: AtomicBool,
    /// Used by who holds it.
    content: UnsafeCell<FetchedBytes>,
}

// SAFETY: the cell is used by who holds it.
unsafe impl Sync for FetchedRoom {}

/// Bytes of a file.
struct FetchedBytes {
    /// Of which version of a view; 0 if there are none.
    version: u64,
    /// Where they are in the file.
    range: Range<u64>,
    bytes: Vec<u8>,
}

impl FetchedRoom {
    /// Does something with what is kept; `None` where somebody else does.
    #[inline]
    fn with<R>(&self, work: impl FnOnce(&mut FetchedBytes) -> R) -> Option<R> {
        if self.is_held.load(Ordering::Relaxed) || self.is_held.swap(true, Ordering::Acquire) {
            return None;
        }
        // SAFETY: nobody else holds it.
        let result = work(unsafe { &mut *self.content.get() });
        self.is_held.store(false, Ordering::Release);
        Some(result)
    }
}

/// The room that a descriptor has: its number and one, or 0.
pub struct Room(AtomicU32);

impl Room {
    /// Returns that of a descriptor that has none.
    pub const fn none() -> Self {
        Room(AtomicU32::new(0))
    }

    fn kept(&self) -> Option<&'static FetchedRoom> {
        ALL.get(self.0.load(Ordering::Relaxed).checked_sub(1)? as usize)
    }

    /// Returns whether more is to be read than is asked for.
    #[inline]
    pub fn is_wanted(&self, length: usize, streak: u32) -> bool {
        let can_be = |kept: Option<&FetchedRoom>| match kept {
            Some(kept) => !kept.is_held.load(Ordering::Relaxed),
            None => TAKEN.load(Ordering::Relaxed) != u32::MAX,
        };
        streak >= STREAK && length <= READ_BYTES_MAX && can_be(self.kept())
    }

    /// Copies what is kept from an offset on; returns false if that is not all that is asked for.
    #[inline]
    pub fn copy(&self, version: u64, start: u64, to: &mut [u8]) -> bool {
        let Some(kept) = self.kept() else { return false };
        let copied = kept.with(|content| {
            let is_in = content.version == version && content.range.contains(&start);
            let begin = (start - content.range.start.min(start)) as usize;
            match content.bytes.get(begin..).and_then(|rest| rest.get(..to.len())) {
                Some(from) if is_in => to.copy_from_slice(from),
                _ => return false,
            }
            true
        });
        copied.unwrap_or(false)
    }

    /// Reads what small reads in order ask for next.
    pub fn fetch(
        &self,
        _serving: &Serving,
        (reader, version): (&Reader, u64),
        (start, length): (u64, usize),
        streak: u32,
    ) {
        let Some(kept) = self.kept().or_else(|| self.take()) else { return };
        kept.with(|content| {
            content.version = 0;
            let wanted = (length << (streak.min(16))).min(BYTES);
            if content.bytes.try_reserve_exact(wanted.saturating_sub(content.bytes.len())).is_err()
            {
                return;
            }
            content.bytes.resize(wanted, 0);
            if let Ok(count) = reader.read_at(&mut content.bytes, start) {
                content.bytes.truncate(count);
                (content.version, content.range) = (version, start..start + count as u64);
            }
        });
    }

    fn take(&self) -> Option<&'static FetchedRoom> {
        loop {
            let taken = TAKEN.load(Ordering::Relaxed);
            let number = taken.trailing_ones();
            let room = ALL.get(number as usize)?;
            let (now, order) = (taken | 1 << number, Ordering::Relaxed);
            if TAKEN.compare_exchange(taken, now, order, order).is_ok() {
                self.0.store(1 + number, order);
                return Some(room);
            }
        }
    }

    /// Lets other descriptors have the room.
    #[inline]
    pub fn give_back(&self) {
        if self.0.load(Ordering::Relaxed) != 0
            && let Some(number) = self.0.swap(0, Ordering::Relaxed).checked_sub(1)
        {
            TAKEN.fetch_and(!(1 << number), Ordering::Relaxed);
        }
    }
}
