//! A look at what the writers of a node share by memory that is mapped, which needs no system call.

use std::fs::File;
use std::os::fd::AsFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::fstat;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::state::{LINE_BYTES, LOGS_AT, PUBLICATIONS};
use crate::word::PAGE_BYTES;

/// The page for all, and the first one with lines of logs.
const BYTES: usize = 2 * PAGE_BYTES as usize;

/// So many logs have their lines there: with more, one asks the kernel.
const LOGS: usize = PAGE_BYTES as usize / LINE_BYTES;

/// The beginning of a state in memory, to be read.
#[derive(Debug)]
pub struct Glance {
    memory: NonNull<u8>,
    /// How many logs were listed when somebody looked last.
    logs: u64,
}

// SAFETY: the memory is shared between processes anyway; it is read by atomic operations only.
unsafe impl Send for Glance {}
// SAFETY: as above.
unsafe impl Sync for Glance {}

impl Glance {
    /// Maps a state; `None` where that cannot be, or while no log has a line in it.
    pub fn of(state: &File) -> Option<Self> {
        fstat(state).ok().filter(|it| it.st_size >= BYTES as i64)?;
        let (nowhere, flags) = (ptr::null_mut(), MapFlags::SHARED);
        // SAFETY: a new mapping at an address that the kernel chooses.
        let memory = unsafe { mmap(nowhere, BYTES, ProtFlags::READ, flags, state.as_fd(), 0) };
        Some(Glance { memory: NonNull::new(memory.ok()?.cast())?, logs: u64::MAX })
    }

    /// Returns where it is, and how long.
    pub fn place(&self) -> (usize, usize) {
        (self.memory.as_ptr().addr(), BYTES)
    }

    /// Notes how many logs are listed, before somebody looks at all of them.
    pub fn note_logs(&mut self) {
        self.logs = self.word(LOGS_AT);
    }

    /// Returns whether so much was published in each log that is listed, and no log has come since.
    pub fn shows(&self, counts: &[u64]) -> bool {
        let logs = self.word(LOGS_AT);
        if logs != self.logs || logs as usize > LOGS.min(counts.len()) {
            return false;
        }
        let line = |log: usize| PAGE_BYTES as usize + log * LINE_BYTES + PUBLICATIONS;
        counts.iter().take(logs as usize).enumerate().all(|(log, it)| self.word(line(log)) == *it)
    }

    fn word(&self, at: usize) -> u64 {
        assert!(at.is_multiple_of(8) && at < BYTES);
        // SAFETY: inside of the mapping, which lives as long as this value, aligned, and used by atomic operations only.
        let word = unsafe { AtomicU64::from_ptr(self.memory.as_ptr().add(at).cast()) };
        word.load(Ordering::Acquire)
    }
}

impl Drop for Glance {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, and nothing refers to it any more.
        let _ = unsafe { munmap(self.memory.as_ptr().cast(), BYTES) };
    }
}
