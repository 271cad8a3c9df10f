//! Whose each descriptor is, as far as anybody has asked.

use core::ffi::c_int;
use core::ops::Range;
use core::sync::atomic::{AtomicU8, Ordering};

/// Descriptors beyond this are asked about at each call.
const DESCRIPTORS: usize = 1 << 16;

/// Nobody has asked yet whose it is.
pub const UNKNOWN: u8 = 0;
/// No backend's.
pub const KERNEL: u8 = 1;
/// The first backend's; the others follow.
pub const FIRST_BACKEND: u8 = 2;

/// Not wiped in forked children, which inherit descriptors.
static OWNERS: [AtomicU8; DESCRIPTORS] = [const { AtomicU8::new(UNKNOWN) }; DESCRIPTORS];

/// Returns whose a descriptor is.
#[inline(always)]
pub fn known(fd: c_int) -> u8 {
    OWNERS.get(fd as usize).map_or(UNKNOWN, |entry| entry.load(Ordering::Relaxed))
}

/// Notes whose it is.
pub fn note(fd: c_int, mark: u8) {
    if let Some(entry) = OWNERS.get(fd as usize) {
        entry.store(mark, Ordering::Relaxed);
    }
}

/// Returns those from `first` to `last` of which something can be known.
pub fn numbers(first: u32, last: u32) -> Range<usize> {
    first as usize..(last as usize).saturating_add(1).min(DESCRIPTORS)
}

/// Forgets those from `first` to `last`.
pub fn forget(first: u32, last: u32) {
    for entry in OWNERS.get(numbers(first, last)).unwrap_or_default() {
        entry.store(UNKNOWN, Ordering::Relaxed);
    }
}
