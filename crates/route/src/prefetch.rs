//! Reading ahead, for hosts that drive very many nodes.
//!
//! A simulator with thousands of nodes waits for memory at nearly every event, because each
//! concerns another node. It knows which attempts end next, so it can have what their ends
//! need on its way to the processor while earlier ones are handled. Nothing changes by it.

use crate::AttemptId;
use crate::node::Node;
use crate::placement::Placement;

/// Depths of [`Node::prefetch`]: what is at one is found through the one before.
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

impl<P: Placement> Node<P> {
    /// Asks for what the end of `attempt` will need, one depth of it: the node itself, then
    /// the attempt's part, then its lane and writer, then the writer that comes next. Some
    /// events should lie between the depths. Says whose data it is, when that is known.
    #[inline]
    pub fn prefetch(&self, attempt: AttemptId, depth: usize) -> Option<u32> {
        match depth {
            0 => prefetch(self),
            1 => {
                self.flights.prefetch(attempt.slot);
                self.ready.front().map(prefetch);
            }
            2 => {
                let aloft = self.flights.aloft(attempt.slot)?;
                let writer = self.flights.part(aloft.part).write.writer;
                let lane = usize::from(aloft.lane);
                self.lanes.get(lane).map(prefetch);
                self.policy.prefetch(lane);
                self.writers.get(self.index_of(writer) as usize).map(prefetch);
                return Some(writer);
            }
            _ => {
                let next = self.ready.front()?;
                self.writers.get(*next as usize).map(prefetch);
            }
        }
        None
    }
}
