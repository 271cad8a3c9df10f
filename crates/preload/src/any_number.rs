//! Numbers by chance, without a system call.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::{clock, sys};

/// Returns a number that other threads, processes and moments do not have. Nobody needs to be unable to guess it.
pub fn any_number() -> u64 {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let thread = u64::from(sys::thread_id());
    let mixed = clock::ticks() ^ thread << 40 ^ COUNTER.fetch_add(1, Ordering::Relaxed) << 24;
    // The last step of SplitMix64, so that each part of it depends on all.
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}
