//! Which targets a writer goes to, of all that its container has.

use super::Writer;
use crate::{Placement, Reach, seat};

/// After how many segments a writer looks again whether more nodes write; in the beginning, whenever it has twice as many.
const LOOK_EVERY: u64 = 16;

impl Writer {
    /// More nodes may write than when it looked last: from time to time it looks, and leaves targets to them, also such that it has
    /// logs on. They stay as they are, and are no load any more.
    pub(super) fn make_room_for_nodes(&mut self) {
        let is_due = self.begun.is_power_of_two() || self.begun.is_multiple_of(LOOK_EVERY);
        if self.reach.is_part()
            && self.begun > 0
            && is_due
            && seat::is_there(self.container.directory(), self.nodes as u32 + 1)
        {
            self.look_for_nodes();
        }
    }

    /// Looks how many nodes write by now, and how many logs they have, and says to which targets this one goes.
    pub(super) fn look_for_nodes(&mut self) {
        if self.reach.is_part() {
            self.nodes = seat::count(self.container.directory()) as usize;
            // If nobody can tell, whoever makes a log will.
            let (listed, seat) = (self.container.logs().unwrap_or_default(), self.state.seat());
            self.own_logs = listed.iter().filter(|it| it.seat == seat).count();
            self.logs_of_others = listed.len() - self.own_logs;
        }
        self.set_used();
    }

    /// Returns whether this node goes to the target at a place of its order. More nodes may write than when it looked last: of
    /// the targets on which it has no log, it leaves some to them.
    pub(super) fn reaches(&mut self, place: usize) -> bool {
        let has_log = |lane: &usize| self.lanes[*lane].log.is_some();
        if self.reach.is_part() && !self.reach.order().get(place).is_some_and(has_log) {
            self.look_for_nodes();
        }
        place < self.used
    }

    /// Returns the place of a target in the order of this node.
    pub(super) fn place_of(&self, lane: usize) -> Option<usize> {
        match self.reach.is_part() {
            true => self.reach.order().iter().position(|it| *it == lane),
            false => (lane < self.lanes.len()).then_some(lane),
        }
    }

    /// For each target that refuses, the next one in the order is gone to.
    pub(super) fn set_used(&mut self) {
        let (own, others) = (self.own_logs, self.logs_of_others);
        let width = Reach::width_beside(self.lanes.len(), self.nodes, own, others);
        let order = self.reach.order();
        let mut willing =
            order.iter().enumerate().filter(|(_, lane)| self.lanes[**lane].refusal.is_none());
        let last = width.checked_sub(1).and_then(|it| willing.nth(it));
        let used = last.map_or(order.len(), |(place, _)| place + 1);
        if used != self.used {
            self.used = used;
            if let Placement::Routed(router) = &mut self.placement {
                router.keep_to(&order[..used]);
            }
        }
    }
}
