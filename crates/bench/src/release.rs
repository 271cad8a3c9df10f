//! The moment at which all processes of an instance begin, on one machine.
//!
//! Everybody sleeps on a word of shared memory (a futex), so that waiting takes nothing from the cores
//! that others measure with. The coordinator releases when all have said that they are ready; so there is
//! no count that could be wrong when one of them cannot take part.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use plimsoll_wire::clock::monotonic;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::thread::futex;
use rustix::time::Timespec;

const PAGE_BYTES: usize = 4096;

/// What lies in the shared page.
#[repr(C)]
struct Words {
    /// The last generation that was released.
    generation: AtomicU32,
    /// Whether it was called off.
    called_off: AtomicU32,
    /// The monotonic clock at its release.
    released_at: AtomicU64,
}

/// A page that the coordinator and its workers share.
pub struct Release {
    words: *const Words,
}

impl Release {
    /// Makes a page, and the descriptor by which a worker maps it.
    pub fn create() -> io::Result<(Self, OwnedFd)> {
        let memory = memfd_create("plimsoll-release", MemfdFlags::CLOEXEC)?;
        ftruncate(&memory, PAGE_BYTES as u64)?;
        Ok((Self::map(memory.as_fd())?, memory))
    }

    /// Maps the page that another process made.
    pub fn map(memory: impl AsFd) -> io::Result<Self> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address that the kernel chooses.
        let address = unsafe {
            mmap(std::ptr::null_mut(), PAGE_BYTES, protection, MapFlags::SHARED, memory, 0)?
        };
        Ok(Self { words: address.cast() })
    }

    fn words(&self) -> &Words {
        // SAFETY: mapped until drop, page-aligned, zero-filled, and atomics only.
        unsafe { &*self.words }
    }

    /// Lets everybody go who waits for this generation. Returns the moment.
    pub fn release(&self, generation: u32) -> u64 {
        let words = self.words();
        let now = monotonic();
        words.called_off.store(0, Ordering::Relaxed);
        words.released_at.store(now, Ordering::Relaxed);
        self.wake(generation);
        now
    }

    /// Tells everybody who waits for this generation that it will not take place.
    pub fn call_off(&self, generation: u32) {
        self.words().called_off.store(1, Ordering::Relaxed);
        self.wake(generation);
    }

    fn wake(&self, generation: u32) {
        self.words().generation.store(generation, Ordering::Release);
        // Nobody waiting is not an error.
        let _ = futex::wake(&self.words().generation, futex::Flags::empty(), i32::MAX as u32);
    }

    /// Sleeps until the generation is released. `None` when it was called off, or when
    /// `abandoned` says, once a second, that nobody is left who could release it.
    pub fn wait(&self, generation: u32, abandoned: impl Fn() -> bool) -> Option<u64> {
        let second = Timespec { tv_sec: 1, tv_nsec: 0 };
        let words = self.words();
        loop {
            let seen = words.generation.load(Ordering::Acquire);
            if seen == generation {
                let called_off = words.called_off.load(Ordering::Relaxed) != 0;
                return (!called_off).then(|| words.released_at.load(Ordering::Relaxed));
            }
            // Returns at once when the word has changed since; a signal just means another look.
            match futex::wait(&words.generation, futex::Flags::empty(), seen, Some(&second)) {
                Err(rustix::io::Errno::TIMEDOUT) if abandoned() => return None,
                _ => {}
            }
        }
    }
}

impl Drop for Release {
    fn drop(&mut self) {
        // SAFETY: mapped in `map` with this length, and nothing of it outlives `self`.
        let _ = unsafe { munmap(self.words.cast_mut().cast(), PAGE_BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_wait_see_one_moment_and_latecomers_too() {
        let (page, memory) = Release::create().unwrap();
        let waiting: Vec<_> = (0..4)
            .map(|_| {
                let memory = memory.try_clone().unwrap();
                std::thread::spawn(move || Release::map(&memory).unwrap().wait(1, || false))
            })
            .collect();
        let moment = page.release(1);
        for thread in waiting {
            assert_eq!(thread.join().unwrap(), Some(moment));
        }
        assert_eq!(page.wait(1, || false), Some(moment));
    }

    #[test]
    fn what_is_called_off_is_not_released() {
        let (page, _memory) = Release::create().unwrap();
        page.release(1);
        page.call_off(2);
        assert_eq!(page.wait(2, || false), None);
        assert_eq!(page.wait(3, || true), None);
    }
}
