//! A slot page as its writer has it: words are stored into a mapping, or written one after the other.

use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};

use crate::log::Log;
use crate::word::{PAGE_BYTES, PAGE_WORDS};

/// Bytes of a log that are mapped with the second slot page of a segment, which small records have: further ones follow soon, and a
/// mapping for each took a sixteenth of the time of writing 256 bytes.
const WINDOW_BYTES: u64 = 1 << 20;

/// The slot page that a writer fills. The page must have been written before, as zeros or with a header: a hole in a mapping
/// would end the program on a full disk (SIGBUS).
pub struct SlotPage {
    /// Where it begins in the log.
    position: u64,
    /// `None` where words are written by system calls.
    window: Option<Arc<Window>>,
}

/// A part of a log that is mapped.
struct Window {
    /// Where it begins in the log.
    begin: u64,
    length: u64,
    memory: NonNull<u8>,
}

// SAFETY: the mapping belongs to this value alone, and is used by atomic operations only.
unsafe impl Send for Window {}
// SAFETY: as above.
unsafe impl Sync for Window {}

impl SlotPage {
    /// Opens the page at this position of a log.
    ///
    /// # Errors
    /// If it cannot be mapped.
    pub fn open(log: &Log, position: u64) -> Result<Self, Errno> {
        let window = match log.is_mapped_well() {
            true => Some(Arc::new(Window::map(log, position, PAGE_BYTES)?)),
            false => None,
        };
        Ok(SlotPage { position, window })
    }

    /// Opens a further page of the same segment, which ends there.
    ///
    /// # Errors
    /// If it cannot be mapped.
    pub fn further(&self, log: &Log, position: u64, end: u64) -> Result<Self, Errno> {
        let window = match &self.window {
            Some(window) if window.has_page(position) => Some(window.clone()),
            Some(_) => {
                let length = end.saturating_sub(position).clamp(PAGE_BYTES, WINDOW_BYTES);
                Some(Arc::new(Window::map(log, position, length)?))
            }
            None => None,
        };
        Ok(SlotPage { position, window })
    }

    /// Publishes these words at that place: readers who see the first one see all.
    ///
    /// # Errors
    /// If the log does not take them.
    pub fn put(&self, log: &Log, index: usize, words: &[u64]) -> Result<(), Errno> {
        assert!(index + words.len() <= PAGE_WORDS);
        let Some(window) = &self.window else {
            let bytes: Vec<u8> = words.iter().flat_map(|it| it.to_le_bytes()).collect();
            return log.write_all(&bytes, self.position + 8 * index as u64);
        };
        // SAFETY: the page is inside of the mapping.
        let page = unsafe { window.memory.as_ptr().add((self.position - window.begin) as usize) };
        for (place, word) in words.iter().enumerate().rev() {
            // SAFETY: inside of the page, whose mapping lives as long as this value, and aligned to eight bytes.
            let slot = unsafe { AtomicU64::from_ptr(page.cast::<u64>().add(index + place)) };
            slot.store(word.to_le(), Ordering::Release);
        }
        Ok(())
    }
}

impl Window {
    fn map(log: &Log, begin: u64, length: u64) -> Result<Self, Errno> {
        let (bytes, protection) = (length as usize, ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: a new mapping at an address that the kernel chooses.
        let memory = unsafe {
            mmap(std::ptr::null_mut(), bytes, protection, MapFlags::SHARED, log.as_fd(), begin)?
        };
        // Without this the kernel reads around the page, and small folios under the payload make writing it up to three
        // times slower.
        // SAFETY: the mapping was made just now, with this length.
        let _ = unsafe { madvise(memory, bytes, Advice::Random) };
        let memory = NonNull::new(memory.cast()).ok_or(Errno::NOMEM)?;
        Ok(Window { begin, length, memory })
    }

    fn has_page(&self, position: u64) -> bool {
        position >= self.begin && position + PAGE_BYTES <= self.begin + self.length
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, and nothing refers to it any more.
        let _ = unsafe { munmap(self.memory.as_ptr().cast(), self.length as usize) };
    }
}
