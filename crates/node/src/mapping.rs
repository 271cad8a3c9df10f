//! The shared words as memory of this process.

use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// Words of a file of this user's, mapped; what other processes store there is seen at once.
#[derive(Debug)]
pub struct Mapping {
    words: NonNull<AtomicU64>,
    count: usize,
}

// SAFETY: what is mapped is accessed by atomic operations only.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the first `count` words, which the file must hold, allocated.
    ///
    /// # Errors
    /// Fails if the system does.
    pub fn new(file: BorrowedFd<'_>, count: usize) -> rustix::io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping touches nothing that is there.
        let at =
            unsafe { mmap(std::ptr::null_mut(), count * 8, access, MapFlags::SHARED, file, 0)? };
        let words = NonNull::new(at.cast()).ok_or(rustix::io::Errno::NOMEM)?;
        Ok(Mapping { words, count })
    }

    /// Returns the words.
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: so many words are mapped for as long as this value lives, aligned to a page; every pattern of bits is a
        // number, and other processes change them by atomic operations. The file is allocated and of this user, who alone could cut it.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr(), self.count) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: nobody refers to the words any more.
        let _ = unsafe { munmap(self.words.as_ptr().cast(), self.count * 8) };
    }
}
