//! A word that processes share.

use std::sync::atomic::{AtomicU64, Ordering};

/// 64 bits that several processes read and write, each whole.
///
/// What a process wrote before a word is seen by whoever reads that word's new value.
pub trait Word {
    /// Returns what it is.
    fn get(&self) -> u64;
    /// Makes it something else.
    fn set(&self, value: u64);
    /// Makes it `new` if it is `known`. Returns whether it was.
    fn replace(&self, known: u64, new: u64) -> bool;
}

impl Word for AtomicU64 {
    #[inline]
    fn get(&self) -> u64 {
        self.load(Ordering::Acquire)
    }

    #[inline]
    fn set(&self, value: u64) {
        self.store(value, Ordering::Release);
    }

    #[inline]
    fn replace(&self, known: u64, new: u64) -> bool {
        self.compare_exchange(known, new, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}
