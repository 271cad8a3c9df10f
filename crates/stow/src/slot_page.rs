//! A slot page as its writer has it: words are stored into a mapping, or written one after the other.

use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};

use crate::log::Log;
use crate::word::{PAGE_BYTES, PAGE_WORDS};

/// The slot page that a writer fills. The page must have been written before, as zeros or with a header: a hole in a mapping
/// would end the program on a full disk (SIGBUS).
pub struct SlotPage {
    /// Where it begins in the log.
    position: u64,
    /// `None` where words are written by system calls.
    memory: Option<NonNull<u8>>,
}

// SAFETY: the mapping belongs to this value alone, and is used by atomic operations only.
unsafe impl Send for SlotPage {}

impl SlotPage {
    /// Opens the page at this position of a log.
    ///
    /// # Errors
    /// If it cannot be mapped.
    pub fn open(log: &Log, position: u64) -> Result<Self, Errno> {
        if !log.is_mapped_well() {
            return Ok(SlotPage { position, memory: None });
        }
        let (length, protection) = (PAGE_BYTES as usize, ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: a new mapping at an address that the kernel chooses.
        let memory = unsafe {
            mmap(std::ptr::null_mut(), length, protection, MapFlags::SHARED, log.as_fd(), position)?
        };
        // Without this the kernel reads around the page, and small folios under the payload make writing it up to three
        // times slower.
        // SAFETY: the mapping was made just now, with this length.
        let _ = unsafe { madvise(memory, length, Advice::Random) };
        Ok(SlotPage { position, memory: NonNull::new(memory.cast()) })
    }

    /// Publishes these words at that place: readers who see the first one see all.
    ///
    /// # Errors
    /// If the log does not take them.
    pub fn put(&self, log: &Log, index: usize, words: &[u64]) -> Result<(), Errno> {
        assert!(index + words.len() <= PAGE_WORDS);
        let Some(memory) = self.memory else {
            let bytes: Vec<u8> = words.iter().flat_map(|it| it.to_le_bytes()).collect();
            return log.write_all(&bytes, self.position + 8 * index as u64);
        };
        for (place, word) in words.iter().enumerate().rev() {
            // SAFETY: inside of the mapping, which lives as long as this value, and aligned to eight bytes.
            let slot =
                unsafe { AtomicU64::from_ptr(memory.as_ptr().cast::<u64>().add(index + place)) };
            slot.store(word.to_le(), Ordering::Release);
        }
        Ok(())
    }
}

impl Drop for SlotPage {
    fn drop(&mut self) {
        if let Some(memory) = self.memory {
            // SAFETY: the mapping is this value's, and nothing refers to it any more.
            let _ = unsafe { munmap(memory.as_ptr().cast(), PAGE_BYTES as usize) };
        }
    }
}
