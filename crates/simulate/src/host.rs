//! The simulated world around `route`'s machines: carries out what they ask for on targets, in messages and by timers,
//! gives them what follows from it as inputs, and counts.

use std::collections::VecDeque;

use plimsoll_route::{ActorId, Attempt, AttemptId, Closed, Commit, Failure, Input, Message};
use plimsoll_route::{Outputs, Timer, TimerId};

use crate::messages::{Arrival, InTransit, MessageSettings, Messages, Sent};
use crate::program::Program;
use crate::queue::{Event, EventQueue};
use crate::stage::Stages;
use crate::tally::Tally;
use crate::target::{Job, Target};

/// Everything but the machines.
pub struct Host {
    /// The time.
    pub now_ns: u64,
    /// When something was last committed, or broke.
    pub progress_ns: u64,
    /// The machine that is being stepped.
    pub actor: u32,
    /// What will happen.
    pub queue: EventQueue,
    /// The program that writes.
    pub program: Program,
    /// Counts.
    pub tally: Tally,
    /// Inputs that follow from what just happened, to be given before time goes on.
    pub next_inputs: VecDeque<(u32, Input)>,
    targets: Vec<Target>,
    failures: Vec<Option<Failure>>,
    service_entries: Vec<ServiceEntry>,
    /// Targets that something happened to since time last went on: their next end is looked
    /// at once, however much happened.
    changed: Vec<u32>,
    stages: Stages,
    timers: Vec<TimerEntry>,
    messages: Messages,
    finished: Vec<Job>,
}

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The first event of the queue is due.
    Event {
        /// When.
        at_ns: u64,
    },
    /// A message arrives.
    Message {
        /// When.
        at_ns: u64,
    },
}

/// The one entry of a target in the queue that counts; others are out of date.
#[derive(Debug, Clone, Copy, Default)]
struct ServiceEntry {
    /// 0 is none.
    sequence: u64,
    at_ns: u64,
    /// It is in the list of those that changed.
    is_changed: bool,
}

/// The newest setting of a timer, and the entry in the queue that stands for it.
#[derive(Debug, Clone, Copy, Default)]
struct TimerEntry {
    generation: u32,
    at_ns: u64,
    queued_ns: u64,
}

impl Host {
    /// A world at time zero.
    pub fn new(
        targets: Vec<Target>,
        stages: Stages,
        program: Program,
        settings: MessageSettings,
        actors: usize,
    ) -> Self {
        let count = targets.len();
        Host {
            now_ns: 0,
            progress_ns: 0,
            actor: 0,
            queue: EventQueue::default(),
            program,
            tally: Tally::new(actors, count),
            next_inputs: VecDeque::new(),
            failures: vec![None; count],
            service_entries: vec![ServiceEntry::default(); count],
            changed: Vec::new(),
            targets,
            stages,
            timers: vec![TimerEntry::default(); actors * TIMERS],
            messages: Messages::new(settings, actors),
            finished: Vec::new(),
        }
    }

    /// The targets, to look at.
    pub fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// True when no message is under way.
    pub fn are_messages_delivered(&self) -> bool {
        self.messages.are_delivered()
    }

    /// Returns what happens next; `None` if nothing more does.
    pub fn next(&mut self) -> Option<Next> {
        self.schedule_changed();
        match (self.queue.peek(), self.messages.next()) {
            (Some((at_ns, _)), None) => Some(Next::Event { at_ns }),
            (Some(event), Some(message)) if event < message => Some(Next::Event { at_ns: event.0 }),
            (_, Some((at_ns, _))) => Some(Next::Message { at_ns }),
            (None, None) => None,
        }
    }

    /// Takes the message that arrives next; `None` if its receiver is busy with others.
    pub fn take_message(&mut self) -> Option<(u32, Input)> {
        match self.messages.arrive(self.now_ns)? {
            Arrival::Handled(message) => Some(message.input()),
            Arrival::Waits { at_ns, message } => {
                self.delay(at_ns, message);
                None
            }
        }
    }

    /// Takes a message that was delayed.
    pub fn take_delayed(&mut self, index: u32) -> Option<(u32, Input)> {
        Some(self.messages.take_delayed(index)?.input())
    }

    fn delay(&mut self, at_ns: u64, message: InTransit) {
        let index = self.messages.delay(message);
        self.queue.push(at_ns, Event::Delivery(index));
    }

    /// A timer's entry came up: the timer if it is due.
    pub fn take_timer(&mut self, index: u32) -> Option<(u32, Input)> {
        let entry = &mut self.timers[index as usize];
        if entry.queued_ns != self.now_ns {
            return None;
        }
        entry.queued_ns = 0;
        if entry.at_ns > self.now_ns {
            entry.queued_ns = entry.at_ns;
            self.queue.push(entry.at_ns, Event::Timer(index));
            return None;
        }
        let id =
            if (index as usize).is_multiple_of(TIMERS) { TimerId::Retry } else { TimerId::Overdue };
        let generation = entry.generation;
        Some((index / TIMERS as u32, Input::Timer { id, generation }))
    }

    /// A target's entry came up: inputs for what is done there.
    pub fn serve(&mut self, target: usize, sequence: u64) {
        if self.service_entries[target].sequence != sequence {
            return;
        }
        self.service_entries[target].sequence = 0;
        let mut some_left = false;
        let mut finished = std::mem::take(&mut self.finished);
        self.targets[target].take_done(self.now_ns, &mut finished);
        for job in finished.drain(..) {
            let Job { actor, attempt, length_bytes } = job;
            self.tally.done_bytes += length_bytes;
            self.tally.ends += 1;
            let pending_until_ns = self.now_ns;
            self.next_inputs.push_back((actor, Input::AttemptDone { attempt, pending_until_ns }));
            some_left = true;
        }
        self.finished = finished;
        if some_left && self.targets[target].jobs() == 0 && self.stages.is_limiting() {
            self.change_stages(target, false);
        }
        self.note_change(target);
    }

    /// Others use a target more or less from now on.
    pub fn set_interference(&mut self, target: usize, now: crate::noise::Interference) {
        self.targets[target].set_interference(self.now_ns, now);
        self.note_change(target);
    }

    /// A target fails, in the way that the failure says, or works again.
    pub fn set_failure(&mut self, target: usize, failure: Option<Failure>) {
        self.failures[target] = failure;
        let is_stopped = failure == Some(Failure::Stopped);
        self.targets[target].set_stopped(self.now_ns, is_stopped);
        if let (Some(failure), false) = (failure, is_stopped) {
            self.fail_all(target, failure);
        }
        self.note_change(target);
    }

    /// A target that stopped long ago: writes that are under way there have failed.
    pub fn give_up(&mut self, target: usize) {
        if self.failures[target] == Some(Failure::Stopped) {
            self.fail_all(target, Failure::Stopped);
        }
    }

    fn fail_all(&mut self, target: usize, failure: Failure) {
        let mut taken = Vec::new();
        self.targets[target].take_all(self.now_ns, &mut taken);
        if !taken.is_empty() && self.stages.is_limiting() {
            self.change_stages(target, false);
        }
        taken.into_iter().for_each(|job| self.fail(job, failure));
    }

    fn fail(&mut self, job: Job, failure: Failure) {
        let Job { actor, attempt, .. } = job;
        self.next_inputs.push_back((actor, Input::AttemptFailed { attempt, failure }));
    }

    fn change_stages(&mut self, target: usize, is_busy: bool) {
        for other in self.stages.set_busy(target, is_busy) {
            self.targets[other].set_limit(self.now_ns, self.stages.limit(other));
            if other != target {
                self.note_change(other);
            }
        }
    }

    fn note_change(&mut self, target: usize) {
        let is_changed = &mut self.service_entries[target].is_changed;
        if !std::mem::replace(is_changed, true) {
            self.changed.push(target as u32);
        }
    }

    fn schedule_changed(&mut self) {
        for nth in 0..self.changed.len() {
            let target = self.changed[nth] as usize;
            self.service_entries[target].is_changed = false;
            self.schedule_service(target);
        }
        self.changed.clear();
    }

    /// Sees to it that the queue has an entry for a target no later than its next end. One
    /// that is earlier stays: it is looked at and made again when it comes up.
    fn schedule_service(&mut self, target: usize) {
        let Some(at_ns) = self.targets[target].next_end_ns() else { return };
        let known = self.service_entries[target];
        if known.sequence != 0 && known.at_ns <= at_ns {
            return;
        }
        let sequence = self.queue.push(at_ns, Event::Service(target as u32));
        self.service_entries[target] = ServiceEntry { sequence, at_ns, is_changed: false };
    }
}

/// Timers of a machine: one for each `TimerId`.
const TIMERS: usize = 2;

impl Outputs for Host {
    fn send(&mut self, to: ActorId, message: Message) {
        self.tally.sent(self.actor, to.0, &message);
        let sequence = self.queue.next_sequence();
        let at_ns = self.now_ns + self.messages.latency_ns();
        let message = InTransit { at_ns, sequence, from: self.actor, to: to.0, message };
        match self.messages.send(message) {
            Sent::Once => {}
            Sent::Twice { again_at_ns } => self.delay(again_at_ns, message),
            Sent::Lost => self.tally.lost += 1,
        }
    }

    fn timer(&mut self, timer: Timer) {
        let nth = match timer.id {
            TimerId::Retry => 0,
            TimerId::Overdue => 1,
        };
        let index = self.actor as usize * TIMERS + nth;
        let at_ns = timer.at_ns.max(self.now_ns + 1);
        let entry = &mut self.timers[index];
        (entry.generation, entry.at_ns) = (timer.generation, at_ns);
        if entry.queued_ns == 0 || at_ns < entry.queued_ns {
            entry.queued_ns = at_ns;
            self.queue.push(at_ns, Event::Timer(index as u32));
        }
    }

    fn start(&mut self, attempt: Attempt) {
        let Attempt { attempt, target, length_bytes, .. } = attempt;
        let target = target.index();
        let job = Job { actor: self.actor, attempt, length_bytes };
        match self.failures[target] {
            Some(failure) if failure != Failure::Stopped => return self.fail(job, failure),
            _ => {}
        }
        self.targets[target].arrive(self.now_ns, job);
        if self.targets[target].jobs() == 1 && self.stages.is_limiting() {
            self.change_stages(target, true);
        }
        self.note_change(target);
    }

    fn committed(&mut self, commit: Commit) {
        let target = commit.target.index();
        self.tally.committed_bytes += commit.length_bytes;
        self.tally.target_bytes[target] += commit.length_bytes;
        self.tally.target_end_ns[target] = self.now_ns;
        self.progress_ns = self.now_ns;
        self.program.committed(self.now_ns, commit.write.writer, commit.length_bytes);
    }

    fn superseded(&mut self, _attempt: AttemptId) {
        // It cannot be taken back: it goes on and its end is told to its machine.
    }

    fn closed(&mut self, closed: Closed) {
        if let Closed::Writer { writer, committed_bytes, lost_bytes } = closed {
            self.program.closed(self.now_ns, writer, committed_bytes, lost_bytes);
        }
    }
}

#[cfg(test)]
mod tests;
