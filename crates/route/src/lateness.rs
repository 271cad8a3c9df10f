//! Attempts of a node that take long: windows learn of it, and where nothing waits they are tried
//! twice.

use crate::flights::PartState;
use crate::node::Node;
use crate::placement::{Flight, Placement};
use crate::{Outputs, Timer, TimerId};

impl<P: Placement> Node<P> {
    pub(crate) fn set_look<O: Outputs>(&mut self, now_ns: u64, out: &mut O) {
        let Some(every_ns) = self.policy.look_every_ns() else { return };
        if self.is_look_set || self.flights.under_way() == 0 {
            return;
        }
        self.is_look_set = true;
        self.look_generation = self.look_generation.wrapping_add(1);
        let (generation, at_ns) = (self.look_generation, now_ns.saturating_add(every_ns));
        out.timer(Timer { id: TimerId::Overdue, generation, at_ns });
    }

    pub(crate) fn look(&mut self, now_ns: u64, generation: u32) {
        if !self.is_look_set || generation != self.look_generation {
            return;
        }
        self.is_look_set = false;
        for slot in 0..self.flights.slots() {
            let Some((flight, reactions)) = self.flight(slot, now_ns) else { continue };
            let now = self.ask(|policy, lanes| policy.overdue(flight, reactions, lanes));
            if now != reactions {
                self.flights.set_reactions(slot, now);
            }
        }
    }

    fn flight(&self, slot: u32, now_ns: u64) -> Option<(Flight, u8)> {
        let aloft = self.flights.aloft(slot)?;
        let age_ns = now_ns.saturating_sub(aloft.started_ns);
        let (lane, length_bytes) = (usize::from(aloft.lane), aloft.length_bytes);
        let flight = Flight { lane, length_bytes, at_least_ns: age_ns, at_most_ns: age_ns };
        Some((flight, aloft.reactions))
    }

    /// Second attempts, when nothing waits. More may come, but whoever writes one block after the
    /// other sends none before this one is durable.
    pub(crate) fn rescue<O: Outputs>(&mut self, now_ns: u64, out: &mut O) {
        if self.waiting_bytes > 0 || self.flights.under_way() == 0 {
            return;
        }
        for slot in 0..self.flights.slots() {
            let Some((flight, _)) = self.flight(slot, now_ns) else { continue };
            let Some(aloft) = self.flights.aloft(slot) else { continue };
            let part = self.flights.part(aloft.part);
            if part.state != PartState::Open || part.attempts() > 1 {
                continue;
            }
            let better = self.ask(|policy, lanes| {
                let is_sound = |lane: &usize| lanes.admits(*lane) && *lane != flight.lane;
                policy.rescue(flight, lanes).filter(is_sound)
            });
            if let Some(lane) = better {
                self.launch(now_ns, aloft.part, lane, out);
            }
        }
    }
}
