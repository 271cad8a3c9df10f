//! The sub-coordinator: one write at a time onto its target, and the throttle.

use std::collections::VecDeque;

use super::lossy::Retry;
use super::settings::RoleSettings;
use crate::{ActorId, Closed, Failure, Input, Machine, Message, Outputs, TargetId, Throttle};
use crate::{TimerId, WriteId};

/// A group's sub-coordinator (SC in the paper).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Sub {
    settings: RoleSettings,
    target: TargetId,
    first_writer: u32,
    members: Vec<Member>,
    open_members: u32,
    /// Parts of the group that are not committed, wherever they are.
    open_parts: u64,
    queue: VecDeque<Entry>,
    active: Option<Grant>,
    grants: u32,
    throttle: Throttle,
    /// Parts of the group that were given away and are not committed.
    moved_out: Vec<WriteId>,
    /// The number of the newest offer, and whether it still stands.
    offer: u32,
    is_offered: bool,
    /// What the coordinator was last told, or can tell from an answer.
    told: Told,
    /// Answers to the coordinator, one per taker, where messages get lost.
    answers: Vec<Message>,
    dead: Vec<u32>,
    failure: Option<Failure>,
    /// How often the target failed or came back.
    turns: u32,
    /// Grants before the target last came back: that they failed is nothing new.
    grants_before: u32,
    has_closed_group: bool,
    is_closed: bool,
    retry: Retry,
}

/// What the coordinator thinks of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Told {
    /// It has writes to give away. So it is with every group at first.
    Busy,
    /// It has none.
    Empty,
    /// It would take some.
    Idle,
}

/// A client of the group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Member {
    /// The submission that is expected next; one more after the close.
    next: u32,
    pub open_parts: u64,
    pub is_closed: bool,
}

/// What waits for the target: the rest of a block, or one part that must stay whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Entry {
    pub write: WriteId,
    pub left_bytes: u64,
    pub is_part: bool,
    /// The throttle counts it as moved in.
    pub is_charged: bool,
}

/// What is being written to the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Grant {
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

    /// The throttle, to look at.
    pub fn throttle(&self) -> &Throttle {
        &self.throttle
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

// The group: what its clients submit and have committed, one grant at a time.
impl Sub {
    fn member(&mut self, writer: u32) -> Option<&mut Member> {
        self.members.get_mut(writer.wrapping_sub(self.first_writer) as usize)
    }

    fn coordinator(&self) -> ActorId {
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
    fn cut(&mut self, from_back: bool) -> Option<(WriteId, u64, bool)> {
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
    fn end_grant(&mut self, write: WriteId, request: u32) -> Option<Grant> {
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

// What it gives to and takes from other groups, through the coordinator.
impl Sub {
    fn reroute<O: Outputs>(&mut self, taker: TargetId, request: u32, out: &mut O) {
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
    fn give_away(&mut self) -> Option<(WriteId, u64)> {
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
    fn take_in(&mut self, request: u32, write: WriteId, length_bytes: u64, is_adopted: bool) {
        if !self.is_offered || request != self.offer {
            return;
        }
        self.is_offered = false;
        if self.dead.contains(&write.writer) {
            return;
        }
        let is_own = self.settings.layout.home(write.writer) == self.target;
        // There is room for what was offered; what comes without counts as our own, so that
        // the counts stay true whatever the coordinator does.
        let is_charged = !is_own && !is_adopted && self.throttle.admit(length_bytes);
        if !is_own && !is_charged {
            self.throttle.add_own(length_bytes);
        }
        let left_bytes = length_bytes;
        self.queue.push_front(Entry { write, left_bytes, is_part: true, is_charged });
    }

    fn is_idle(&self) -> bool {
        // What was given away before the first write must find its way back if need be.
        let has_begun = self.grants > 0 || self.open_members == 0 || self.turns > 0;
        self.active.is_none() && self.queue.is_empty() && has_begun && self.failure.is_none()
    }

    /// Tells the coordinator what it does not know: that we could take, or could give.
    fn tell<O: Outputs>(&mut self, out: &mut O) {
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

    fn has_something_to_give(&self) -> bool {
        let is_own = |entry: &Entry| self.settings.layout.home(entry.write.writer) == self.target;
        self.queue.back().is_some_and(|last| is_own(last) || self.failure.is_some())
    }

    fn say_idle<O: Outputs>(&self, out: &mut O) {
        let (target, request) = (self.target, self.offer);
        let allowance_bytes = self.throttle.room_bytes();
        out.send(self.coordinator(), Message::WriteIdle { target, request, allowance_bytes });
    }

    fn say_busy<O: Outputs>(&self, out: &mut O) {
        let (target, request) = (self.target, self.offer);
        out.send(self.coordinator(), Message::WriteBusy { target, request });
    }

    /// Whether our target takes data. Says also that we have not heard of the end.
    fn say_health<O: Outputs>(&self, out: &mut O) {
        let (target, request) = (self.target, self.turns);
        let message = match self.failure {
            Some(_) => Message::TargetLost { target, request },
            None => Message::TargetBack { target, request },
        };
        out.send(self.coordinator(), message);
    }

    fn status<O: Outputs>(&mut self, request: u32, out: &mut O) {
        let add = |sum: u64, entry: &Entry| sum.saturating_add(entry.left_bytes);
        let queued_bytes = self.queue.iter().fold(0, add);
        if queued_bytes == 0 && self.told == Told::Busy {
            self.told = Told::Empty;
        }
        let target = self.target;
        out.send(self.coordinator(), Message::StatusReply { target, request, queued_bytes });
    }
}

// Its target or a client fails.
impl Sub {
    /// A client could not write to our target: someone else must take it.
    fn write_failed<O: Outputs>(&mut self, write: WriteId, request: u32, out: &mut O) {
        let Some(grant) = self.end_grant(write, request) else { return };
        let (left_bytes, is_charged) = (grant.length_bytes, grant.is_charged);
        self.queue.push_front(Entry { write, left_bytes, is_part: true, is_charged });
        if grant.request > self.grants_before {
            self.target_failed(Failure::Stopped, out);
        }
    }

    /// From now on everything that waits here is to be given away.
    ///
    /// A write that is under way is waited for: the host ends it, well or badly, also on a
    /// target that stopped.
    fn target_failed<O: Outputs>(&mut self, failure: Failure, out: &mut O) {
        if self.failure.is_none() && !self.is_closed {
            self.failure = Some(failure);
            self.turns = self.turns.wrapping_add(1);
            self.told = Told::Busy;
            self.say_health(out);
        }
    }

    /// Said at once: the coordinator gives everything up when all targets have failed.
    fn target_back<O: Outputs>(&mut self, out: &mut O) {
        // What is being written may have failed already, and its client not been heard.
        self.grants_before = self.grants;
        if self.failure.is_some() && !self.is_closed {
            self.failure = None;
            self.turns = self.turns.wrapping_add(1);
            self.told = Told::Empty;
            self.say_health(out);
        }
    }

    /// Its data is gone: nothing of it waits, is written or is counted any more.
    fn writer_died(&mut self, writer: u32) {
        if self.dead.contains(&writer) {
            return;
        }
        self.dead.push(writer);
        let grant = self.active.take_if(|grant| grant.write.writer == writer);
        if let Some(grant) = grant.filter(|grant| grant.is_charged) {
            self.throttle.take_back(grant.length_bytes);
        }
        let gone = |entry: &&Entry| entry.write.writer == writer && entry.is_charged;
        for entry in self.queue.iter().filter(gone) {
            self.throttle.take_back(entry.left_bytes);
        }
        self.queue.retain(|entry| entry.write.writer != writer);
        self.moved_out.retain(|moved| moved.writer != writer);
        let Some(member) = self.member(writer) else { return };
        let (open_parts, was_closed) = (member.open_parts, member.is_closed);
        member.open_parts = 0;
        member.is_closed = true;
        self.open_parts = self.open_parts.saturating_sub(open_parts);
        self.open_members -= u32::from(!was_closed);
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
