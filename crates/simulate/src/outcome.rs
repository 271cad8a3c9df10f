//! What a run gives.

use plimsoll_route::{ActorId, Message, Policy, TargetId};

use crate::homes::home_bytes;
use crate::host::Host;
use crate::scenario::Scenario;

/// Where data would lie without routing, and what was asked for.
pub(crate) struct Placed<'a> {
    pub homes: &'a [TargetId],
    pub seed: u64,
    pub policy: Policy,
}

/// What one run gives. Times are in seconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The policy.
    pub policy: Policy,
    /// The seed.
    pub seed: u64,
    /// Until everything of every process is durable; `None`, as all that follows from it, where
    /// something never is.
    pub makespan: Option<f64>,
    /// Completion of the processes; `None` if not all have everything durable.
    pub processes: Option<Spread>,
    /// Bytes on targets beyond what they would hold without routing.
    pub moved_bytes: u64,
    /// Bytes that were committed.
    pub committed_bytes: u64,
    /// Bytes that never got durable: lost with a process or a target, or never written because
    /// their process had died.
    pub lost_bytes: u64,
    /// Bytes that were written a second time and not needed.
    pub wasted_bytes: u64,
    /// Messages, by kind.
    pub messages_by_kind: [u64; Message::NAMES.len()],
    /// Messages sent.
    pub messages: u64,
    /// Messages that the coordinator sent or received.
    pub coordinator_messages: u64,
    /// Messages that the busiest actor sent or received.
    pub busiest_messages: u64,
    /// Reading everything back from where it lies, with all targets quiet; `None` if not
    /// everything is there.
    pub read_makespan: Option<f64>,
    /// Bytes of the fullest target over the mean; `None` if all are empty.
    pub imbalance: Option<f64>,
    /// Inputs that machines handled.
    pub events: u64,
    /// Wait of the last burst until all processes could go on; `None` if some went on because
    /// their data was lost.
    pub stall: Option<f64>,
    /// Wait of every burst, likewise.
    pub stalls: Option<Spread>,
    /// Until all processes could go on after the last burst: how long the program takes.
    pub program_time: Option<f64>,
    /// Share of the time until all could go on after the last burst that was compute.
    pub efficiency: Option<f64>,
    /// Mean time from handing over a byte until it was durable.
    pub mean_delay: Option<f64>,
    /// Aggregate bandwidth over the rate of all targets (Xie's EAB).
    pub effective_bandwidth: Option<f64>,
    /// Completion of each target.
    pub each_target: Vec<TargetOutcome>,
    /// Completion of each process that has everything durable, sorted.
    pub ends: Vec<f64>,
}

/// One target after a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TargetOutcome {
    /// Bytes that it holds.
    pub bytes: u64,
    /// Its last commit, in seconds; `None` if it has nothing.
    pub end: Option<f64>,
    /// Seconds with work of ours.
    pub busy: f64,
}

/// Mean, deviation and ends of a set of times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Standard deviation of the whole set.
    pub deviation: f64,
    /// Deviation over mean: c_v.
    pub cv: f64,
    /// The first.
    pub least: f64,
    /// The last.
    pub most: f64,
}

impl Spread {
    /// Of times that need not be sorted, at least one.
    pub fn of(values: &[f64]) -> Self {
        let n = values.len().max(1) as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        // What is left of equal values after rounding is no deviation.
        let deviation = Some((squares / n).sqrt()).filter(|it| *it > mean * 1e-12).unwrap_or(0.0);
        Spread {
            mean,
            deviation,
            cv: if mean > 0.0 { deviation / mean } else { 0.0 },
            least: values.iter().copied().reduce(f64::min).unwrap_or(0.0),
            most: values.iter().copied().fold(0.0, f64::max),
        }
    }
}

impl Outcome {
    pub(crate) fn new(
        scenario: &Scenario,
        host: &Host,
        coordinator: Option<ActorId>,
        placed: &Placed<'_>,
    ) -> Self {
        let tally = &host.tally;
        let mut ends: Vec<f64> = host.program.ends_ns().map(seconds).collect();
        ends.sort_unstable_by(f64::total_cmp);
        let lost_bytes = scenario.application.total_bytes() - tally.committed_bytes;
        let makespan = ends.last().copied().filter(|_| lost_bytes == 0);
        // Of a run that lost something: how long it took to do the rest compares with nothing.
        let is_complete = makespan.is_some();
        let count = scenario.storage.targets;
        let storage = &scenario.storage;
        let read_end = |(target, bytes): (usize, &u64)| *bytes as f64 / storage.rate_of(target);
        let fullest = tally.target_bytes.iter().copied().max().unwrap_or(0) as f64;
        let mean_bytes = tally.committed_bytes as f64 / f64::from(count);
        // Where something was lost, everything counts that was to be written.
        let blocks =
            u64::from(scenario.application.blocks) * u64::from(scenario.application.bursts);
        let home_bytes = match &host.staging {
            Some(_) => home_bytes(scenario, placed.homes, host.program.blocks_of_each()),
            None => home_bytes(scenario, placed.homes, std::iter::repeat(blocks)),
        };
        let moved = tally.target_bytes.iter().zip(&home_bytes);
        let compute = scenario.application.compute.as_seconds() * f64::from(host.bursts().begun);
        let released = seconds(host.bursts().released_ns);
        Outcome {
            policy: placed.policy,
            seed: placed.seed,
            makespan,
            processes: is_complete.then(|| Spread::of(&ends)),
            moved_bytes: moved.map(|(held, home)| held.saturating_sub(*home)).sum(),
            committed_bytes: tally.committed_bytes,
            lost_bytes,
            wasted_bytes: tally.done_bytes - tally.committed_bytes,
            messages_by_kind: tally.by_kind,
            messages: tally.by_kind.iter().sum(),
            coordinator_messages: coordinator
                .map_or(0, |actor| u64::from(tally.by_actor[actor.0 as usize])),
            busiest_messages: tally.by_actor.iter().copied().max().map_or(0, u64::from),
            read_makespan: is_complete
                .then(|| tally.target_bytes.iter().enumerate().map(read_end).fold(0.0, f64::max)),
            imbalance: (mean_bytes > 0.0).then(|| fullest / mean_bytes),
            events: tally.inputs,
            stall: is_complete
                .then(|| host.bursts().stalls_ns.last().copied().map_or(0.0, seconds)),
            stalls: is_complete.then(|| {
                let stalls: Vec<f64> =
                    host.bursts().stalls_ns.iter().copied().map(seconds).collect();
                Spread::of(&stalls)
            }),
            program_time: is_complete.then_some(released),
            efficiency: is_complete.then(|| if released > 0.0 { compute / released } else { 1.0 }),
            mean_delay: is_complete.then(|| tally.mean_delay_ns() / 1e9),
            effective_bandwidth: makespan
                .map(|makespan| tally.committed_bytes as f64 / (makespan * storage.total_rate())),
            each_target: each_target(host),
            ends,
        }
    }
}

fn each_target(host: &Host) -> Vec<TargetOutcome> {
    let tally = &host.tally;
    let one = |(index, bytes): (usize, &u64)| TargetOutcome {
        bytes: *bytes,
        end: (*bytes > 0).then(|| seconds(tally.target_end_ns[index])),
        busy: seconds(host.targets()[index].busy_ns()),
    };
    tally.target_bytes.iter().enumerate().map(one).collect()
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}
