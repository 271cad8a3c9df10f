//! A lock that needs no C library and no system call while nobody waits.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::thread::{Busy, Serving};

/// Zeros are an open lock, so that a forked child, whose copy is wiped, finds it open.
#[repr(transparent)]
pub struct Lock(AtomicU32);

/// Proof that the lock is held; opens it when dropped.
pub struct Held<'a>(&'a Lock);

impl Lock {
    /// Returns an open lock.
    pub const fn new() -> Self {
        Lock(AtomicU32::new(0))
    }

    /// Waits for the lock. The [`Busy`] proves that no signal handler of the same thread can
    /// come here before the lock is given back.
    pub fn hold(&self, _busy: &Busy) -> Held<'_> {
        self.wait()
    }

    /// Does the same for a backend.
    pub fn hold_serving(&self, _serving: &Serving) -> Held<'_> {
        self.wait()
    }

    fn wait(&self) -> Held<'_> {
        let mut tries = 0u32;
        while !self.try_once() {
            tries = tries.saturating_add(1);
            if tries < 64 {
                core::hint::spin_loop();
            } else if tries < 4096 {
                rustix::thread::sched_yield();
            } else {
                // The holder has a lower priority than we, or is being traced: let it run.
                let pause = rustix::fs::Timespec { tv_sec: 0, tv_nsec: 100_000 };
                let _ = rustix::thread::nanosleep(&pause);
            }
        }
        Held(self)
    }

    fn try_once(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0 && self.0.swap(1, Ordering::Acquire) == 0
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.0.store(0, Ordering::Release);
    }
}
