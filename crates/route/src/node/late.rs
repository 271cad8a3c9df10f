//! Attempts that take long: the policy learns of it, and where nothing waits they are tried twice.

use super::Node;
use crate::attempts::PartState;
use crate::placement::{Placement, Timing};
use crate::{Outputs, Timer, TimerId};

/// Of what was submitted, the part that may be tried a second time. While more may come, a third of that more, up to so many bytes, may be
/// tried in advance.
const RESCUE_PART: u64 = 20;
const RESCUE_ADVANCE_BYTES: u64 = 256 << 10;

impl<P: Placement> Node<P> {
    pub(super) fn set_look<O: Outputs>(&mut self, now_ns: u64, out: &mut O) {
        let Some(every_ns) = self.policy.look_every_ns() else { return };
        if self.is_look_set || self.attempts.count() == 0 {
            return;
        }
        self.is_look_set = true;
        self.look_generation = self.look_generation.wrapping_add(1);
        let (generation, at_ns) = (self.look_generation, now_ns.saturating_add(every_ns));
        out.timer(Timer { id: TimerId::Overdue, generation, at_ns });
    }

    pub(super) fn look(&mut self, now_ns: u64, generation: u32) {
        if !self.is_look_set || generation != self.look_generation {
            return;
        }
        self.is_look_set = false;
        for slot in 0..self.attempts.slots() {
            let Some((timing, reactions)) = self.timing(slot, now_ns) else { continue };
            let now = self.ask(|policy, lanes| policy.overdue(timing, reactions, lanes));
            if now != reactions {
                self.attempts.set_reactions(slot, now);
            }
        }
    }

    fn timing(&self, slot: u32, now_ns: u64) -> Option<(Timing, u8)> {
        let running = self.attempts.under_way(slot)?;
        let age_ns = now_ns.saturating_sub(running.started_ns);
        let (lane, length_bytes) = (usize::from(running.lane), running.length_bytes);
        let (at_least_ns, at_most_ns) = (age_ns, age_ns);
        let older_bytes = self.lanes[lane].older_bytes(now_ns);
        let timing = Timing { lane, length_bytes, at_least_ns, at_most_ns, older_bytes };
        Some((timing, running.reactions))
    }

    /// Second attempts, when nothing waits. More may come, but whoever writes one block after the
    /// other sends none before this one is durable.
    pub(super) fn rescue<O: Outputs>(&mut self, now_ns: u64, out: &mut O) {
        if self.waiting_bytes > 0 || self.attempts.count() == 0 {
            return;
        }
        for slot in 0..self.attempts.slots() {
            let Some((timing, _)) = self.timing(slot, now_ns) else { continue };
            let Some(running) = self.attempts.under_way(slot) else { continue };
            let part = self.attempts.part(running.part);
            if part.state != PartState::Open || part.attempts() > 1 {
                continue;
            }
            let is_much = self.is_much_rescued(timing.length_bytes);
            let better = self.ask(|policy, lanes| {
                let is_sound = |lane: &usize| lanes.admits(*lane) && *lane != timing.lane;
                policy.rescue(timing, is_much, lanes).filter(is_sound)
            });
            if let Some(lane) = better {
                self.rescued_bytes += timing.length_bytes;
                self.begin_attempt(now_ns, running.part, lane, out);
            }
        }
    }

    /// Whether with so much more, more than a small part of the data would have been tried a second time: then some
    /// was written twice that others could have written once.
    fn is_much_rescued(&self, length_bytes: u64) -> bool {
        let part_bytes = self.submitted_bytes / RESCUE_PART;
        let may_come = self.open_writers > 0;
        let advance_bytes = if may_come { (part_bytes / 3).min(RESCUE_ADVANCE_BYTES) } else { 0 };
        self.rescued_bytes + length_bytes > part_bytes + advance_bytes
    }
}
