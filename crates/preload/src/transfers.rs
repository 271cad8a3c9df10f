//! Asynchronous transfers that have begun and whose end the program has not asked for yet, by the
//! address of what describes them to the kernel or the C library.

use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use plimsoll_trace::Op;

/// Transfers that can be in flight at once; more are counted as lost.
const TRANSFERS: usize = 4096;

/// How many places are tried.
const TRIES: usize = 128;

/// Marks a place that is being filled. Nothing lies at this address.
const RESERVED: usize = 1;

/// The table, searched by address from the place that it hashes to. Zeros are empty.
#[repr(C)]
pub struct Transfers {
    places: [TransferEntry; TRANSFERS],
    /// How many there are, so that programs without any pay nothing.
    used: AtomicUsize,
}

#[repr(C)]
struct TransferEntry {
    /// The address; 0 when free. Written last.
    key: AtomicUsize,
    start: AtomicU64,
    /// When it was first seen to be complete; 0 before.
    end: AtomicU64,
    offset: AtomicU64,
    length: AtomicU64,
    file: AtomicU32,
    op: AtomicU8,
}

/// A transfer.
#[derive(Clone, Copy)]
pub struct Transfer {
    /// What it does.
    pub op: Op,
    /// The file's number.
    pub file: u32,
    /// Where; all ones if that is not known.
    pub offset: u64,
    /// Bytes asked for.
    pub length: u64,
    /// When it began, in ticks.
    pub start: u64,
    /// When it was first seen to be complete, in ticks; 0 if it was not.
    pub end: u64,
}

impl Transfers {
    /// Adds a transfer that begins. Returns false when there is no room for it.
    pub fn add(&self, key: usize, transfer: &Transfer) -> bool {
        let is_known = self.find(key);
        let free = is_known.or_else(|| {
            self.places(key).find(|place| {
                place.key.compare_exchange(0, RESERVED, Ordering::AcqRel, Ordering::Relaxed).is_ok()
            })
        });
        let Some(place) = free else { return false };
        place.start.store(transfer.start, Ordering::Relaxed);
        place.end.store(transfer.end, Ordering::Relaxed);
        place.offset.store(transfer.offset, Ordering::Relaxed);
        place.length.store(transfer.length, Ordering::Relaxed);
        place.file.store(transfer.file, Ordering::Relaxed);
        place.op.store(transfer.op as u8, Ordering::Relaxed);
        if is_known.is_none() {
            self.used.fetch_add(1, Ordering::Relaxed);
        }
        place.key.store(key, Ordering::Release);
        true
    }

    /// Notes that a transfer was seen to be complete.
    pub fn complete(&self, key: usize, now: u64) {
        if let Some(place) = self.find(key) {
            let _ = place.end.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Takes a transfer out. `None` when it is not here.
    pub fn take(&self, key: usize) -> Option<Transfer> {
        let place = self.find(key)?;
        let transfer = Transfer {
            op: Op::from_number(place.op.load(Ordering::Relaxed))?,
            file: place.file.load(Ordering::Relaxed),
            offset: place.offset.load(Ordering::Relaxed),
            length: place.length.load(Ordering::Relaxed),
            start: place.start.load(Ordering::Relaxed),
            end: place.end.load(Ordering::Relaxed),
        };
        // Whoever is faster has it.
        place.key.compare_exchange(key, 0, Ordering::AcqRel, Ordering::Relaxed).ok()?;
        self.used.fetch_sub(1, Ordering::Relaxed);
        Some(transfer)
    }

    /// Takes all out. Returns how many there were.
    pub fn take_all(&self) -> usize {
        if self.used.load(Ordering::Relaxed) == 0 {
            return 0;
        }
        let keys = self.places.iter().map(|place| place.key.load(Ordering::Acquire));
        keys.filter(|key| *key > RESERVED && self.take(*key).is_some()).count()
    }

    fn find(&self, key: usize) -> Option<&TransferEntry> {
        if self.used.load(Ordering::Relaxed) == 0 || key <= RESERVED {
            return None;
        }
        self.places(key).find(|place| place.key.load(Ordering::Acquire) == key)
    }

    fn places(&self, key: usize) -> impl Iterator<Item = &TransferEntry> {
        let first = (key >> 4).wrapping_mul(0x9e37_79b9) >> 8;
        (0..TRIES).filter_map(move |step| self.places.get(first.wrapping_add(step) % TRANSFERS))
    }
}
