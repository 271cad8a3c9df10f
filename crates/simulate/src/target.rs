//! A target as a server of jobs: processor sharing, or first in, first out.
//!
//! Sharing is fluid. Every stream of ours gets the same rate, so one virtual clock counts
//! the bytes that each has received since it began, a job is done when that clock reaches
//! its mark, and an arrival or departure costs one heap operation.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::rc::Rc;

use crate::curve::ServiceCurve;
use crate::noise::Interference;

/// How a target serves several jobs at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Discipline {
    /// All at the same time, in equal parts.
    #[default]
    ProcessorSharing,
    /// One after the other, in the order in which they came.
    Fifo,
}

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
    updated_ns: u64,
    /// The integral of our rate over time, to hold against what was completed.
    served_bytes: f64,
    busy_ns: u64,
}

#[derive(Debug)]
enum Work {
    Shared(Shared),
    Queued(Queued),
}

/// Processor sharing: (virtual finish, order of arrival, job).
#[derive(Debug, Default)]
struct Shared {
    /// Bytes that each stream has received since the target was last idle.
    clock: f64,
    arrivals: u32,
    /// Finishes are not negative, so their bits sort as they do.
    streams: BinaryHeap<Reverse<(u64, u32, u32)>>,
}

/// First in, first out. Noise has one block waiting for each of its streams.
#[derive(Debug, Default)]
struct Queued {
    /// (job, or `NOISE`; bytes left).
    jobs: VecDeque<(u32, f64)>,
    own: u32,
}

const NOISE: u32 = u32::MAX;

/// A job counts as done this close to its end: less than a nanosecond at any rate that a
/// target has.
const ROUNDING_BYTES: f64 = 1e-6;

impl Target {
    /// An idle target.
    pub fn new(kind: TargetKind, interference: Interference) -> Self {
        let work = match kind.discipline {
            Discipline::ProcessorSharing => Work::Shared(Shared::default()),
            Discipline::Fifo => Work::Queued(Queued::default()),
        };
        Target {
            kind,
            interference,
            limit: f64::INFINITY,
            is_stopped: false,
            work,
            updated_ns: 0,
            served_bytes: 0.0,
            busy_ns: 0,
        }
    }

    /// Jobs of ours.
    pub fn jobs(&self) -> u32 {
        match &self.work {
            Work::Shared(shared) => shared.streams.len() as u32,
            Work::Queued(queued) => queued.own,
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
    pub fn arrive(&mut self, now_ns: u64, job: u32, bytes: u64) {
        self.advance(now_ns);
        match &mut self.work {
            Work::Shared(shared) => {
                let finish = shared.clock + bytes as f64;
                shared.streams.push(Reverse((finish.to_bits(), shared.arrivals, job)));
                shared.arrivals = shared.arrivals.wrapping_add(1);
            }
            Work::Queued(queued) => {
                if queued.own == 0 {
                    let blocks = self.interference.streams as usize;
                    let block = self.interference.block_bytes;
                    queued.jobs.extend(std::iter::repeat_n((NOISE, block), blocks));
                }
                queued.own += 1;
                queued.jobs.push_back((job, bytes as f64));
            }
        }
    }

    /// When the next job may be done if nothing changes; `None` when none will be.
    pub fn next_end_ns(&self) -> Option<u64> {
        let (left, rate) = match &self.work {
            Work::Shared(shared) => {
                let Reverse((finish, _, _)) = shared.streams.peek()?;
                (f64::from_bits(*finish) - shared.clock, self.stream_rate())
            }
            Work::Queued(queued) => (queued.jobs.front()?.1, self.head_rate()),
        };
        // Rounded up, and at least one: time goes on whatever floating point says.
        (rate > 0.0).then(|| self.updated_ns.saturating_add((left / rate).ceil().max(1.0) as u64))
    }

    /// Puts the jobs of ours that are done by now into `done`.
    pub fn take_done(&mut self, now_ns: u64, done: &mut Vec<u32>) {
        self.advance(now_ns);
        match &mut self.work {
            Work::Shared(shared) => {
                while let Some(Reverse((finish, _, job))) = shared.streams.peek() {
                    if f64::from_bits(*finish) > shared.clock + ROUNDING_BYTES {
                        break;
                    }
                    done.push(*job);
                    shared.streams.pop();
                }
                if shared.streams.is_empty() {
                    shared.clock = 0.0;
                }
            }
            Work::Queued(queued) => queued.take_done(self.interference.block_bytes, done),
        }
    }

    /// Others use the target more or less from now on.
    pub fn set_interference(&mut self, now_ns: u64, interference: Interference) {
        self.advance(now_ns);
        self.interference = interference;
    }

    /// A stage before the target lets so much through from now on.
    pub fn set_limit(&mut self, now_ns: u64, bytes_per_ns: f64) {
        if self.limit != bytes_per_ns {
            self.advance(now_ns);
            self.limit = bytes_per_ns;
        }
    }

    /// It answers no more, or again.
    pub fn set_stopped(&mut self, now_ns: u64, is_stopped: bool) {
        self.advance(now_ns);
        self.is_stopped = is_stopped;
    }

    /// Takes all jobs of ours away, done or not.
    pub fn take_all(&mut self, now_ns: u64, taken: &mut Vec<u32>) {
        self.advance(now_ns);
        match &mut self.work {
            Work::Shared(shared) => {
                let in_order = std::mem::take(&mut shared.streams).into_sorted_vec();
                taken.extend(in_order.iter().rev().map(|Reverse((_, _, job))| *job));
                shared.clock = 0.0;
            }
            Work::Queued(queued) => {
                let own = queued.jobs.drain(..).filter(|(job, _)| *job != NOISE);
                taken.extend(own.map(|(job, _)| job));
                queued.own = 0;
            }
        }
    }

    /// The rate that all streams of ours get together, were there `streams` of them.
    pub fn own_rate(&self, streams: u32) -> f64 {
        if streams == 0 || self.is_stopped {
            return 0.0;
        }
        let all = u64::from(streams) + u64::from(self.interference.streams);
        let total =
            self.kind.bytes_per_ns * self.kind.curve.share(all) / self.interference.slowdown;
        (total * self.interference.own_fraction(streams))
            .min(self.kind.stream_cap * f64::from(streams))
            .min(self.limit)
    }

    fn stream_rate(&self) -> f64 {
        let streams = self.jobs();
        self.own_rate(streams) / f64::from(streams.max(1))
    }

    /// Rate of the job at the head of the queue, ours or not.
    fn head_rate(&self) -> f64 {
        if self.is_stopped {
            return 0.0;
        }
        let alone = self.kind.bytes_per_ns * self.kind.curve.share(1) / self.interference.slowdown;
        alone.min(self.kind.stream_cap).min(self.limit)
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
        };
        let given = rate * elapsed_ns as f64;
        match &mut self.work {
            Work::Shared(shared) => {
                shared.clock += given;
                self.served_bytes += given * f64::from(jobs);
            }
            Work::Queued(queued) => self.served_bytes += queued.serve(given),
        }
    }
}

impl Queued {
    /// Gives the head so many bytes; tells how many of them were ours.
    fn serve(&mut self, bytes: f64) -> f64 {
        let Some((job, left)) = self.jobs.front_mut() else { return 0.0 };
        *left -= bytes;
        if *job == NOISE { 0.0 } else { bytes }
    }

    fn take_done(&mut self, noise_block_bytes: f64, done: &mut Vec<u32>) {
        while let Some((job, left)) = self.jobs.front().copied() {
            if left > ROUNDING_BYTES {
                return;
            }
            self.jobs.pop_front();
            if job == NOISE {
                self.jobs.push_back((NOISE, noise_block_bytes));
                continue;
            }
            done.push(job);
            self.own -= 1;
            if self.own == 0 {
                self.jobs.clear();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn target(discipline: Discipline, interference: Interference) -> Target {
        let kind = TargetKind {
            discipline,
            bytes_per_ns: 1.0,
            curve: Rc::new(ServiceCurve::flat()),
            stream_cap: f64::INFINITY,
        };
        Target::new(kind, interference)
    }

    /// Runs until empty; (job, end) in order.
    fn ends(target: &mut Target) -> Vec<(u32, u64)> {
        let (mut all, mut done) = (Vec::new(), Vec::new());
        while let Some(at) = target.next_end_ns() {
            target.take_done(at, &mut done);
            all.extend(done.drain(..).map(|job| (job, at)));
        }
        all
    }

    #[test]
    fn streams_share_and_the_shorter_ends_first() {
        let mut shared = target(Discipline::ProcessorSharing, Interference::none());
        shared.arrive(0, 1, 3 * SECOND);
        shared.arrive(0, 2, SECOND);
        // Both at one half until 2 s; then 2 s of work are left, alone.
        assert_eq!(ends(&mut shared), [(2, 2 * SECOND), (1, 4 * SECOND)]);
        assert!((shared.served_bytes() - 4e9).abs() < 10.0);
        assert_eq!(shared.busy_ns(), 4 * SECOND);
    }

    #[test]
    fn a_queue_serves_one_after_the_other_and_noise_in_between() {
        let mut queue = target(Discipline::Fifo, Interference::none());
        queue.arrive(0, 1, 3 * SECOND);
        queue.arrive(0, 2, SECOND);
        assert_eq!(ends(&mut queue), [(1, 3 * SECOND), (2, 4 * SECOND)]);

        let noise = Interference { streams: 2, block_bytes: 1e9, ..Interference::none() };
        let mut noisy = target(Discipline::Fifo, noise);
        noisy.arrive(0, 1, SECOND);
        noisy.arrive(0, 2, SECOND);
        // Two blocks of noise are before us, and come again behind us.
        assert_eq!(ends(&mut noisy), [(1, 3 * SECOND), (2, 4 * SECOND)]);
        noisy.arrive(10 * SECOND, 3, SECOND);
        assert_eq!(ends(&mut noisy), [(3, 13 * SECOND)]);
        assert!((noisy.served_bytes() - 3e9).abs() < 10.0, "noise is not ours");
    }

    #[test]
    fn noise_takes_its_share() {
        let by_job = Interference { streams: 16, ..Interference::none() };
        let mut noisy = target(Discipline::ProcessorSharing, by_job);
        for job in 0..4 {
            noisy.arrive(0, job, SECOND);
        }
        assert_eq!(ends(&mut noisy).last(), Some(&(3, 68 * SECOND)), "1/17, however many we are");
        let by_stream = Interference { by_stream: true, ..by_job };
        let mut noisy = target(Discipline::ProcessorSharing, by_stream);
        for job in 0..4 {
            noisy.arrive(0, job, SECOND);
        }
        assert_eq!(ends(&mut noisy).last(), Some(&(3, 20 * SECOND)), "4 of 20");
    }

    #[test]
    fn limits_stops_and_slowness_change_the_rate_in_the_middle() {
        let mut target = target(Discipline::ProcessorSharing, Interference::none());
        target.arrive(0, 7, 10 * SECOND);
        target.set_limit(SECOND, 0.5);
        target.set_stopped(3 * SECOND, true);
        assert_eq!(target.next_end_ns(), None);
        target.set_stopped(5 * SECOND, false);
        target.set_limit(5 * SECOND, f64::INFINITY);
        target.set_interference(5 * SECOND, Interference { slowdown: 4.0, ..Interference::none() });
        // 1 s at 1, 2 s at 1/2: 8 are left at 1/4.
        assert_eq!(ends(&mut target), [(7, 37 * SECOND)]);
    }
}
