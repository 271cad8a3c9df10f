//! A target as a server of jobs: processor sharing, or first in, first out.

mod by_node;
mod line;
mod sharing;

use std::rc::Rc;

use plimsoll_route::AttemptId;

use self::by_node::NodeJobs;
use self::line::Line;
use self::sharing::SharingJobs;
use crate::curve::ServiceCurve;
use crate::filling::Flow;
use crate::noise::Interference;
use crate::scenario::Discipline;

/// What does not change about a target during a run.
#[derive(Debug, Clone)]
pub struct TargetKind {
    /// How it serves.
    pub discipline: Discipline,
    /// Bytes per nanosecond that one stream gets alone.
    pub bytes_per_ns: f64,
    /// How the total depends on the number of streams.
    pub curve: Rc<ServiceCurve>,
    /// The most that one stream can get: its client has only so many RPCs in flight.
    pub stream_cap: f64,
    /// What a request costs beside its bytes, as the bytes that one stream alone gets in that time.
    pub request_bytes: f64,
    /// Writes of different nodes have different rates, because nodes have limits.
    pub is_by_node: bool,
}

/// A target, what it is doing, and what it has done.
#[derive(Debug)]
pub struct Target {
    kind: TargetKind,
    interference: Interference,
    /// The most that a stage before the target lets through now.
    limit: f64,
    is_stopped: bool,
    work: Work,
    /// Where requests cost something: the sum over our jobs of bytes over work.
    data: f64,
    updated_ns: u64,
    /// The integral of our rate over time, to hold against what was completed.
    served_bytes: f64,
    busy_ns: u64,
}

/// A write on a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Job {
    /// The machine that began it, and waits for its end.
    pub actor: u32,
    /// As the machine calls it.
    pub attempt: AttemptId,
    /// The node that it comes from, where that matters.
    pub node: u32,
    /// How much.
    pub length_bytes: u64,
}

#[derive(Debug)]
enum Work {
    Shared(SharingJobs),
    Queued(Line),
    ByNode(NodeJobs),
}

/// A job counts as done this close to its end: less than a nanosecond at any rate that a
/// target has.
const ROUNDING_BYTES: f64 = 1e-6;

impl Target {
    /// An idle target.
    pub fn new(kind: TargetKind, interference: Interference) -> Self {
        let work = match kind.discipline {
            Discipline::ProcessorSharing if kind.is_by_node => Work::ByNode(NodeJobs::default()),
            Discipline::ProcessorSharing => Work::Shared(SharingJobs::default()),
            Discipline::Fifo => Work::Queued(Line::default()),
        };
        Target {
            kind,
            interference,
            limit: f64::INFINITY,
            is_stopped: false,
            work,
            data: 0.0,
            updated_ns: 0,
            served_bytes: 0.0,
            busy_ns: 0,
        }
    }

    /// Jobs of ours.
    pub fn jobs(&self) -> u32 {
        match &self.work {
            Work::Shared(shared) => shared.len() as u32,
            Work::Queued(line) => line.own(),
            Work::ByNode(jobs) => jobs.len(),
        }
    }

    /// The job that most likely ends first, where that is quickly told.
    pub fn first_job(&self) -> Option<&Job> {
        match &self.work {
            Work::Shared(shared) => shared.first(),
            Work::Queued(_) | Work::ByNode(_) => None,
        }
    }

    /// The integral of our rate over time, in bytes.
    pub fn served_bytes(&self) -> f64 {
        self.served_bytes
    }

    /// Time during which it had work of ours.
    pub fn busy_ns(&self) -> u64 {
        self.busy_ns
    }

    /// A job of ours begins.
    pub fn arrive(&mut self, now_ns: u64, job: Job) {
        self.advance(now_ns);
        let work = self.kind.work(job.length_bytes as f64);
        if self.kind.request_bytes > 0.0 {
            self.data += job.length_bytes as f64 / work;
        }
        let noise = self.noise_work();
        match &mut self.work {
            Work::Shared(shared) => shared.push(job, work),
            Work::Queued(line) => line.push(job, work, self.interference.streams, noise),
            Work::ByNode(jobs) => jobs.push(job, work),
        }
    }

    /// When the next job may be done if nothing changes; `None` when none will be.
    pub fn next_end_ns(&self) -> Option<u64> {
        let (left, rate) = match &self.work {
            Work::Shared(shared) => (shared.first_left()?, self.stream_rate()),
            Work::Queued(line) => (line.first_left()?, self.head_rate()),
            Work::ByNode(jobs) => (Some(jobs.first_left_ns()).filter(|ns| ns.is_finite())?, 1.0),
        };
        // Rounded up, and at least one: time goes on whatever floating point says.
        (rate > 0.0).then(|| self.updated_ns.saturating_add((left / rate).ceil().max(1.0) as u64))
    }

    /// Puts the jobs of ours that are done by now into `done`.
    pub fn take_done(&mut self, now_ns: u64, done: &mut Vec<Job>) {
        self.advance(now_ns);
        let (before, noise) = (done.len(), self.noise_work());
        match &mut self.work {
            Work::Shared(shared) => shared.take_done(done),
            Work::Queued(line) => line.take_done(noise, done),
            Work::ByNode(jobs) => jobs.take_done(self.kind.request_bytes, done),
        }
        self.forget_data(&done[before..]);
    }

    /// Others use the target more or less from now on.
    pub fn set_interference(&mut self, now_ns: u64, interference: Interference) {
        self.advance(now_ns);
        self.interference = interference;
    }

    /// A stage before the target lets so much through from now on. Tells whether that is something new.
    pub fn set_limit(&mut self, now_ns: u64, bytes_per_ns: f64) -> bool {
        let is_new = self.limit != bytes_per_ns;
        if is_new {
            self.advance(now_ns);
            self.limit = bytes_per_ns;
        }
        is_new
    }

    /// It answers no more, or again.
    pub fn set_stopped(&mut self, now_ns: u64, is_stopped: bool) {
        self.advance(now_ns);
        self.is_stopped = is_stopped;
    }

    /// Takes all jobs of ours away, done or not.
    pub fn take_all(&mut self, now_ns: u64, taken: &mut Vec<Job>) {
        self.advance(now_ns);
        let before = taken.len();
        match &mut self.work {
            Work::Shared(shared) => shared.take_all(taken),
            Work::Queued(line) => line.take_all(taken),
            Work::ByNode(jobs) => jobs.take_all(taken),
        }
        self.forget_data(&taken[before..]);
    }

    /// The work that all streams of ours get done together in a nanosecond, were there `streams` of
    /// them. Stages and clients limit bytes: what requests cost beside them is on top.
    pub fn own_rate(&self, streams: u32) -> f64 {
        self.own_rate_within(streams, self.limit)
    }

    /// Bytes per nanosecond that the target could use now if no stage limited them.
    pub fn demand(&self) -> f64 {
        let streams = self.jobs();
        let costs = self.kind.request_bytes > 0.0;
        match &self.work {
            Work::Shared(_) | Work::ByNode(_) if costs => {
                self.own_rate_within(streams, f64::INFINITY) * self.data / f64::from(streams.max(1))
            }
            Work::Shared(_) | Work::ByNode(_) => self.own_rate_within(streams, f64::INFINITY),
            Work::Queued(_) if streams == 0 => 0.0,
            Work::Queued(_) if costs => self.head_rate_within(f64::INFINITY) * self.head_share(),
            Work::Queued(_) => self.head_rate_within(f64::INFINITY),
        }
    }

    /// Work that the target could do now in a nanosecond if nothing before it limited that.
    pub fn capacity(&self) -> f64 {
        match &self.work {
            Work::Queued(_) => self.head_rate_within(f64::INFINITY),
            _ => self.own_rate_within(self.jobs(), f64::INFINITY),
        }
    }

    /// Puts what the target serves now into `flows`: the writes of each node, or what is at the head of the queue.
    pub fn flows(&self, target: u32, flows: &mut Vec<Flow>) {
        let cap = self.kind.stream_cap;
        match &self.work {
            Work::Queued(line) if line.own() > 0 => {
                let (node, data) = (line.head().map(|job| job.node), self.head_share());
                flows.push(Flow { target, node, writes: 1.0, data, most: cap / data });
            }
            Work::ByNode(jobs) => flows.extend(jobs.shares().map(|share| {
                let (writes, data) = (f64::from(share.jobs), share.data);
                let most = cap * writes / data;
                Flow { target, node: Some(share.node), writes, data, most }
            })),
            _ => {}
        }
    }

    /// Sets how much work of each of the `flows` gets done in a nanosecond, in their order. Tells whether anything is new.
    pub fn set_rates(&mut self, now_ns: u64, mut rates: impl Iterator<Item = f64>) -> bool {
        if let Work::Queued(_) = self.work {
            let limit = rates.next().map_or(f64::INFINITY, |rate| rate * self.head_share());
            return self.set_limit(now_ns, limit);
        }
        self.advance(now_ns);
        match &mut self.work {
            Work::ByNode(jobs) => jobs.set_rates(rates),
            _ => false,
        }
    }

    fn own_rate_within(&self, streams: u32, limit: f64) -> f64 {
        if streams == 0 || self.is_stopped {
            return 0.0;
        }
        let all = u64::from(streams) + u64::from(self.interference.streams);
        let total =
            self.kind.bytes_per_ns * self.kind.curve.share(all) / self.interference.slowdown;
        let bytes_max = (self.kind.stream_cap * f64::from(streams)).min(limit);
        let own = total * self.interference.own_fraction(streams);
        match self.kind.request_bytes > 0.0 {
            true => own.min(bytes_max * f64::from(streams) / self.data),
            false => own.min(bytes_max),
        }
    }

    fn stream_rate(&self) -> f64 {
        let streams = self.jobs();
        self.own_rate(streams) / f64::from(streams.max(1))
    }

    /// Rate of the job at the head of the queue, ours or not.
    fn head_rate(&self) -> f64 {
        self.head_rate_within(self.limit)
    }

    fn head_rate_within(&self, limit: f64) -> f64 {
        if self.is_stopped {
            return 0.0;
        }
        let alone = self.kind.bytes_per_ns * self.kind.curve.share(1) / self.interference.slowdown;
        let bytes_max = self.kind.stream_cap.min(limit);
        match self.kind.request_bytes > 0.0 {
            true => alone.min(bytes_max / self.head_share()),
            false => alone.min(bytes_max),
        }
    }

    /// Of the work at the head of the queue, the share that is data.
    fn head_share(&self) -> f64 {
        let Work::Queued(line) = &self.work else { return 1.0 };
        let own = line.head().map(|job| job.length_bytes as f64);
        let bytes = own.unwrap_or(self.interference.block_bytes);
        bytes / self.kind.work(bytes)
    }

    /// Work of a block of others in a queue.
    fn noise_work(&self) -> f64 {
        self.kind.work(self.interference.block_bytes)
    }

    /// Jobs have left.
    fn forget_data(&mut self, jobs: &[Job]) {
        if self.kind.request_bytes > 0.0 {
            let share = |job: &Job| {
                let bytes = job.length_bytes as f64;
                bytes / self.kind.work(bytes)
            };
            self.data -= jobs.iter().map(share).sum::<f64>();
            if self.jobs() == 0 {
                self.data = 0.0;
            }
        }
    }

    fn advance(&mut self, now_ns: u64) {
        let elapsed_ns = now_ns.saturating_sub(self.updated_ns);
        self.updated_ns = now_ns;
        let jobs = self.jobs();
        if elapsed_ns == 0 || jobs == 0 {
            return;
        }
        self.busy_ns += elapsed_ns;
        let rate = match &self.work {
            Work::Shared(_) => self.stream_rate(),
            Work::Queued(_) => self.head_rate(),
            Work::ByNode(_) => 1.0,
        };
        let given = rate * elapsed_ns as f64;
        let costs = self.kind.request_bytes > 0.0;
        let head_share = if costs { self.head_share() } else { 1.0 };
        match &mut self.work {
            Work::Shared(shared) => {
                shared.clock += given;
                self.served_bytes += given * if costs { self.data } else { f64::from(jobs) };
            }
            Work::Queued(line) => self.served_bytes += line.serve(given) * head_share,
            Work::ByNode(jobs) => self.served_bytes += jobs.serve(given),
        }
    }
}

impl TargetKind {
    /// The work of a request: its bytes, and what it costs beside them.
    fn work(&self, bytes: f64) -> f64 {
        bytes + self.request_bytes
    }
}

#[cfg(test)]
mod tests;
