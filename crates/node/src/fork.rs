//! Whether this is still the process that joined.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// A word that is 1, and 0 in a forked child.
#[derive(Debug)]
pub(crate) struct ForkMark {
    page: NonNull<AtomicU64>,
    bytes: usize,
}

// SAFETY: the page is this value's own and is accessed by atomic operations only.
unsafe impl Send for ForkMark {}

impl ForkMark {
    pub fn new() -> rustix::io::Result<Self> {
        let bytes = rustix::param::page_size();
        // SAFETY: a new mapping touches nothing that is there.
        let page = unsafe {
            let access = ProtFlags::READ | ProtFlags::WRITE;
            mmap_anonymous(std::ptr::null_mut(), bytes, access, MapFlags::PRIVATE)?
        };
        let mark =
            ForkMark { page: NonNull::new(page.cast()).ok_or(rustix::io::Errno::NOMEM)?, bytes };
        // SAFETY: the whole mapping is this value's own.
        unsafe { madvise(page, bytes, Advice::LinuxWipeOnFork)? };
        mark.word().store(1, Ordering::Relaxed);
        Ok(mark)
    }

    fn word(&self) -> &AtomicU64 {
        // SAFETY: the page is mapped and aligned for as long as this value lives, and zeros are a number.
        unsafe { self.page.as_ref() }
    }

    /// Returns whether this is a child of the process that made the mark.
    pub fn is_forked(&self) -> bool {
        self.word().load(Ordering::Relaxed) == 0
    }
}

impl Drop for ForkMark {
    fn drop(&mut self) {
        // SAFETY: nobody refers to the page any more.
        let _ = unsafe { munmap(self.page.as_ptr().cast(), self.bytes) };
    }
}
