//! Which containers are read through the kernel's cache.
//!
//! Through it, each byte is copied once more when it is first read, and is in memory twice; past it, whoever reads small parts asks for each of
//! them, and whoever reads a file again has it copied again. How a program reads is only known once it does, so the first time goes past the
//! cache, and the next time knows better.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::place::Identity;

/// When containers are read through the kernel's cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Caching {
    /// When they are opened again after most of their bytes, or many small parts, were read, unless they are too large for memory.
    #[default]
    Again,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Parts that are smaller than this are read faster through the cache: by 32 KiB, both took about as long from the disk.
const SMALL_BYTES: u64 = 32 << 10;

/// So many of them are a habit.
const SMALL_PARTS: u64 = 64;

/// A file of which the cache would take more than this part of memory would push all else out, itself included.
const MEMORY_PART: u64 = 4;

/// Containers that are remembered. Then all are forgotten.
const REMEMBERED_MAX: usize = 4096;

/// What is known of the containers of a mount.
#[derive(Debug)]
pub struct Habits {
    caching: Caching,
    /// Before Linux 6.6, files that are read past the cache cannot be mapped shared.
    can_map: AtomicBool,
    memory_bytes: u64,
    worth_it: Mutex<HashSet<Identity>>,
}

impl Habits {
    /// Nothing is known yet, on a machine with so much memory.
    pub fn new(caching: Caching, memory_bytes: u64) -> Self {
        let (can_map, worth_it) = (AtomicBool::new(false), Mutex::default());
        Habits { caching, can_map, memory_bytes, worth_it }
    }

    /// The kernel maps files that are read past its cache.
    pub fn note_mapping(&self) {
        self.can_map.store(true, Ordering::Release);
    }

    /// Returns whether a container of this size is read through the cache.
    pub fn is_for_cache(&self, container: Identity, size: u64) -> bool {
        match self.caching {
            Caching::Always => true,
            Caching::Never => false,
            Caching::Again if !self.can_map.load(Ordering::Acquire) => true,
            Caching::Again if size > self.memory_bytes / MEMORY_PART => false,
            Caching::Again => self.known().contains(&container),
        }
    }

    /// Begins to watch how a container is read past the cache.
    pub fn watch(self: &Arc<Self>, container: Identity, size: u64) -> Reading {
        let (parts, bytes) = (AtomicU64::new(0), AtomicU64::new(0));
        Reading { habits: self.clone(), container, size, parts, bytes }
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashSet<Identity>> {
        self.worth_it.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a container is read.
#[derive(Debug)]
pub struct Reading {
    habits: Arc<Habits>,
    container: Identity,
    size: u64,
    parts: AtomicU64,
    bytes: AtomicU64,
}

impl Reading {
    /// Notes that a part was asked for.
    pub fn note(&self, part_bytes: usize) {
        let parts = self.parts.fetch_add(1, Ordering::Relaxed) + 1;
        let before = self.bytes.fetch_add(part_bytes as u64, Ordering::Relaxed);
        let bytes = before + part_bytes as u64;
        let is_small = |parts, bytes| parts >= SMALL_PARTS && bytes / parts < SMALL_BYTES;
        let half = self.size / 2;
        let is_news = before < half && bytes >= half
            || parts.is_multiple_of(SMALL_PARTS) && is_small(parts, bytes);
        if is_news {
            let mut known = self.habits.known();
            if known.len() >= REMEMBERED_MAX {
                known.clear();
            }
            known.insert(self.container);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;
    const FILE: Identity = (1, 2);

    fn habits(caching: Caching) -> Arc<Habits> {
        let habits = Arc::new(Habits::new(caching, 1024 * MIB));
        habits.note_mapping();
        habits
    }

    #[test]
    fn who_reads_again_or_in_small_parts_gets_the_cache_the_next_time() {
        for (parts, part, is_for_cache) in [
            (49, MIB, false),
            (50, MIB, true),
            (63, 4096, false),
            (64, 4096, true),
            (64, SMALL_BYTES, false),
        ] {
            let habits = habits(Caching::Again);
            assert!(!habits.is_for_cache(FILE, 100 * MIB));
            let reading = habits.watch(FILE, 100 * MIB);
            (0..parts).for_each(|_| reading.note(part as usize));
            assert_eq!(habits.is_for_cache(FILE, 100 * MIB), is_for_cache, "{parts} of {part}");
            assert!(!habits.is_for_cache((1, 3), 100 * MIB), "another one");
            assert!(!habits.is_for_cache(FILE, 300 * MIB), "it grew too large");
        }
    }

    #[test]
    fn what_was_said_counts_and_what_could_not_be_mapped_is_cached() {
        assert!(habits(Caching::Always).is_for_cache(FILE, u64::MAX));
        let never = habits(Caching::Never);
        never.watch(FILE, 0).note(1);
        assert!(!never.is_for_cache(FILE, 1));
        assert!(Habits::new(Caching::Again, MIB).is_for_cache(FILE, 1), "an older kernel");
    }

    #[test]
    fn memory_is_bounded() {
        let habits = habits(Caching::Again);
        for number in 0..3 * REMEMBERED_MAX as u64 {
            let reading = habits.watch((1, number), MIB);
            reading.note(MIB as usize);
        }
        assert!(habits.known().len() <= REMEMBERED_MAX);
    }
}
