//! A target as a server of jobs: processor sharing, or first in, first out.

mod line;
mod sharing;

use std::rc::Rc;

use plimsoll_route::AttemptId;

use self::line::Line;
use self::sharing::SharingJobs;
use crate::curve::ServiceCurve;
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

/// A write on a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Job {
    /// The machine that began it, and waits for its end.
    pub actor: u32,
    /// As the machine calls it.
    pub attempt: AttemptId,
    /// How much.
    pub length_bytes: u64,
}

#[derive(Debug)]
enum Work {
    Shared(SharingJobs),
    Queued(Line),
}

/// A job counts as done this close to its end: less than a nanosecond at any rate that a
/// target has.
const ROUNDING_BYTES: f64 = 1e-6;

impl Target {
    /// An idle target.
    pub fn new(kind: TargetKind, interference: Interference) -> Self {
        let work = match kind.discipline {
            Discipline::ProcessorSharing => Work::Shared(SharingJobs::default()),
            Discipline::Fifo => Work::Queued(Line::default()),
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
            Work::Shared(shared) => shared.len() as u32,
            Work::Queued(line) => line.own(),
        }
    }

    /// The job that most likely ends first, where that is quickly told.
    pub fn first_job(&self) -> Option<&Job> {
        match &self.work {
            Work::Shared(shared) => shared.first(),
            Work::Queued(_) => None,
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
        let noise = self.interference;
        match &mut self.work {
            Work::Shared(shared) => shared.push(job),
            Work::Queued(line) => line.push(job, noise.streams, noise.block_bytes),
        }
    }

    /// When the next job may be done if nothing changes; `None` when none will be.
    pub fn next_end_ns(&self) -> Option<u64> {
        let (left, rate) = match &self.work {
            Work::Shared(shared) => (shared.first_left()?, self.stream_rate()),
            Work::Queued(line) => (line.first_left()?, self.head_rate()),
        };
        // Rounded up, and at least one: time goes on whatever floating point says.
        (rate > 0.0).then(|| self.updated_ns.saturating_add((left / rate).ceil().max(1.0) as u64))
    }

    /// Puts the jobs of ours that are done by now into `done`.
    pub fn take_done(&mut self, now_ns: u64, done: &mut Vec<Job>) {
        self.advance(now_ns);
        match &mut self.work {
            Work::Shared(shared) => shared.take_done(done),
            Work::Queued(line) => line.take_done(self.interference.block_bytes, done),
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
    pub fn take_all(&mut self, now_ns: u64, taken: &mut Vec<Job>) {
        self.advance(now_ns);
        match &mut self.work {
            Work::Shared(shared) => shared.take_all(taken),
            Work::Queued(line) => line.take_all(taken),
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
            Work::Queued(line) => self.served_bytes += line.serve(given),
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

    fn job(actor: u32, length_bytes: u64) -> Job {
        Job { actor, attempt: AttemptId { slot: 0, generation: 0 }, length_bytes }
    }

    /// Runs until empty; (whose job, end) in order.
    fn ends(target: &mut Target) -> Vec<(u32, u64)> {
        let (mut all, mut done) = (Vec::new(), Vec::new());
        while let Some(at) = target.next_end_ns() {
            target.take_done(at, &mut done);
            all.extend(done.drain(..).map(|job: Job| (job.actor, at)));
        }
        all
    }

    #[test]
    fn streams_share_and_the_shorter_ends_first() {
        let mut shared = target(Discipline::ProcessorSharing, Interference::none());
        shared.arrive(0, job(1, 3 * SECOND));
        shared.arrive(0, job(2, SECOND));
        // Both at one half until 2 s; then 2 s of work are left, alone.
        assert_eq!(ends(&mut shared), [(2, 2 * SECOND), (1, 4 * SECOND)]);
        assert!((shared.served_bytes() - 4e9).abs() < 10.0);
        assert_eq!(shared.busy_ns(), 4 * SECOND);
    }

    #[test]
    fn a_queue_serves_one_after_the_other_and_noise_in_between() {
        let mut queue = target(Discipline::Fifo, Interference::none());
        queue.arrive(0, job(1, 3 * SECOND));
        queue.arrive(0, job(2, SECOND));
        assert_eq!(ends(&mut queue), [(1, 3 * SECOND), (2, 4 * SECOND)]);

        let noise = Interference { streams: 2, block_bytes: 1e9, ..Interference::none() };
        let mut noisy = target(Discipline::Fifo, noise);
        noisy.arrive(0, job(1, SECOND));
        noisy.arrive(0, job(2, SECOND));
        // Two blocks of noise are before us, and come again behind us.
        assert_eq!(ends(&mut noisy), [(1, 3 * SECOND), (2, 4 * SECOND)]);
        noisy.arrive(10 * SECOND, job(3, SECOND));
        assert_eq!(ends(&mut noisy), [(3, 13 * SECOND)]);
        assert!((noisy.served_bytes() - 3e9).abs() < 10.0, "noise is not ours");
    }

    #[test]
    fn noise_takes_its_share() {
        let by_job = Interference { streams: 16, ..Interference::none() };
        let mut noisy = target(Discipline::ProcessorSharing, by_job);
        for nth in 0..4 {
            noisy.arrive(0, job(nth, SECOND));
        }
        assert_eq!(ends(&mut noisy).last(), Some(&(3, 68 * SECOND)), "1/17, however many we are");
        let by_stream = Interference { by_stream: true, ..by_job };
        let mut noisy = target(Discipline::ProcessorSharing, by_stream);
        for nth in 0..4 {
            noisy.arrive(0, job(nth, SECOND));
        }
        assert_eq!(ends(&mut noisy).last(), Some(&(3, 20 * SECOND)), "4 of 20");
    }

    #[test]
    fn limits_stops_and_slowness_change_the_rate_in_the_middle() {
        let mut target = target(Discipline::ProcessorSharing, Interference::none());
        target.arrive(0, job(7, 10 * SECOND));
        target.set_limit(SECOND, 0.5);
        target.set_stopped(3 * SECOND, true);
        assert_eq!(target.next_end_ns(), None);
        target.set_stopped(5 * SECOND, false);
        target.set_limit(5 * SECOND, f64::INFINITY);
        target.set_interference(5 * SECOND, Interference { slowdown: 4.0, ..Interference::none() });
        // 1 s at 1, 2 s at 1/2: 8 are left at 1/4.
        assert_eq!(ends(&mut target), [(7, 37 * SECOND)]);
    }

    #[test]
    fn the_head_of_a_queue_is_limited_stopped_and_slowed_too() {
        let mut queue = target(Discipline::Fifo, Interference::none());
        queue.arrive(0, job(7, 10 * SECOND));
        queue.arrive(0, job(8, 10 * SECOND));
        queue.set_limit(SECOND, 0.5);
        queue.set_stopped(3 * SECOND, true);
        assert_eq!((queue.next_end_ns(), queue.own_rate(2)), (None, 0.0));
        queue.set_stopped(5 * SECOND, false);
        queue.set_limit(5 * SECOND, f64::INFINITY);
        queue.set_interference(5 * SECOND, Interference { slowdown: 4.0, ..Interference::none() });
        assert_eq!(ends(&mut queue), [(7, 37 * SECOND), (8, 77 * SECOND)]);
        assert_eq!((queue.busy_ns(), queue.jobs()), (77 * SECOND, 0), "it had work all the time");
    }

    #[test]
    fn the_rate_is_that_of_the_curve_and_each_stream_has_its_cap() {
        let kind = |discipline, stream_cap| TargetKind {
            discipline,
            bytes_per_ns: 2.0,
            curve: Rc::new(ServiceCurve::flat()),
            stream_cap,
        };
        let new = |discipline, cap| Target::new(kind(discipline, cap), Interference::none());
        let mut shared = new(Discipline::ProcessorSharing, 0.75);
        let rates = [0, 1, 2, 3].map(|streams| shared.own_rate(streams));
        assert_eq!(rates, [0.0, 0.75, 1.5, 2.0], "three are more than the target gives");
        shared.set_limit(0, 1.0);
        assert_eq!(shared.own_rate(3), 1.0);
        shared.arrive(0, job(1, 3 * SECOND));
        shared.arrive(0, job(2, 3 * SECOND));
        assert_eq!(ends(&mut shared), [(1, 6 * SECOND), (2, 6 * SECOND)]);
        let mut queue = new(Discipline::Fifo, 0.75);
        queue.arrive(0, job(1, 3 * SECOND));
        assert_eq!(ends(&mut queue), [(1, 4 * SECOND)]);
        let curve = Rc::new(ServiceCurve::from_shares(&[0.5, 0.75]).unwrap());
        let curved = |discipline| {
            let kind = TargetKind { curve: curve.clone(), ..kind(discipline, f64::INFINITY) };
            Target::new(kind, Interference::none())
        };
        let shared = curved(Discipline::ProcessorSharing);
        assert_eq!([1, 2, 9].map(|streams| shared.own_rate(streams)), [1.0, 1.5, 1.5]);
        let mut queue = curved(Discipline::Fifo);
        queue.arrive(0, job(1, 3 * SECOND));
        assert_eq!(ends(&mut queue), [(1, 3 * SECOND)], "one at a time");
        let mut free = new(Discipline::Fifo, f64::INFINITY);
        free.arrive(0, job(1, 3 * SECOND));
        assert_eq!(ends(&mut free), [(1, 3 * SECOND / 2)]);
    }

    #[test]
    fn time_without_work_is_not_busy_and_what_is_taken_away_was_served_in_part() {
        for discipline in [Discipline::ProcessorSharing, Discipline::Fifo] {
            let mut target = target(discipline, Interference::none());
            target.arrive(5 * SECOND, job(1, 4 * SECOND));
            target.arrive(5 * SECOND, job(2, 4 * SECOND));
            assert_eq!((target.jobs(), target.busy_ns()), (2, 0));
            let mut taken = Vec::new();
            target.take_all(8 * SECOND, &mut taken);
            assert_eq!(taken.iter().map(|job| job.actor).collect::<Vec<_>>(), [1, 2]);
            assert_eq!((target.jobs(), target.busy_ns()), (0, 3 * SECOND));
            assert_eq!(target.served_bytes(), 3e9);
            target.arrive(20 * SECOND, job(3, SECOND));
            assert_eq!(ends(&mut target), [(3, 21 * SECOND)], "nothing is left of those");
            assert_eq!(target.busy_ns(), 4 * SECOND);
        }
    }

    #[test]
    fn an_end_is_never_now() {
        let mut shared = target(Discipline::ProcessorSharing, Interference::none());
        shared.arrive(7, job(1, 0));
        assert_eq!(shared.next_end_ns(), Some(8));
        shared.set_limit(7, 0.3);
        shared.arrive(7, job(2, 1));
        let mut done = Vec::new();
        shared.take_done(8, &mut done);
        assert_eq!(done.len(), 1);
        // 0.85 bytes are left, at 0.3 a nanosecond.
        assert_eq!(shared.next_end_ns(), Some(8 + 3));
    }
}
