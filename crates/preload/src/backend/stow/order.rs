//! In what order a descriptor is read. Threads that read at once may make it wrong, which costs time and nothing else.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The order in which a descriptor is read.
pub struct ReadOrder {
    /// Where the last read ended.
    next: AtomicU64,
    /// The version of what was read.
    version: AtomicU64,
    /// How many reads went on where the one before had ended, while nobody wrote.
    streak: AtomicU32,
}

impl ReadOrder {
    /// Returns that of a descriptor by which nothing was read.
    pub const fn new() -> Self {
        ReadOrder { next: AtomicU64::new(0), version: AtomicU64::new(0), streak: AtomicU32::new(0) }
    }

    /// Returns where the next read begins, if the descriptor is read in order.
    #[inline]
    pub fn next(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// Notes a read; returns how many went on before it, itself included.
    #[inline]
    pub fn note(&self, start: u64, end: u64, version: u64) -> u32 {
        let goes_on = self.next() == start && self.version.load(Ordering::Relaxed) == version;
        let streak =
            if goes_on { self.streak.load(Ordering::Relaxed).saturating_add(1) } else { 0 };
        self.next.store(end, Ordering::Relaxed);
        self.version.store(version, Ordering::Relaxed);
        self.streak.store(streak, Ordering::Relaxed);
        streak
    }

    /// Forgets what was read.
    pub fn begin_anew(&self) {
        self.next.store(0, Ordering::Relaxed);
        self.version.store(0, Ordering::Relaxed);
        self.streak.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_reads_that_go_on_while_nobody_writes_count() {
        let order = ReadOrder::new();
        let counts = [(0, 4, 1), (4, 8, 1), (8, 9, 1), (9, 12, 2), (12, 13, 2), (5, 13, 2)]
            .map(|(start, end, version)| order.note(start, end, version));
        assert_eq!((counts, order.next()), ([0, 1, 2, 0, 1, 0], 13));
        order.begin_anew();
        assert_eq!((order.note(0, 1, 2), order.next()), (0, 1));
    }
}
