//! How attempts of a node end: one commit per identity, and what failure does.

use crate::flights::PartState;
use crate::node::Node;
use crate::placement::Placement;
use crate::{Attempt, AttemptId, Failure, Outputs, TargetId};

impl<P: Placement> Node<P> {
    /// An attempt of `part` left `lane`. Says its length.
    pub(crate) fn land_on(&mut self, lane: usize, part: u32) -> u64 {
        let length_bytes = self.flights.part(part).length_bytes;
        self.in_flight_bytes -= length_bytes;
        let books = &mut self.lanes[lane];
        books.in_flight_bytes -= length_bytes;
        books.attempts -= 1;
        self.idle_lanes += u32::from(books.attempts == 0);
        length_bytes
    }

    /// The first attempt that ends well is the one that counts.
    pub(crate) fn commit<O: Outputs>(
        &mut self,
        index: u32,
        attempt: AttemptId,
        lane: usize,
        out: &mut O,
    ) {
        let part = self.flights.part(index).clone();
        match part.state {
            PartState::Committed | PartState::Lost => {}
            PartState::Open | PartState::Again => {
                if part.state == PartState::Again {
                    self.again.retain(|waiting| *waiting != index);
                    self.waiting_bytes -= part.length_bytes;
                }
                let target = self.lanes[lane].target;
                let (offset_bytes, length_bytes) = (part.offset_bytes, part.length_bytes);
                let write = part.write;
                out.committed(Attempt { attempt, write, target, offset_bytes, length_bytes });
                self.settle(index, PartState::Committed, out);
            }
        }
        self.flights.forget_if_settled(index);
    }

    /// Attempts of a settled part that still run no longer count as placed.
    fn give_up_others<O: Outputs>(&mut self, index: u32, out: &mut O) {
        let part = self.flights.part(index);
        for lane in part.lanes() {
            self.lanes[lane].placed_bytes -= part.length_bytes;
        }
        self.flights.attempts_of(index).for_each(|attempt| out.superseded(attempt));
    }

    /// A part is committed or lost: count it, and let its writer go on or end.
    fn settle<O: Outputs>(&mut self, index: u32, state: PartState, out: &mut O) {
        self.give_up_others(index, out);
        self.flights.set_state(index, state);
        let part = self.flights.part(index);
        let (writer, length_bytes) = (self.index_of(part.write.writer), part.length_bytes);
        let books = &mut self.writers[writer as usize];
        books.open_parts -= 1;
        if state == PartState::Committed {
            books.committed_bytes += length_bytes;
        } else {
            books.lost_bytes += length_bytes;
        }
        self.make_ready(writer);
        self.report(writer, out);
    }

    pub(crate) fn failed<O: Outputs>(&mut self, attempt: AttemptId, failure: Failure, out: &mut O) {
        let Some(aloft) = self.flights.land(attempt) else { return };
        let lane = usize::from(aloft.lane);
        let length_bytes = self.land_on(lane, aloft.part);
        let part = self.flights.part(aloft.part);
        if matches!(part.state, PartState::Open | PartState::Again) {
            self.lanes[lane].placed_bytes -= length_bytes;
        }
        if part.state == PartState::Open && self.is_stranded(aloft.part) {
            self.try_again(aloft.part);
        }
        self.flights.forget_if_settled(aloft.part);
        self.target_failed(self.lanes[lane].target, failure, out);
    }

    /// None of its attempts is on a target from which an end can be expected.
    fn is_stranded(&self, index: u32) -> bool {
        self.flights
            .part(index)
            .lanes()
            .all(|lane| self.lanes[lane].failure == Some(Failure::Stopped))
    }

    fn try_again(&mut self, index: u32) {
        if self.flights.is_full(index) {
            // All on targets that stopped: the oldest is not waited for any more.
            let oldest = self.flights.attempts_of(index).next();
            if let Some(aloft) = oldest.and_then(|oldest| self.flights.land(oldest)) {
                let length_bytes = self.land_on(usize::from(aloft.lane), index);
                self.lanes[usize::from(aloft.lane)].placed_bytes -= length_bytes;
            }
        }
        self.flights.set_state(index, PartState::Again);
        self.waiting_bytes += self.flights.part(index).length_bytes;
        self.again.push_back(index);
    }

    pub(crate) fn target_failed<O: Outputs>(
        &mut self,
        target: TargetId,
        failure: Failure,
        out: &mut O,
    ) {
        let Some(lane) = self.lanes.iter().position(|lane| lane.target == target) else { return };
        // A target that stopped may never end what it has; that is not unlearned.
        if self.lanes[lane].failure != Some(Failure::Stopped) {
            self.lanes[lane].failure = Some(failure);
        }
        self.count_failed();
        if failure == Failure::Stopped {
            self.abandon(lane);
        }
        if self.live_lanes() == 0 {
            self.give_up_waiting(out);
        }
    }

    /// What is in flight on a target that stopped is tried elsewhere; if it ends after all
    /// before the other attempt does, it counts.
    fn abandon(&mut self, lane: usize) {
        for slot in 0..self.flights.slots() {
            let Some(aloft) = self.flights.aloft(slot) else { continue };
            let is_open = self.flights.part(aloft.part).state == PartState::Open;
            if usize::from(aloft.lane) == lane && is_open && self.is_stranded(aloft.part) {
                self.try_again(aloft.part);
            }
        }
    }

    /// No target takes data: what waits is lost, and its writers are told when they close.
    fn give_up_waiting<O: Outputs>(&mut self, out: &mut O) {
        while let Some(part) = self.again.pop_front() {
            self.waiting_bytes -= self.flights.part(part).length_bytes;
            self.settle(part, PartState::Lost, out);
            self.flights.forget_if_settled(part);
        }
        for index in 0..self.writers.len() as u32 {
            self.waiting_bytes -= self.writers[index as usize].lose_waiting();
            self.report(index, out);
        }
    }

    pub(crate) fn target_back(&mut self, target: TargetId) {
        for lane in self.lanes.iter_mut().filter(|lane| lane.target == target) {
            lane.failure = None;
        }
        self.count_failed();
    }

    /// The data is gone with its process; what it had in flight will not be reported.
    pub(crate) fn writer_died<O: Outputs>(&mut self, writer: u32, out: &mut O) {
        let index = self.index_of(writer);
        if !self.close_dead(index) {
            return;
        }
        let flights = &self.flights;
        let (gone, left): (Vec<u32>, Vec<u32>) =
            self.again.iter().partition(|part| flights.part(**part).write.writer == writer);
        self.again = left.into();
        for part in gone {
            self.waiting_bytes -= self.flights.part(part).length_bytes;
            self.settle(part, PartState::Lost, out);
            self.flights.forget_if_settled(part);
        }
        for slot in 0..self.flights.slots() {
            let Some(aloft) = self.flights.aloft(slot) else { continue };
            if self.flights.part(aloft.part).write.writer == writer {
                self.drop_flight(slot, out);
            }
        }
        self.report(index, out);
    }

    fn close_dead(&mut self, index: u32) -> bool {
        let Some(books) = self.writers.get_mut(index as usize) else { return false };
        if !books.is_closed {
            books.is_closed = true;
            self.open_writers -= 1;
        }
        self.waiting_bytes -= self.writers[index as usize].lose_waiting();
        true
    }

    fn drop_flight<O: Outputs>(&mut self, slot: u32, out: &mut O) {
        let Some(aloft) = self.flights.land(self.flights.attempt_at(slot)) else { return };
        let lane = usize::from(aloft.lane);
        let length_bytes = self.land_on(lane, aloft.part);
        let state = self.flights.part(aloft.part).state;
        if matches!(state, PartState::Open | PartState::Again) {
            self.lanes[lane].placed_bytes -= length_bytes;
            self.settle(aloft.part, PartState::Lost, out);
        }
        self.flights.forget_if_settled(aloft.part);
    }
}
