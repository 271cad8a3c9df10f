//! The host of a router's machines: delivers messages, keeps timers, passes writes to processes.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

use plimsoll_route::{
    ActorId, AnyRouter, Attempt, AttemptId, Closed, Commit, Failure, Input, Message, Outputs,
    Refusal, Router, TargetId, Timer, TimerId,
};
use plimsoll_wire::clock::monotonic;

use crate::RaceError;
use crate::ledger::{Committed, Ledger, Open, concerns};

/// What the router wants of the writers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Request {
    /// A write.
    Start(Attempt),
    /// This writer has nothing to do any more.
    Finish(u32),
}

/// The machines, and what lies between them.
pub(crate) struct Host {
    router: AnyRouter,
    state: State,
}

struct State {
    now_ns: u64,
    coordinator: Option<ActorId>,
    messages: VecDeque<(ActorId, ActorId, Message)>,
    timers: BinaryHeap<Reverse<(u64, u32, TimerId, u32)>>,
    requests: Vec<Request>,
    ledger: Ledger,
    /// Where the write that just ended lies.
    ended_offset: u64,
    failed_targets: BTreeSet<u16>,
    refusal: Option<Refusal>,
}

impl Host {
    pub fn new(router: AnyRouter, writers: usize) -> Self {
        let coordinator = router.coordinator();
        let state = State {
            now_ns: monotonic(),
            coordinator,
            messages: VecDeque::new(),
            timers: BinaryHeap::new(),
            requests: Vec::new(),
            ledger: Ledger::new(writers),
            ended_offset: 0,
            failed_targets: BTreeSet::new(),
            refusal: None,
        };
        let mut host = Host { router, state };
        host.tell_all(Input::Begin);
        host
    }

    pub fn ledger(&self) -> &Ledger {
        &self.state.ledger
    }

    pub fn into_ledger(self) -> Ledger {
        self.state.ledger
    }

    pub fn router(&self) -> &AnyRouter {
        &self.router
    }

    /// Nothing is under way and no timer is set: only a word from outside can change that.
    pub fn is_at_rest(&self) -> bool {
        self.state.ledger.open.is_empty() && self.state.timers.is_empty()
    }

    /// What the router wants since this was asked last.
    pub fn take_requests(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.state.requests)
    }

    /// A writer has more to write.
    ///
    /// # Errors
    /// Fails if the router refuses it.
    pub fn submit(&mut self, writer: u32, length_bytes: u64) -> Result<(), RaceError> {
        self.state.ledger.submitted[writer as usize].push(length_bytes);
        self.tell(self.router.actor_of(writer), Input::Submit { writer, length_bytes });
        self.state.refusal.take().map_or(Ok(()), |refusal| Err(RaceError::Refused(refusal)))
    }

    pub fn close(&mut self, writer: u32) {
        self.tell(self.router.actor_of(writer), Input::Close { writer });
    }

    /// A write ended, well or with an error number.
    pub fn ended(&mut self, writer: u32, attempt: AttemptId, offset: u64, error: Option<i32>) {
        let now_ns = monotonic();
        let Some(open) = self.state.ledger.end(writer, attempt, now_ns) else { return };
        let actor = self.router.actor_of(writer);
        match error.map(failure_of) {
            None => {
                self.state.ended_offset = offset;
                self.tell(actor, Input::AttemptDone { attempt, pending_until_ns: now_ns });
            }
            Some(failure) => {
                self.state.ledger.failed_attempts += 1;
                self.tell(actor, Input::AttemptFailed { attempt, failure });
                self.target_failed(open.attempt.target, failure);
            }
        }
    }

    fn target_failed(&mut self, target: TargetId, failure: Failure) {
        if self.state.failed_targets.insert(target.0) {
            self.tell_all(Input::TargetFailed { target, failure });
        }
    }

    /// A process is gone: nothing of what it had under way will be heard of.
    pub fn writer_died(&mut self, writer: u32) {
        self.state.ledger.open.retain(|(owner, _), _| *owner != writer);
        self.tell_all(Input::WriterDied { writer });
    }

    /// Gives machines the timers that are due. Says when the next one is.
    pub fn ring_timers(&mut self) -> Option<u64> {
        loop {
            let Reverse((at_ns, actor, id, generation)) = *self.state.timers.peek()?;
            if at_ns > monotonic() {
                return Some(at_ns);
            }
            self.state.timers.pop();
            self.tell(ActorId(actor), Input::Timer { id, generation });
        }
    }

    fn tell_all(&mut self, input: Input) {
        (0..self.router.actors()).for_each(|actor| self.tell(ActorId(actor), input));
    }

    /// One input, and all messages that follow from it.
    fn tell(&mut self, actor: ActorId, input: Input) {
        self.step(actor, input);
        while let Some((from, to, message)) = self.state.messages.pop_front() {
            self.step(to, Input::Message { from, message });
        }
    }

    fn step(&mut self, actor: ActorId, input: Input) {
        self.state.now_ns = monotonic().max(self.state.now_ns);
        let now_ns = self.state.now_ns;
        self.router.step(actor, now_ns, input, &mut Sink { actor, state: &mut self.state });
    }
}

/// The router knows three ways to fail. What is under way on a target ends here in any case,
/// because the kernel says so; so none is taken for stopped.
fn failure_of(error: i32) -> Failure {
    match error {
        libc::ENOSPC | libc::EDQUOT | libc::EFBIG => Failure::Full,
        _ => Failure::ReadOnly,
    }
}

struct Sink<'a> {
    actor: ActorId,
    state: &'a mut State,
}

impl Outputs for Sink<'_> {
    fn send(&mut self, to: ActorId, message: Message) {
        let is_coordinators = concerns(self.state.coordinator, self.actor, to);
        self.state.ledger.message(is_coordinators, &message);
        self.state.messages.push_back((self.actor, to, message));
    }

    fn timer(&mut self, timer: Timer) {
        let Timer { id, generation, at_ns } = timer;
        self.state.timers.push(Reverse((at_ns, self.actor.0, id, generation)));
    }

    fn start(&mut self, attempt: Attempt) {
        let started_ns = self.state.now_ns;
        let name = (attempt.write.writer, attempt.attempt);
        self.state.ledger.open.insert(name, Open { attempt, started_ns });
        self.state.ledger.attempts += 1;
        self.state.requests.push(Request::Start(attempt));
    }

    fn committed(&mut self, commit: Commit) {
        let (file_offset, now_ns) = (self.state.ended_offset, self.state.now_ns);
        self.state.ledger.commit(Committed { attempt: commit, file_offset }, now_ns);
    }

    fn superseded(&mut self, _attempt: AttemptId) {
        self.state.ledger.superseded += 1;
    }

    fn refused(&mut self, refusal: Refusal) {
        self.state.refusal.get_or_insert(refusal);
    }

    fn closed(&mut self, closed: Closed) {
        if let Closed::Writer { writer, .. } = closed {
            self.state.requests.push(Request::Finish(writer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Contender;

    #[test]
    fn a_submission_after_the_close_is_an_error() {
        for policy in ["static", "striped", "window", "coordinator"] {
            let router = Contender::new(policy.parse().unwrap(), 0.0).router(2, 2);
            let mut host = Host::new(router, 2);
            host.submit(1, 4096).unwrap();
            host.close(1);
            let said = host.submit(1, 512).unwrap_err().to_string();
            assert_eq!(said, "the router refused 512 bytes of writer 1, which has closed");
            host.submit(0, 4096).unwrap();
        }
    }
}
