//! The timer that says things again where messages get lost.

use crate::{Outputs, Timer, TimerId};

/// A retry timer. Rings only while there is something to say again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Retry {
    generation: u32,
    is_set: bool,
}

impl Retry {
    /// Sets it, unless it is set or `every_ns` is 0.
    pub fn set<O: Outputs>(&mut self, now_ns: u64, every_ns: u64, out: &mut O) {
        if every_ns == 0 || self.is_set {
            return;
        }
        self.is_set = true;
        self.generation = self.generation.wrapping_add(1);
        let (generation, at_ns) = (self.generation, now_ns.saturating_add(every_ns));
        out.timer(Timer { id: TimerId::Retry, generation, at_ns });
    }

    /// True if this ring is the one that was asked for.
    pub fn rang(&mut self, generation: u32) -> bool {
        let is_ours = self.is_set && generation == self.generation;
        self.is_set &= !is_ours;
        is_ours
    }
}
