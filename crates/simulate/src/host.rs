//! The simulated world around `route`'s machines: carries out what they ask for on targets, in messages and by timers,
//! gives them what follows from it as inputs, and counts.

mod buffers;

use std::collections::VecDeque;

use plimsoll_route::{ActorId, Attempt, AttemptId, Closed, Commit, Failure, Input, Message};
use plimsoll_route::{Outputs, Refusal, Timer, TimerId};

use crate::clients::Clients;
use crate::messages::{Arrival, InTransit, MessageSettings, Messages, Sent};
use crate::notice::Notice;
use crate::program::Program;
use crate::queue::{Event, EventQueue};
use crate::stage::Stages;
use crate::staging::Staging;
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
    /// Buffers between the program and storage.
    pub staging: Option<Staging>,
    /// Where nodes have limits.
    clients: Option<Clients>,
    timers: Vec<TimerEntry>,
    messages: Messages,
    notice: Notice,
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
            staging: None,
            clients: None,
            timers: vec![TimerEntry::default(); actors * TIMERS],
            messages: Messages::new(settings, actors),
            notice: Notice::new(0, actors),
            finished: Vec::new(),
        }
    }

    /// Machines notice ends only when they look: at these intervals. 0 is at once.
    pub fn notice_every(&mut self, every_ns: u64, actors: usize) {
        self.notice = Notice::new(every_ns, actors);
    }

    /// Nodes have limits.
    pub fn limit_clients(&mut self, clients: Clients) {
        self.clients = Some(clients);
    }

    /// A machine looks which of its writes have ended.
    pub fn look(&mut self, actor: u32) {
        self.notice.look(self.now_ns, actor, &mut self.next_inputs);
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
        let mut finished = std::mem::take(&mut self.finished);
        self.targets[target].take_done(self.now_ns, &mut finished);
        for job in finished.drain(..) {
            let Job { actor, attempt, length_bytes, .. } = job;
            self.tally.done_bytes += length_bytes;
            self.tally.ends += 1;
            let pending_until_ns = self.now_ns;
            if self.notice.is_late() {
                if let Some(at_ns) = self.notice.end(self.now_ns, actor, attempt) {
                    self.queue.push(at_ns, Event::Look(actor));
                }
                continue;
            }
            self.next_inputs.push_back((actor, Input::AttemptDone { attempt, pending_until_ns }));
        }
        self.finished = finished;
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
        self.note_change(target);
        taken.into_iter().for_each(|job| self.fail(job, failure));
    }

    fn fail(&mut self, job: Job, failure: Failure) {
        let Job { actor, attempt, .. } = job;
        self.next_inputs.push_back((actor, Input::AttemptFailed { attempt, failure }));
    }

    fn note_change(&mut self, target: usize) {
        let is_changed = &mut self.service_entries[target].is_changed;
        if !std::mem::replace(is_changed, true) {
            self.changed.push(target as u32);
        }
    }

    /// Shares stages anew among the targets, if one that changed can use more or less than before.
    fn share_stages(&mut self) {
        for target in &self.changed {
            let target = *target as usize;
            self.stages.set_demand(target, self.targets[target].demand());
        }
        let Host { stages, targets, service_entries, changed, now_ns, .. } = self;
        stages.share(|target, limit| {
            let is_new = targets[target].set_limit(*now_ns, limit);
            if is_new && !std::mem::replace(&mut service_entries[target].is_changed, true) {
                changed.push(target as u32);
            }
        });
    }

    /// The same where nodes have limits, too.
    fn share_clients(&mut self) {
        let Host { clients, stages, targets, service_entries, changed, now_ns, .. } = self;
        let Some(clients) = clients else { return };
        for target in &*changed {
            clients.look_at(*target as usize, &targets[*target as usize]);
        }
        clients.share(*now_ns, stages, targets, |target| {
            if !std::mem::replace(&mut service_entries[target].is_changed, true) {
                changed.push(target as u32);
            }
        });
    }

    fn schedule_changed(&mut self) {
        if self.clients.is_some() {
            self.share_clients();
        } else if self.stages.is_limiting() {
            self.share_stages();
        }
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
        let Attempt { attempt, target, write, length_bytes, .. } = attempt;
        let target = target.index();
        let node = self.clients.as_ref().map_or(0, |clients| clients.node_of(write.writer));
        let job = Job { actor: self.actor, attempt, node, length_bytes };
        match self.failures[target] {
            Some(failure) if failure != Failure::Stopped => return self.fail(job, failure),
            _ => {}
        }
        self.targets[target].arrive(self.now_ns, job);
        self.note_change(target);
    }

    fn committed(&mut self, commit: Commit) {
        let target = commit.target.index();
        self.tally.committed(self.now_ns, target, commit.length_bytes);
        self.progress_ns = self.now_ns;
        self.program.committed(self.now_ns, commit.write.writer, commit.length_bytes);
        if let Some(staging) = &mut self.staging {
            staging.freed(self.now_ns, commit.write.writer, commit.length_bytes);
            self.follow_buffers();
        }
    }

    fn refused(&mut self, refusal: Refusal) {
        self.program.broken.get_or_insert(refusal.to_string());
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
