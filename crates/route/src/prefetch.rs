//! Reading ahead, for hosts that drive very many nodes.
//!
//! A simulator with thousands of nodes waits for memory at nearly every event, because each
//! concerns another node. It knows which attempts end next, so it can have what their ends
//! need on its way to the processor while earlier ones are handled. Nothing changes by it.

/// Depths of [`Node::prefetch`](crate::Node::prefetch): what is at one is found through the one before.
pub const PREFETCH_DEPTHS: usize = 4;

/// Asks for the memory of a value, if the processor can, and does not wait for it.
#[inline]
#[allow(unsafe_code)]
pub fn prefetch<T>(value: &T) {
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
    #[cfg(target_arch = "x86_64")]
    for offset in (0..size_of::<T>()).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let place = std::ptr::from_ref(value).cast::<i8>().wrapping_add(offset);
        // SAFETY: a prefetch is a hint: it reads nothing, and cannot fault at any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(place) };
    }
}
