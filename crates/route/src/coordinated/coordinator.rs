//! The coordinator: brings groups that are done together with groups that are not.
//!
//! A group is a target with the writers that have it for their own ([`super::Sub`] speaks for it). One that is done is
//! a taker: its target is idle. One that is thought to have writes waiting is a source, which may give one of them to a
//! taker. Messages and their order are in docs/routing.md.

use super::choice::SourceChoice;
use super::group::{Ask, Group};
use super::lossy::Retry;
use super::settings::RoleSettings;
use crate::{ActorId, Closed, Input, Machine, Message, Outputs, TargetId, TimerId};

/// The coordinator (GC in the paper).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Coordinator<S> {
    settings: RoleSettings,
    policy: S,
    groups: Vec<Group>,
    /// Groups that are thought to have something to give.
    sources: Vec<u16>,
    /// Room for those that a taker may still ask; empty between steps.
    candidates: Vec<u16>,
    inquiry: Inquiry,
    requests: u32,
    closed_groups: usize,
    is_closed: bool,
    retry: Retry,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Inquiry {
    /// Nobody is idle yet: nothing moves.
    NotYet,
    Waits {
        request: u32,
        answers: usize,
    },
    Done,
}

impl<S: SourceChoice> Coordinator<S> {
    /// The coordinator of all groups.
    pub fn new(settings: RoleSettings, policy: S) -> Self {
        Coordinator {
            settings,
            policy,
            groups: vec![Group::new(); usize::from(settings.layout.targets)],
            sources: (0..settings.layout.targets).collect(),
            candidates: Vec::new(),
            inquiry: Inquiry::NotYet,
            requests: 0,
            closed_groups: 0,
            is_closed: false,
            retry: Retry::default(),
        }
    }

    /// The policy, for a checker that lets it choose anything.
    pub fn policy_mut(&mut self) -> &mut S {
        &mut self.policy
    }

    fn group(&mut self, target: TargetId) -> Option<&mut Group> {
        self.groups.get_mut(target.index())
    }

    fn set_source(&mut self, target: TargetId, is_source: bool) {
        let Some(group) = self.group(target) else { return };
        if group.is_source == is_source {
            return;
        }
        group.is_source = is_source;
        if is_source {
            self.sources.push(target.0);
        } else {
            self.sources.retain(|source| *source != target.0);
        }
    }

    fn idle<O: Outputs>(
        &mut self,
        target: TargetId,
        request: u32,
        allowance_bytes: u64,
        out: &mut O,
    ) {
        let to = self.settings.layout.sub(target);
        let Some(group) = self.group(target) else { return };
        if request <= group.taken_up {
            // The answer was lost.
            if let Some(given) = group.given.filter(|_| request == group.taken_up) {
                out.send(to, given);
            }
            return;
        }
        if request > group.offer {
            group.refusals.clear();
        }
        group.offer = request;
        group.allowance_bytes = allowance_bytes;
        group.is_paused = false;
        if !group.has_failed {
            self.set_source(target, false);
        }
        match self.inquiry {
            Inquiry::NotYet if self.settings.status_inquiry => self.inquire(out),
            Inquiry::NotYet => self.inquiry = Inquiry::Done,
            _ => {}
        }
        self.match_taker(target, out);
    }

    fn inquire<O: Outputs>(&mut self, out: &mut O) {
        self.requests = self.requests.wrapping_add(1);
        self.inquiry = Inquiry::Waits { request: self.requests, answers: 0 };
        self.say_inquiry(out);
    }

    fn say_inquiry<O: Outputs>(&self, out: &mut O) {
        let Inquiry::Waits { request, .. } = self.inquiry else { return };
        for target in (0..self.settings.layout.targets).map(TargetId) {
            if !self.groups[target.index()].has_answered {
                out.send(self.settings.layout.sub(target), Message::StatusInq { request });
            }
        }
    }

    fn status<O: Outputs>(
        &mut self,
        target: TargetId,
        request: u32,
        queued_bytes: u64,
        out: &mut O,
    ) {
        let Inquiry::Waits { request: asked, answers } = self.inquiry else { return };
        let all = self.groups.len();
        let Some(group) = self.group(target) else { return };
        if request != asked || group.has_answered {
            return;
        }
        group.has_answered = true;
        group.queued_bytes = queued_bytes;
        if queued_bytes == 0 && self.settings.remembers_rejects {
            self.set_source(target, false);
        }
        self.inquiry = Inquiry::Waits { request: asked, answers: answers + 1 };
        if answers + 1 == all {
            self.inquiry = Inquiry::Done;
            let queued: Vec<u64> = self.groups.iter().map(|group| group.queued_bytes).collect();
            self.policy.inquired(&mut self.sources, &queued);
            self.match_all(out);
        }
    }

    fn match_all<O: Outputs>(&mut self, out: &mut O) {
        for target in (0..self.settings.layout.targets).map(TargetId) {
            if self.sources.is_empty() {
                return;
            }
            self.match_taker(target, out);
        }
    }

    /// Asks some source on behalf of an idle group.
    fn match_taker<O: Outputs>(&mut self, taker: TargetId, out: &mut O) {
        if self.inquiry != Inquiry::Done || !self.groups[taker.index()].is_open_taker() {
            return;
        }
        let Some(source) = self.choose(taker) else { return };
        self.requests = self.requests.wrapping_add(1);
        let request = self.requests;
        self.groups[taker.index()].asking = Some(Ask { source, request });
        out.send(self.settings.layout.sub(source), Message::RerouteReq { taker, request });
    }

    fn choose(&mut self, taker: TargetId) -> Option<TargetId> {
        let group = &self.groups[taker.index()];
        if group.allowance_bytes > 0 && group.refusals.is_empty() {
            let first = *self.sources.first()?;
            let place = self.policy.choose(taker, &self.sources);
            return Some(TargetId(self.sources.get(place).copied().unwrap_or(first)));
        }
        // Without an allowance only what must go somewhere.
        let must_fail = group.allowance_bytes == 0;
        let may_ask = |source: &u16| {
            let has_failed = self.groups[usize::from(*source)].has_failed;
            !group.refusals.contains(*source) && (has_failed || !must_fail)
        };
        if must_fail {
            return self
                .sources
                .iter()
                .find(|source| may_ask(source))
                .map(|first| TargetId(*first));
        }
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.extend(self.sources.iter().filter(|source| may_ask(source)));
        let place = if candidates.is_empty() { 0 } else { self.policy.choose(taker, &candidates) };
        let source = candidates.get(place).or(candidates.first()).copied();
        candidates.clear();
        self.candidates = candidates;
        source.map(TargetId)
    }

    /// True if this answers the request that `taker` waits for; it waits no longer.
    fn is_answer(&mut self, from: ActorId, taker: TargetId, request: u32) -> bool {
        let source = self.settings.layout.target_of(from);
        let Some(group) = self.group(taker) else { return false };
        let is_it = |ask: &Ask| Some(ask.source) == source && ask.request == request;
        group.asking.take_if(|ask| is_it(ask)).is_some()
    }

    /// An acknowledged write goes to the taker whose offer it answers, whatever happened
    /// meanwhile: nobody else has it now.
    fn give<O: Outputs>(&mut self, from: ActorId, taker: TargetId, ack: Message, out: &mut O) {
        let Message::RerouteAck { write, length_bytes, .. } = ack else { return };
        let Some(source) = self.settings.layout.target_of(from) else { return };
        let group = &mut self.groups[taker.index()];
        group.taken_up = group.offer;
        let request = group.offer;
        let given = if group.allowance_bytes == 0 {
            Message::WriteAdopt { source, request, write, length_bytes }
        } else {
            Message::WriteMore { source, request, write, length_bytes }
        };
        group.given = self.settings.is_lossy().then_some(given);
        out.send(self.settings.layout.sub(taker), given);
    }

    /// There is nothing to give at `from`: ask someone else.
    fn rejected<O: Outputs>(&mut self, from: ActorId, taker: TargetId, out: &mut O) {
        if let Some(source) = self.settings.layout.target_of(from) {
            if self.settings.remembers_rejects {
                self.set_source(source, false)
            } else {
                self.groups[taker.index()].refusals.insert(source.0)
            }
        }
        self.match_taker(taker, out);
    }

    /// A group has something to give now, whatever it said before.
    fn may_be_asked(&mut self, target: TargetId) {
        self.set_source(target, true);
        if !self.settings.remembers_rejects {
            self.groups.iter_mut().for_each(|group| group.refusals.remove(target.0));
        }
    }

    /// Notices of a target's health may be late or repeated: only the newest counts.
    fn lost<O: Outputs>(&mut self, target: TargetId, turns: u32, out: &mut O) {
        let to = self.settings.layout.sub(target);
        let Some(group) = self.group(target) else { return };
        if let Some(given) = group.given.filter(|_| group.offer == group.taken_up) {
            // A failed target does not offer again, which would show that this was lost.
            out.send(to, given);
        }
        if turns <= group.turns {
            return;
        }
        (group.turns, group.has_failed) = (turns, true);
        // A failed target never waits for the first idle one.
        if self.inquiry == Inquiry::NotYet {
            self.inquiry = Inquiry::Done;
        }
        self.may_be_asked(target);
        if self.groups.iter().all(|group| group.has_failed) {
            return self.end(out);
        }
        self.match_all(out);
    }

    fn back<O: Outputs>(&mut self, target: TargetId, turns: u32, out: &mut O) {
        let Some(group) = self.group(target) else { return };
        if turns > group.turns {
            (group.turns, group.has_failed) = (turns, false);
            self.match_taker(target, out);
        }
    }

    fn busy<O: Outputs>(&mut self, target: TargetId, out: &mut O) {
        let Some(group) = self.group(target) else { return };
        group.is_paused = true;
        self.may_be_asked(target);
        self.match_all(out);
    }

    fn group_close<O: Outputs>(&mut self, target: TargetId, out: &mut O) {
        let Some(group) = self.group(target) else { return };
        if !group.is_closed {
            group.is_closed = true;
            self.closed_groups += 1;
            if self.closed_groups == self.groups.len() {
                self.end(out);
            }
        }
    }

    fn end<O: Outputs>(&mut self, out: &mut O) {
        if self.is_closed {
            return;
        }
        self.is_closed = true;
        for target in (0..self.settings.layout.targets).map(TargetId) {
            out.send(self.settings.layout.sub(target), Message::GroupCloseAck);
        }
        out.closed(Closed::Role);
    }

    fn say_again<O: Outputs>(&self, out: &mut O) {
        self.say_inquiry(out);
        for taker in (0..self.settings.layout.targets).map(TargetId) {
            if let Some(Ask { source, request }) = self.groups[taker.index()].asking {
                out.send(self.settings.layout.sub(source), Message::RerouteReq { taker, request });
            }
        }
    }

    fn is_waiting_for_answer(&self) -> bool {
        let is_asking = self.groups.iter().any(|group| group.asking.is_some());
        (is_asking || matches!(self.inquiry, Inquiry::Waits { .. })) && !self.is_closed
    }

    fn hear<O: Outputs>(&mut self, from: ActorId, message: Message, out: &mut O) {
        if self.is_closed {
            // Whoever still says something has not heard that all is over.
            let is_asked = self.settings.layout.target_of(from).is_some();
            if is_asked && self.settings.is_lossy() {
                out.send(from, Message::GroupCloseAck);
            }
            return;
        }
        match message {
            Message::GroupClose { target } => self.group_close(target, out),
            Message::WriteIdle { target, request, allowance_bytes } => {
                self.idle(target, request, allowance_bytes, out);
            }
            Message::WriteBusy { target, .. } => self.busy(target, out),
            Message::TargetLost { target, request } => self.lost(target, request, out),
            Message::TargetBack { target, request } => self.back(target, request, out),
            Message::StatusReply { target, request, queued_bytes } => {
                self.status(target, request, queued_bytes, out);
            }
            Message::RerouteAck { taker, request, .. } => {
                let is_answer = self.is_answer(from, taker, request);
                is_answer.then(|| self.give(from, taker, message, out));
            }
            Message::RerouteReject { taker, request } => {
                let is_answer = self.is_answer(from, taker, request);
                is_answer.then(|| self.rejected(from, taker, out));
            }
            _ => {}
        }
    }
}

impl<S: SourceChoice> Machine for Coordinator<S> {
    fn step<O: Outputs>(&mut self, now_ns: u64, input: Input, out: &mut O) {
        match input {
            Input::Message { from, message } => self.hear(from, message, out),
            Input::Timer { id: TimerId::Retry, generation } if self.retry.rang(generation) => {
                self.say_again(out);
            }
            _ => {}
        }
        if self.settings.is_lossy() && self.is_waiting_for_answer() {
            self.retry.set(now_ns, self.settings.retry_ns, out);
        }
    }
}
