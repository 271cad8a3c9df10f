//! Targets that share their rate equally among writes, messages with a latency, timers.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use plimsoll_route::{
    ActorId, Attempt, AttemptId, Closed, Commit, Input, Message, Outputs, Refusal, Router, Timer,
};

/// One target: processor sharing in virtual time.
#[derive(Clone)]
pub struct Target {
    /// Bytes per nanosecond, shared by writes and noise.
    pub rate: f64,
    /// Streams of others, each of which takes as much as one write.
    pub noise: f64,
    served: f64,
    last_ns: u64,
    jobs: BinaryHeap<Reverse<Job>>,
    pending_ns: u64,
    pub written: u64,
}

#[derive(Clone, PartialEq)]
struct Job {
    ends: f64,
    actor: ActorId,
    attempt: Attempt,
}

impl Eq for Job {}
impl PartialOrd for Job {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Job {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let tie = (self.actor, self.attempt.write).cmp(&(other.actor, other.attempt.write));
        self.ends.total_cmp(&other.ends).then(tie)
    }
}

impl Target {
    pub fn new(rate: f64, noise: f64) -> Self {
        let jobs = BinaryHeap::new();
        Target { rate, noise, served: 0.0, last_ns: 0, jobs, pending_ns: u64::MAX, written: 0 }
    }

    fn each(&self) -> f64 {
        self.rate / (self.jobs.len() as f64 + self.noise)
    }

    fn advance(&mut self, now_ns: u64) {
        if !self.jobs.is_empty() {
            self.served += self.each() * (now_ns - self.last_ns) as f64;
        }
        self.last_ns = now_ns;
    }

    fn next_end_ns(&self) -> Option<u64> {
        let Reverse(job) = self.jobs.peek()?;
        let left = (job.ends - self.served).max(0.0);
        Some(self.last_ns + (left / self.each()).ceil() as u64)
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Target(u16),
    Timer(u32, plimsoll_route::TimerId, u32),
    Rate(usize),
}

/// A change of a target's rate.
pub struct Change {
    pub at_ns: u64,
    pub target: usize,
    pub rate: f64,
}

pub struct World {
    pub now_ns: u64,
    pub targets: Vec<Target>,
    latency_ns: u64,
    due: BinaryHeap<Reverse<(u64, u64, Due)>>,
    order: u64,
    messages: VecDeque<(u64, ActorId, ActorId, Message)>,
    pub changes: Vec<Change>,
    pub closed: u32,
    pub lost_bytes: u64,
    pub committed_bytes: u64,
    pub last_commit_ns: u64,
    pub events: u64,
    pub message_count: u64,
    pub attempts: u64,
    pub wasted_bytes: u64,
}

impl World {
    pub fn new(targets: Vec<Target>, changes: Vec<Change>) -> Self {
        let mut world = World {
            now_ns: 0,
            targets,
            latency_ns: 5_000,
            due: BinaryHeap::new(),
            order: 0,
            messages: VecDeque::new(),
            changes,
            closed: 0,
            lost_bytes: 0,
            committed_bytes: 0,
            last_commit_ns: 0,
            events: 0,
            message_count: 0,
            attempts: 0,
            wasted_bytes: 0,
        };
        for index in 0..world.changes.len() {
            world.at(world.changes[index].at_ns, Due::Rate(index));
        }
        world
    }

    fn at(&mut self, at_ns: u64, due: Due) {
        self.order += 1;
        self.due.push(Reverse((at_ns, self.order, due)));
    }

    fn schedule(&mut self, index: usize) {
        let Some(end_ns) = self.targets[index].next_end_ns() else { return };
        if end_ns < self.targets[index].pending_ns {
            self.targets[index].pending_ns = end_ns;
            self.at(end_ns, Due::Target(index as u16));
        }
    }

    /// Runs until every writer is closed. Says how long it took, in nanoseconds.
    pub fn run<R: Router>(&mut self, router: &mut R, writers: u32, blocks: &[u64]) -> u64 {
        for actor in 0..router.actors() {
            self.step(router, ActorId(actor), Input::Begin);
        }
        for length_bytes in blocks {
            for writer in 0..writers {
                let length_bytes = *length_bytes;
                self.step(router, router.actor_of(writer), Input::Submit { writer, length_bytes });
            }
        }
        for writer in 0..writers {
            self.step(router, router.actor_of(writer), Input::Close { writer });
        }
        while self.closed < writers {
            assert!(
                self.one(router),
                "nothing left to happen, {} of {writers} closed",
                self.closed
            );
        }
        self.last_commit_ns
    }

    fn step<R: Router>(&mut self, router: &mut R, actor: ActorId, input: Input) {
        self.events += 1;
        let now_ns = self.now_ns;
        router.step(actor, now_ns, input, &mut Sink { world: self, actor });
    }

    fn one<R: Router>(&mut self, router: &mut R) -> bool {
        let due_ns = self.due.peek().map_or(u64::MAX, |Reverse((at_ns, ..))| *at_ns);
        if self.messages.front().is_some_and(|(at_ns, ..)| *at_ns <= due_ns) {
            let Some((at_ns, from, to, message)) = self.messages.pop_front() else { return false };
            self.now_ns = at_ns;
            self.step(router, to, Input::Message { from, message });
            return true;
        }
        let Some(Reverse((at_ns, _, due))) = self.due.pop() else { return false };
        self.now_ns = at_ns;
        match due {
            Due::Timer(actor, id, generation) => {
                self.step(router, ActorId(actor), Input::Timer { id, generation });
            }
            Due::Rate(index) => {
                let target = self.changes[index].target;
                self.targets[target].advance(at_ns);
                self.targets[target].rate = self.changes[index].rate;
                self.schedule(target);
            }
            Due::Target(index) => self.serve(router, usize::from(index)),
        }
        true
    }

    fn serve<R: Router>(&mut self, router: &mut R, index: usize) {
        if self.targets[index].pending_ns != self.now_ns {
            return;
        }
        self.targets[index].pending_ns = u64::MAX;
        self.targets[index].advance(self.now_ns);
        let is_done = |target: &Target| {
            target.jobs.peek().is_some_and(|Reverse(job)| job.ends <= target.served + 1e-3)
        };
        while is_done(&self.targets[index]) {
            let Some(Reverse(job)) = self.targets[index].jobs.pop() else { break };
            self.targets[index].written += job.attempt.length_bytes;
            let (attempt, pending_until_ns) = (job.attempt.attempt, self.now_ns);
            self.step(router, job.actor, Input::AttemptDone { attempt, pending_until_ns });
        }
        self.schedule(index);
    }
}

struct Sink<'a> {
    world: &'a mut World,
    actor: ActorId,
}

impl Outputs for Sink<'_> {
    fn send(&mut self, to: ActorId, message: Message) {
        let at_ns = self.world.now_ns + self.world.latency_ns;
        self.world.message_count += 1;
        self.world.messages.push_back((at_ns, self.actor, to, message));
    }

    fn timer(&mut self, timer: Timer) {
        self.world.at(timer.at_ns, Due::Timer(self.actor.0, timer.id, timer.generation));
    }

    fn start(&mut self, attempt: Attempt) {
        let index = attempt.target.index();
        let now_ns = self.world.now_ns;
        let target = &mut self.world.targets[index];
        target.advance(now_ns);
        let ends = target.served + attempt.length_bytes as f64;
        target.jobs.push(Reverse(Job { ends, actor: self.actor, attempt }));
        self.world.attempts += 1;
        self.world.schedule(index);
    }

    fn committed(&mut self, commit: Commit) {
        self.world.committed_bytes += commit.length_bytes;
        self.world.last_commit_ns = self.world.now_ns;
    }

    fn refused(&mut self, refusal: Refusal) {
        panic!("{refusal}");
    }

    fn superseded(&mut self, _attempt: AttemptId) {
        self.world.wasted_bytes += 1;
    }

    fn closed(&mut self, closed: Closed) {
        if let Closed::Writer { lost_bytes, .. } = closed {
            self.world.closed += 1;
            self.world.lost_bytes += lost_bytes;
        }
    }
}
