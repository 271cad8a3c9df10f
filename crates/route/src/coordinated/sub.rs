//! The sub-coordinator: one write at a time onto its target, and the throttle.

use std::collections::VecDeque;

use super::lossy::Retry;
use super::settings::RoleSettings;
use crate::{ActorId, Closed, Failure, Input, Machine, Message, Outputs, TargetId, Throttle};
use crate::{TimerId, WriteId};

/// A group's sub-coordinator (SC in the paper).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Sub {
    pub(super) settings: RoleSettings,
    pub(super) target: TargetId,
    pub(super) first_writer: u32,
    pub(super) members: Vec<Member>,
    pub(super) open_members: u32,
    /// Parts of the group that are not committed, wherever they are.
    pub(super) open_parts: u64,
    pub(super) queue: VecDeque<Entry>,
    pub(super) active: Option<Grant>,
    pub(super) grants: u32,
    pub(super) throttle: Throttle,
    /// Parts of the group that were given away and are not committed.
    pub(super) moved_out: Vec<WriteId>,
    /// The number of the newest offer, and whether it still stands.
    pub(super) offer: u32,
    pub(super) is_offered: bool,
    /// What the coordinator was last told, or can tell from an answer.
    pub(super) told: Told,
    /// Answers to the coordinator, one per taker, where messages get lost.
    pub(super) answers: Vec<Message>,
    pub(super) dead: Vec<u32>,
    pub(super) failure: Option<Failure>,
    /// How often the target failed or came back.
    pub(super) turns: u32,
    /// Grants before the target last came back: that they failed is nothing new.
    pub(super) grants_before: u32,
    has_closed_group: bool,
    pub(super) is_closed: bool,
    retry: Retry,
}

/// What the coordinator thinks of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Told {
    /// It has writes to give away. So it is with every group at first.
    Busy,
    /// It has none.
    Empty,
    /// It would take some.
    Idle,
}

/// A client of the group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Member {
    /// The submission that is expected next; one more after the close.
    next: u32,
    pub open_parts: u64,
    pub is_closed: bool,
}

/// What waits for the target: the rest of a block, or one part that must stay whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Entry {
    pub write: WriteId,
    pub left_bytes: u64,
    pub is_part: bool,
    /// It is in the throttle's books as moved in.
    pub is_charged: bool,
}

/// What is being written to the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Grant {
    pub write: WriteId,
    pub length_bytes: u64,
    pub request: u32,
    pub is_charged: bool,
}

impl Sub {
    /// The sub-coordinator of `target`.
    pub fn new(settings: RoleSettings, target: TargetId) -> Self {
        let group = settings.layout.group(target);
        let members = group.len();
        Sub {
            settings,
            target,
            first_writer: group.start,
            members: vec![Member::default(); members],
            open_members: members as u32,
            open_parts: 0,
            queue: VecDeque::new(),
            active: None,
            grants: 0,
            throttle: Throttle::new(settings.factor),
            moved_out: Vec::new(),
            offer: 0,
            is_offered: false,
            told: Told::Busy,
            answers: Vec::new(),
            dead: Vec::new(),
            failure: None,
            turns: 0,
            grants_before: 0,
            has_closed_group: false,
            is_closed: false,
            retry: Retry::default(),
        }
    }

    /// The throttle's books, to look at.
    pub fn throttle(&self) -> &Throttle {
        &self.throttle
    }

    pub(super) fn member(&mut self, writer: u32) -> Option<&mut Member> {
        self.members.get_mut(writer.wrapping_sub(self.first_writer) as usize)
    }

    pub(super) fn coordinator(&self) -> ActorId {
        self.settings.layout.coordinator()
    }

    fn submission<O: Outputs>(&mut self, write: WriteId, length_bytes: u64, out: &mut O) {
        let parts = self.settings.parts(length_bytes);
        let Some(member) = self.member(write.writer) else { return };
        if member.next == write.sequence && !member.is_closed {
            member.next = member.next.wrapping_add(1);
            member.open_parts += u64::from(parts);
            self.open_parts += u64::from(parts);
            self.throttle.add_own(length_bytes);
            let left_bytes = length_bytes;
            let entry = Entry { write, left_bytes, is_part: false, is_charged: false };
            self.queue.push_back(entry);
        }
        self.acknowledge(write.writer, out);
    }

    fn writer_close<O: Outputs>(&mut self, writer: u32, count: u32, out: &mut O) {
        let Some(member) = self.member(writer) else { return };
        if member.next == count && !member.is_closed {
            member.next = member.next.wrapping_add(1);
            member.is_closed = true;
            self.open_members -= 1;
        }
        self.acknowledge(writer, out);
    }

    fn acknowledge<O: Outputs>(&mut self, writer: u32, out: &mut O) {
        if !self.settings.is_lossy() {
            return;
        }
        let Some(member) = self.member(writer) else { return };
        let next = member.next;
        let to = self.settings.layout.client(writer);
        out.send(to, Message::SubmissionAck { writer, next });
    }

    /// Takes the first part off an entry that waits.
    pub(super) fn cut(&mut self, from_back: bool) -> Option<(WriteId, u64, bool)> {
        let entry = if from_back { self.queue.back_mut() } else { self.queue.front_mut() }?;
        let (write, is_charged) = (entry.write, entry.is_charged);
        let length_bytes = if entry.is_part {
            entry.left_bytes
        } else {
            self.settings.part_length(entry.left_bytes)
        };
        entry.left_bytes -= length_bytes;
        entry.write.part = entry.write.part.wrapping_add(1);
        if entry.left_bytes == 0 {
            if from_back {
                self.queue.pop_back()
            } else {
                self.queue.pop_front()
            };
        }
        Some((write, length_bytes, is_charged))
    }

    /// Lets the next write onto the target, if it is free.
    fn grant_next<O: Outputs>(&mut self, out: &mut O) {
        if self.active.is_some() || self.failure.is_some() {
            return;
        }
        let Some((write, length_bytes, is_charged)) = self.cut(false) else { return };
        self.grants = self.grants.wrapping_add(1);
        self.active = Some(Grant { write, length_bytes, request: self.grants, is_charged });
        self.say_grant(out);
    }

    fn say_grant<O: Outputs>(&self, out: &mut O) {
        let Some(Grant { write, length_bytes, request, .. }) = self.active else { return };
        let message = Message::DoWrite { write, target: self.target, request, length_bytes };
        out.send(self.settings.layout.client(write.writer), message);
    }

    /// The grant that an answer of a client is about, which ends with it.
    pub(super) fn end_grant(&mut self, write: WriteId, request: u32) -> Option<Grant> {
        let is_it = |grant: &Grant| grant.request == request && grant.write == write;
        self.active.take_if(|grant| is_it(grant))
    }

    fn complete(&mut self, write: WriteId, request: u32) {
        if self.end_grant(write, request).is_some() {
            self.moved_out.retain(|moved| *moved != write);
            self.count_commit(write);
        }
    }

    fn committed_elsewhere<O: Outputs>(&mut self, write: WriteId, out: &mut O) {
        if let Some(place) = self.moved_out.iter().position(|moved| *moved == write) {
            self.moved_out.swap_remove(place);
            self.count_commit(write);
        }
        if self.settings.is_lossy() {
            out.send(self.settings.layout.client(write.writer), Message::CommitAck { write });
        }
    }

    fn count_commit(&mut self, write: WriteId) {
        if let Some(member) = self.member(write.writer) {
            // Only forged messages could count below zero.
            member.open_parts = member.open_parts.saturating_sub(1);
            self.open_parts = self.open_parts.saturating_sub(1);
        }
    }

    fn close_group<O: Outputs>(&mut self, out: &mut O) {
        if self.open_members == 0 && self.open_parts == 0 && !self.has_closed_group {
            self.has_closed_group = true;
            out.send(self.coordinator(), Message::GroupClose { target: self.target });
        }
    }

    fn end<O: Outputs>(&mut self, out: &mut O) {
        self.is_closed = true;
        self.active = None;
        for index in 0..self.members.len() {
            if self.members[index].open_parts > 0 {
                let writer = self.first_writer + index as u32;
                out.send(self.settings.layout.client(writer), Message::GiveUp { writer });
            }
        }
        self.queue.clear();
        out.closed(Closed::Role);
    }

    fn say_again<O: Outputs>(&self, out: &mut O) {
        self.say_grant(out);
        if self.is_offered && self.is_idle() {
            self.say_idle(out);
        }
        if self.turns > 0 {
            self.say_health(out);
        }
        if self.failure.is_some() && self.has_something_to_give() {
            self.say_busy(out);
        }
        if self.has_closed_group {
            out.send(self.coordinator(), Message::GroupClose { target: self.target });
        }
    }

    fn is_waiting_for_answer(&self) -> bool {
        // A group whose target ever failed asks until the end, which may come any time.
        let has_failed = self.turns > 0;
        let waits = self.active.is_some() || self.is_offered || has_failed || self.has_closed_group;
        waits && !self.is_closed
    }

    /// All is over, but a client may not have heard: what it has not committed is lost.
    fn hear_after_end<O: Outputs>(&self, message: Message, out: &mut O) {
        let client = |writer| self.settings.layout.client(writer);
        match message {
            Message::WriteSubmission { write: WriteId { writer, .. }, .. } => {
                out.send(client(writer), Message::GiveUp { writer });
            }
            Message::WriterClose { writer, count } if self.settings.is_lossy() => {
                let next = count.wrapping_add(1);
                out.send(client(writer), Message::GiveUp { writer });
                out.send(client(writer), Message::SubmissionAck { writer, next });
            }
            Message::WriteCommitted { write, .. } if self.settings.is_lossy() => {
                out.send(client(write.writer), Message::CommitAck { write });
            }
            _ => {}
        }
    }

    fn hear<O: Outputs>(&mut self, message: Message, out: &mut O) {
        if self.is_closed {
            return self.hear_after_end(message, out);
        }
        match message {
            Message::WriteSubmission { write, length_bytes } => {
                self.submission(write, length_bytes, out);
            }
            Message::WriterClose { writer, count } => self.writer_close(writer, count, out),
            Message::WriteComplete { write, request, .. } => self.complete(write, request),
            Message::WriteFailed { write, request, .. } => self.write_failed(write, request, out),
            Message::WriteCommitted { write, .. } => self.committed_elsewhere(write, out),
            Message::RerouteReq { taker, request } => self.reroute(taker, request, out),
            Message::WriteMore { request, write, length_bytes, .. } => {
                self.take_in(request, write, length_bytes, false);
            }
            Message::WriteAdopt { request, write, length_bytes, .. } => {
                self.take_in(request, write, length_bytes, true);
            }
            Message::StatusInq { request } => self.status(request, out),
            Message::GroupCloseAck => self.end(out),
            _ => {}
        }
    }
}

impl Machine for Sub {
    fn step<O: Outputs>(&mut self, now_ns: u64, input: Input, out: &mut O) {
        match input {
            Input::Message { message, .. } => self.hear(message, out),
            Input::WriterDied { writer } => self.writer_died(writer),
            Input::TargetFailed { target, failure } if target == self.target => {
                self.target_failed(failure, out);
            }
            Input::TargetBack { target } if target == self.target => self.target_back(out),
            Input::Timer { id: TimerId::Retry, generation } if self.retry.rang(generation) => {
                self.say_again(out);
            }
            _ => {}
        }
        self.grant_next(out);
        self.close_group(out);
        self.tell(out);
        if self.is_waiting_for_answer() {
            self.retry.set(now_ns, self.settings.retry_ns, out);
        }
    }
}
