//! Memory that large containers took goes back to the system: the C library would keep it for the threads that looked at them, each its own.

use std::sync::atomic::{AtomicBool, Ordering};

/// What less than this took is used again for others.
const LARGE_BYTES: u64 = 16 << 20;

/// Whether much was freed.
#[derive(Debug, Default)]
pub struct Freed {
    is_much: AtomicBool,
}

impl Freed {
    /// So many bytes were freed.
    pub fn note(&self, bytes: u64) {
        if bytes >= LARGE_BYTES {
            self.is_much.store(true, Ordering::Relaxed);
        }
    }

    /// A container could not be opened: nobody knows how much it took until then.
    pub fn note_failure(&self) {
        self.is_much.store(true, Ordering::Relaxed);
    }

    /// Gives back what was freed, if that is much.
    pub fn give_back(&self) {
        if self.is_much.swap(false, Ordering::Relaxed) {
            trim();
        }
    }
}

#[cfg(target_env = "gnu")]
fn trim() {
    // SAFETY: the call takes a number, and other threads may allocate meanwhile (malloc_trim(3): MT-Safe).
    unsafe { libc::malloc_trim(0) };
}

/// Other C libraries give it back themselves.
#[cfg(not(target_env = "gnu"))]
fn trim() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_freed_is_given_back_once() {
        let freed = Freed::default();
        freed.note(LARGE_BYTES - 1);
        assert!(!freed.is_much.load(Ordering::Relaxed));
        freed.note(LARGE_BYTES);
        assert!(freed.is_much.load(Ordering::Relaxed));
        freed.give_back();
        assert!(!freed.is_much.load(Ordering::Relaxed));
    }
}
