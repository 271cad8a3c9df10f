//! Memory for transfers: page-aligned, as O_DIRECT requires, and present before it is used.

use std::ptr::{self, NonNull};

use plimsoll_domain::Bytes;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// Pages that belong to this process alone, given back when dropped.
#[derive(Debug)]
pub struct Memory {
    start: NonNull<u8>,
    length: usize,
    given_back: bool,
}

impl Memory {
    /// Zeroed memory whose pages are there already, so that no transfer has to wait for them.
    ///
    /// # Errors
    /// If there is not enough, in one sentence.
    pub fn new(length: usize) -> Result<Self, String> {
        let length = length.max(1).next_multiple_of(rustix::param::page_size());
        let most = rustix::system::sysinfo();
        let most = u64::from(most.mem_unit) * most.totalram as u64 / 2;
        // Pages that are taken at once drive others out of memory.
        if length as u64 > most {
            return Err(format!("at most half of it, {}, is used", Bytes::new(most)));
        }
        let (access, kind) =
            (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::POPULATE);
        // SAFETY: a new anonymous mapping at a place that the kernel chooses touches no other.
        let start = unsafe { mmap_anonymous(ptr::null_mut(), length, access, kind) };
        let start = start.map_err(|cause| cause.to_string())?;
        let start = NonNull::new(start.cast()).ok_or("the kernel gave address 0")?;
        Ok(Self { start, length, given_back: true })
    }

    /// Returns all its bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping lives as long as self, and is readable and initialised (zeros).
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }

    /// Returns all its bytes, to be filled.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, writable, and borrowed from self alone.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }

    /// Returns the address of byte `at`, for calls that go on while nothing is borrowed.
    pub fn at(&self, at: usize) -> *mut u8 {
        assert!(at <= self.length, "byte {at} of {}", self.length);
        // SAFETY: within the mapping, or one past its end.
        unsafe { self.start.as_ptr().add(at) }
    }

    /// Keeps the mapping until the process ends, for a call whose end is not known.
    pub fn never_give_back(&mut self) {
        self.given_back = false;
    }

    /// Returns its length in bytes, a multiple of the page size.
    pub fn length(&self) -> usize {
        self.length
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.given_back {
            // SAFETY: mapped in `new` with this length, and nothing borrows it any more.
            let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_aligned_zeroed_and_refused_when_too_much() {
        let mut memory = Memory::new(5).unwrap();
        assert_eq!(memory.length() % 4096, 0);
        assert_eq!(memory.at(0) as usize % 4096, 0);
        assert!(memory.bytes().iter().all(|byte| *byte == 0));
        memory.bytes_mut()[4] = 1;
        assert_eq!(memory.bytes()[4], 1);
        assert!(Memory::new(1 << 46).unwrap_err().contains("half"));
    }
}
