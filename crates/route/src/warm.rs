//! Reading ahead, for hosts that drive very many nodes.
//!
//! A simulator with thousands of nodes waits for memory at nearly every event, because each
//! concerns another node. It knows which attempts end next, so it can read what their ends
//! need beforehand, for several at once, and the waits overlap. Nothing changes by it.

use crate::AttemptId;
use crate::node::Node;
use crate::placement::Placement;
use crate::writer::Writer;

/// Depths of [`Node::warm`]: what is at one is found through the one before.
pub const WARM_DEPTHS: u8 = 4;

impl<P: Placement> Node<P> {
    /// Reads what the end of `attempt` will need, one depth of it. The value means nothing.
    pub fn warm(&self, attempt: AttemptId, depth: u8) -> u64 {
        match depth {
            0 => self.waiting_bytes ^ self.flights.under_way() as u64 ^ self.policy.warm(None),
            1 => self.flights.aloft_was(attempt.slot).map_or(0, |aloft| aloft.started_ns),
            2 => self.warm_lane(attempt),
            _ => self.warm_writers(attempt),
        }
    }

    /// Whose data is or was in the attempt's slot.
    pub fn writer_of(&self, attempt: AttemptId) -> Option<u32> {
        let aloft = self.flights.aloft_was(attempt.slot)?;
        Some(self.flights.part(aloft.part).write.writer)
    }

    fn warm_lane(&self, attempt: AttemptId) -> u64 {
        let Some(aloft) = self.flights.aloft_was(attempt.slot) else { return 0 };
        let lane = usize::from(aloft.lane);
        let room = self.lanes.get(lane).map_or(0, |lane| lane.in_flight_bytes);
        let next = self.ready.front().map_or(0, |next| u64::from(*next));
        let part = self.flights.part(aloft.part);
        room ^ next ^ part.length_bytes ^ self.policy.warm(Some(lane))
    }

    fn warm_writers(&self, attempt: AttemptId) -> u64 {
        let Some(aloft) = self.flights.aloft_was(attempt.slot) else { return 0 };
        let books = |index: u32| self.writers.get(index as usize).map_or(0, Writer::warm);
        let own = self.index_of(self.flights.part(aloft.part).write.writer);
        books(own) ^ self.ready.front().map_or(0, |next| books(*next))
    }
}
