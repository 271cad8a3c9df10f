//! A page of a file that processes share as memory.

use std::fs::File;
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use rustix::fs::{FallocateFlags, SeekFrom, fallocate, seek};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::word::PAGE_BYTES;

/// A page of the file in memory.
pub struct SharedPage(NonNull<u8>);

// SAFETY: the memory is shared between processes anyway; it is used by atomic operations only.
unsafe impl Send for SharedPage {}
// SAFETY: as above.
unsafe impl Sync for SharedPage {}

impl SharedPage {
    /// Maps the page at this position, which must be in the file.
    ///
    /// # Errors
    /// If the system refuses, or has no room for it: a copy of a file may have a hole there.
    pub fn map(file: &File, position: u64) -> Result<Self, Errno> {
        require_room(file, position)?;
        let (length, protection) = (PAGE_BYTES as usize, ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: a new mapping at an address that the kernel chooses.
        let memory = unsafe {
            mmap(
                std::ptr::null_mut(),
                length,
                protection,
                MapFlags::SHARED,
                file.as_fd(),
                position,
            )?
        };
        NonNull::new(memory.cast()).map(SharedPage).ok_or(Errno::NOMEM)
    }

    /// Returns the word at this place in the page.
    pub fn word(&self, at: usize) -> &AtomicU64 {
        assert!(at.is_multiple_of(8) && at < PAGE_BYTES as usize);
        // SAFETY: inside of the mapping, which lives as long as this value, aligned, and used by atomic operations only.
        unsafe { AtomicU64::from_ptr(self.0.as_ptr().add(at).cast()) }
    }
}

/// Makes sure that a page is no hole: whoever wrote to it would be ended where the disk is full (SIGBUS).
fn require_room(file: &File, position: u64) -> Result<(), Errno> {
    match seek(file, SeekFrom::Hole(position)) {
        Ok(hole) if hole < position + PAGE_BYTES => {
            match fallocate(file, FallocateFlags::empty(), position, PAGE_BYTES) {
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
                made => made,
            }
        }
        // Not all file systems know holes.
        _ => Ok(()),
    }
}

impl Drop for SharedPage {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, and nothing refers to it any more.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), PAGE_BYTES as usize) };
    }
}
