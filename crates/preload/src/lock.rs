//! A lock that needs no C library and no system call while nobody waits.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::sys;
use crate::thread::{AT_ONCE, Busy, Serving};

/// All but what a mistake of the program raises at once.
const ALL_THAT_WAIT: u64 = {
    let (mut signals, mut at) = (u64::MAX, 0);
    while at < AT_ONCE.len() {
        signals &= !(1 << (AT_ONCE[at] - 1));
        at += 1;
    }
    signals
};

/// Zeros are an open lock, so that a forked child, whose copy is wiped, finds it open.
#[repr(transparent)]
pub struct Lock(AtomicU32);

/// Proof that the lock is held; opens it when dropped.
pub struct Held<'a> {
    lock: &'a Lock,
    /// The signals that were blocked before, if others are now.
    signals: Option<u64>,
}

impl Lock {
    /// Returns an open lock.
    pub const fn new() -> Self {
        Lock(AtomicU32::new(0))
    }

    /// Waits for the lock. The [`Busy`] proves that no signal handler of the same thread can
    /// come here before the lock is given back; and until then none is called that could leave it held, by `siglongjmp`.
    pub fn hold(&self, _busy: &Busy) -> Held<'_> {
        let signals = sys::block_signals(ALL_THAT_WAIT);
        self.wait();
        Held { lock: self, signals }
    }

    /// Does the same for a backend.
    pub fn hold_serving(&self, _serving: &Serving) -> Held<'_> {
        self.wait();
        Held { lock: self, signals: None }
    }

    fn wait(&self) {
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
    }

    fn try_once(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0 && self.0.swap(1, Ordering::Acquire) == 0
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.lock.0.store(0, Ordering::Release);
        if let Some(signals) = self.signals {
            sys::set_signals(signals);
        }
    }
}
