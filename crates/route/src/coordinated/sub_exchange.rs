//! What a sub-coordinator gives to and takes from other groups, through the coordinator.

use super::sub::{Entry, Sub, Told};
use crate::{Message, Outputs, TargetId, WriteId};

impl Sub {
    pub(super) fn reroute<O: Outputs>(&mut self, taker: TargetId, request: u32, out: &mut O) {
        let known = self.answers.iter().position(|answer| answer_to(answer).0 == taker);
        if let Some(place) = known {
            let answer = self.answers[place];
            match request.cmp(&answer_to(&answer).1) {
                std::cmp::Ordering::Less => return,
                std::cmp::Ordering::Equal => return out.send(self.coordinator(), answer),
                std::cmp::Ordering::Greater => self.answers.swap_remove(place),
            };
        }
        let answer = match self.give_away() {
            Some((write, length_bytes)) => {
                Message::RerouteAck { taker, request, write, length_bytes }
            }
            None => {
                if self.told == Told::Busy {
                    self.told = Told::Empty;
                }
                Message::RerouteReject { taker, request }
            }
        };
        if self.settings.is_lossy() {
            self.answers.push(answer);
        }
        out.send(self.coordinator(), answer);
    }

    /// The last that waits, if it is the group's own. What moved in does not move on,
    /// except from a target that failed.
    pub(super) fn give_away(&mut self) -> Option<(WriteId, u64)> {
        let last = self.queue.back()?;
        let is_own = self.settings.layout.home(last.write.writer) == self.target;
        if !is_own && self.failure.is_none() {
            return None;
        }
        let (write, length_bytes, is_charged) = self.cut(true)?;
        if is_charged {
            self.throttle.take_back(length_bytes);
        }
        if is_own && !self.moved_out.contains(&write) {
            self.moved_out.push(write);
        }
        Some((write, length_bytes))
    }

    /// A write of another group is ours to let onto our target.
    pub(super) fn take_in(
        &mut self,
        request: u32,
        write: WriteId,
        length_bytes: u64,
        is_adopted: bool,
    ) {
        if !self.is_offered || request != self.offer {
            return;
        }
        self.is_offered = false;
        if self.dead.contains(&write.writer) {
            return;
        }
        let is_own = self.settings.layout.home(write.writer) == self.target;
        // There is room for what was offered; what comes without counts as our own, so that
        // the books stay true whatever the coordinator does.
        let is_charged = !is_own && !is_adopted && self.throttle.admit(length_bytes);
        if !is_own && !is_charged {
            self.throttle.add_own(length_bytes);
        }
        let left_bytes = length_bytes;
        self.queue.push_front(Entry { write, left_bytes, is_part: true, is_charged });
    }

    pub(super) fn is_idle(&self) -> bool {
        // What was given away before the first write must find its way back if need be.
        let has_begun = self.grants > 0 || self.open_members == 0 || self.turns > 0;
        self.active.is_none() && self.queue.is_empty() && has_begun && self.failure.is_none()
    }

    /// Tells the coordinator what it does not know: that we could take, or could give.
    pub(super) fn tell<O: Outputs>(&mut self, out: &mut O) {
        if self.is_closed {
            return;
        }
        if self.is_idle() && !(self.is_offered && self.told == Told::Idle) {
            // An offer stands until it is taken up, also when we were busy in between.
            self.offer = self.offer.wrapping_add(u32::from(!self.is_offered));
            self.is_offered = true;
            self.told = Told::Idle;
            self.say_idle(out);
        } else if self.has_something_to_give() && self.told != Told::Busy {
            self.told = Told::Busy;
            self.say_busy(out);
        }
    }

    pub(super) fn has_something_to_give(&self) -> bool {
        let is_own = |entry: &Entry| self.settings.layout.home(entry.write.writer) == self.target;
        self.queue.back().is_some_and(|last| is_own(last) || self.failure.is_some())
    }

    pub(super) fn say_idle<O: Outputs>(&self, out: &mut O) {
        let (target, request) = (self.target, self.offer);
        let allowance_bytes = self.throttle.room_bytes();
        out.send(self.coordinator(), Message::WriteIdle { target, request, allowance_bytes });
    }

    pub(super) fn say_busy<O: Outputs>(&self, out: &mut O) {
        let (target, request) = (self.target, self.offer);
        out.send(self.coordinator(), Message::WriteBusy { target, request });
    }

    /// Whether our target takes data. Says also that we have not heard of the end.
    pub(super) fn say_health<O: Outputs>(&self, out: &mut O) {
        let (target, request) = (self.target, self.turns);
        let message = match self.failure {
            Some(_) => Message::TargetLost { target, request },
            None => Message::TargetBack { target, request },
        };
        out.send(self.coordinator(), message);
    }

    pub(super) fn status<O: Outputs>(&mut self, request: u32, out: &mut O) {
        let add = |sum: u64, entry: &Entry| sum.saturating_add(entry.left_bytes);
        let queued_bytes = self.queue.iter().fold(0, add);
        if queued_bytes == 0 && self.told == Told::Busy {
            self.told = Told::Empty;
        }
        let target = self.target;
        out.send(self.coordinator(), Message::StatusReply { target, request, queued_bytes });
    }
}

/// Taker and request of an answer to the coordinator.
fn answer_to(answer: &Message) -> (TargetId, u32) {
    match *answer {
        Message::RerouteAck { taker, request, .. } => (taker, request),
        Message::RerouteReject { taker, request } => (taker, request),
        _ => (TargetId(u16::MAX), 0),
    }
}
