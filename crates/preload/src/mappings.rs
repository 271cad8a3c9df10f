//! Mappings of files that the program made, so that unmapping and syncing them can be told from
//! the many mappings that are memory only.

use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Mappings that are remembered; more are not recorded when they are unmapped.
const MAPPINGS: usize = 1024;

/// The table, searched by address from the place that it hashes to.
#[repr(C)]
pub struct Mappings {
    mappings: [MappingEntry; MAPPINGS],
    /// How many there are, so that programs without any pay nothing.
    used: AtomicUsize,
}

#[repr(C)]
struct MappingEntry {
    /// The address; 0 when free.
    start: AtomicUsize,
    length: AtomicUsize,
    file: AtomicU32,
}

/// How many places are tried.
const TRIES: usize = 64;

impl Mappings {
    /// Adds a file that was mapped.
    pub fn add(&self, start: usize, length: usize, file: u32) {
        for mapping in self.places(start) {
            let is_free = mapping
                .start
                .compare_exchange(0, start, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok_and(|_| true);
            if is_free || mapping.start.load(Ordering::Relaxed) == start {
                mapping.length.store(length, Ordering::Relaxed);
                mapping.file.store(file, Ordering::Relaxed);
                if is_free {
                    self.used.fetch_add(1, Ordering::Relaxed);
                }
                return;
            }
        }
    }

    /// Returns the file that is mapped at this address.
    pub fn find(&self, start: usize) -> Option<u32> {
        if self.used.load(Ordering::Relaxed) == 0 {
            return None;
        }
        self.places(start)
            .find(|mapping| mapping.start.load(Ordering::Acquire) == start)
            .map(|mapping| mapping.file.load(Ordering::Relaxed))
    }

    /// Removes a mapping that is gone.
    pub fn remove(&self, start: usize) {
        let found =
            self.places(start).find(|mapping| mapping.start.load(Ordering::Acquire) == start);
        if let Some(mapping) = found {
            mapping.start.store(0, Ordering::Release);
            self.used.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn places(&self, start: usize) -> impl Iterator<Item = &MappingEntry> {
        let first = (start >> 12).wrapping_mul(0x9e37_79b9) >> 8;
        (0..TRIES).filter_map(move |step| self.mappings.get(first.wrapping_add(step) % MAPPINGS))
    }
}
