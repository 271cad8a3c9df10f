//! Whether the program has ever mapped a file, which somebody may cut: reading such memory ends the program then (SIGBUS), where the kernel only says EFAULT.

use core::sync::atomic::{AtomicBool, Ordering};

static ANY: AtomicBool = AtomicBool::new(false);

/// Notes that it is about to map one.
pub fn note() {
    if !ANY.load(Ordering::Relaxed) {
        ANY.store(true, Ordering::Release);
    }
}

/// Returns whether it has.
pub fn are_there() -> bool {
    ANY.load(Ordering::Acquire)
}
