//! Random scenarios with faults. A seed is a scenario, a policy and a run.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

use plimsoll_domain::{Bytes, BytesPerSec, Nanos};
use plimsoll_route::{Policy, PolicyKind, Rejects, Tf};
use plimsoll_stats::Random;

use crate::scenario::{
    Application, Breakage, Buffer, Choice, Curve, Distribution, Drain, Durations, Fault, Home,
    Network, Noise, Phase, SCENARIO_VERSION, Sharing, Storage, Submit, Where, sixteen_mib,
};
use crate::{Discipline, Outcome, Scenario, SimulateError, run};

const MILLISECOND: u64 = 1_000_000;

/// Runs the scenario of a seed, with everything checked.
pub fn fuzz_one(seed: u64) -> Result<Outcome, SimulateError> {
    let (scenario, policy) = fuzz_scenario(seed);
    scenario.check()?;
    run(&scenario, &policy, seed)
}

/// Runs the scenarios of `runs` seeds on all processors; the failures in the order of seeds.
pub fn fuzz_many(first_seed: u64, runs: u64, done: &AtomicU64) -> Vec<(u64, SimulateError)> {
    failures(first_seed, runs, done, fuzz_one)
}

/// The seeds for which `one` fails, and how.
fn failures(
    first_seed: u64,
    runs: u64,
    done: &AtomicU64,
    one: impl Fn(u64) -> Result<Outcome, SimulateError> + Sync,
) -> Vec<(u64, SimulateError)> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get) as u64;
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for part in 0..threads {
            let (failures, one) = (&failures, &one);
            scope.spawn(move || {
                for nth in (part..runs).step_by(threads as usize) {
                    if let Err(error) = one(first_seed + nth) {
                        let mut failures = failures.lock().unwrap_or_else(PoisonError::into_inner);
                        failures.push((first_seed + nth, error));
                    }
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    let mut failures = failures.into_inner().unwrap_or_else(PoisonError::into_inner);
    failures.sort_by_key(|(seed, _)| *seed);
    failures
}

/// The scenario and the policy of a seed.
pub fn fuzz_scenario(seed: u64) -> (Scenario, Policy) {
    const SCENARIO_STREAM: u64 = 1 << 35;
    const NEWER_STREAM: u64 = 1 << 36;
    const PHYSICS_STREAM: u64 = 1 << 37;
    const BUFFER_STREAM: u64 = 1 << 38;
    let mut random = Random::for_stream(seed, SCENARIO_STREAM);
    let random = &mut random;
    let mut policy = policy(random);
    let mut storage = storage(random);
    let mut application = application(random, storage.targets, policy.kind);
    let network = network(random, policy.kind);
    let mut noise = (0..random.below(3)).map(|_| noise(random, storage.targets)).collect();
    // About as long as it takes, so that faults come before, during and after.
    let quiet_ns = (application.total_bytes() as f64 / storage.total_rate() * 1e9) as u64;
    let fault = (0..random.below(5))
        .map(|_| fault(random, storage.targets, application.processes, quiet_ns))
        .collect();
    add_newer(&mut Random::for_stream(seed, NEWER_STREAM), &mut policy, &mut application);
    add_physics(&mut Random::for_stream(seed, PHYSICS_STREAM), &mut storage, &mut application);
    leave_out_what_means_nothing(&mut storage, &mut noise);
    let title = format!(
        "{} processes, {} targets, {} bursts of {} blocks of {}",
        application.processes,
        storage.targets,
        application.bursts,
        application.blocks,
        application.block
    );
    let title = match application.submit {
        Submit::AtOnce => title,
        Submit::Paced => format!("{title}, paced by {}", application.outstanding),
    };
    let scenario = Scenario {
        version: SCENARIO_VERSION,
        title,
        source: None,
        policies: vec![policy],
        storage,
        application,
        buffer: None,
        network,
        noise,
        fault,
        sweep: None,
        seeds: 1,
    };
    let buffered = add_buffer(&mut Random::for_stream(seed, BUFFER_STREAM), scenario);
    (buffered, policy)
}

/// The same again, of buffers, which are there without faults and with programs that wait for nothing else.
fn add_buffer(random: &mut Random, mut scenario: Scenario) -> Scenario {
    if !one_in(random, 4) {
        return scenario;
    }
    scenario.fault.clear();
    let application = &mut scenario.application;
    (application.submit, application.outstanding) = (Submit::AtOnce, Bytes::new(0));
    (application.cache, application.think) = (Bytes::new(0), None);
    let block = application.block.get();
    let capacity = block * between(random, 1, 12) + random.below(block);
    scenario.title += &format!(", with buffers of {capacity} bytes");
    scenario.buffer = Some(Buffer {
        nodes: between(random, 1, 8) as u32,
        capacity: Bytes::new(capacity),
        rate: BytesPerSec::new(between(random, 1 << 20, 1 << 30)),
        rates: Vec::new(),
        choice: if one_in(random, 2) { Choice::Own } else { Choice::Soonest },
        drain: if one_in(random, 2) { Drain::AtOnce } else { Drain::AfterBurst },
        streams: between(random, 1, 8) as u32,
    });
    scenario
}

/// What later versions draw in addition: from random numbers of its own, so that a seed that once
/// failed still means what it meant.
fn add_newer(random: &mut Random, policy: &mut Policy, application: &mut Application) {
    if one_in(random, 2) {
        application.submit = Submit::Paced;
        let most = application.burst_bytes();
        application.outstanding = Bytes::new([0, random.below(most), most][random.index(3)]);
    }
    if policy.kind == PolicyKind::Coordinator {
        let rejects = [None, None, Some(Rejects::Remember), Some(Rejects::Forget)];
        policy.rejects = rejects[random.index(rejects.len())];
    }
}

/// The same again, of what requests cost, when ends are noticed and what processes compute between blocks.
fn add_physics(random: &mut Random, storage: &mut Storage, application: &mut Application) {
    if one_in(random, 3) {
        storage.request_cost = Nanos::new(random.below(20 * MILLISECOND));
    }
    if one_in(random, 3) {
        application.notice_every = Nanos::new(random.below(200 * MILLISECOND));
    }
    if one_in(random, 4) {
        storage.client_limit = Some(BytesPerSec::new(between(random, 1 << 20, 1 << 27)));
    }
    if one_in(random, 4) {
        application.think = Some(Durations {
            mean: Nanos::new(between(random, 1, 200) * MILLISECOND),
            distribution: [Distribution::Fixed, Distribution::Exponential][random.index(2)],
            spread: 1.0,
        });
    }
}

/// Takes back what was drawn and has no effect, or contradicts what was drawn before: a scenario
/// with it is refused.
fn leave_out_what_means_nothing(storage: &mut Storage, noise: &mut Vec<Noise>) {
    let is_fifo = storage.service == Discipline::Fifo;
    if is_fifo {
        storage.curve = Curve::Flat;
    }
    let mut manner = None;
    for noise in noise {
        match noise {
            Noise::Streams { sharing, own_streams, block, .. } => {
                let by_job = !is_fifo && *sharing == Sharing::Job;
                *sharing = if is_fifo { Sharing::Job } else { *sharing };
                *own_streams = if by_job { *own_streams } else { 1 };
                *block = if is_fifo { *block } else { sixteen_mib() };
                (*sharing, *own_streams, *block) =
                    *manner.get_or_insert((*sharing, *own_streams, *block));
            }
            Noise::OnOff { slow, normal, .. } => {
                for durations in [slow, normal] {
                    if durations.distribution != Distribution::Lognormal {
                        durations.spread = 1.0;
                    }
                }
            }
        }
    }
}

fn one_in(random: &mut Random, n: u64) -> bool {
    random.below(n) == 0
}

fn between(random: &mut Random, least: u64, most: u64) -> u64 {
    least + random.below(most - least + 1)
}

fn policy(random: &mut Random) -> Policy {
    let kinds = [
        PolicyKind::Static,
        PolicyKind::Striped,
        PolicyKind::Coordinator,
        PolicyKind::Coordinator,
        PolicyKind::Window,
        PolicyKind::Window,
    ];
    let mut policy = Policy::new(kinds[random.index(kinds.len())]);
    match policy.kind {
        PolicyKind::Coordinator => {
            let factors =
                [Tf::Given(0.0), Tf::Given(0.1), Tf::Given(0.5), Tf::Given(3.0), Tf::Unbounded];
            policy.tf = factors[random.index(factors.len())];
            policy.inquiry = !one_in(random, 3);
            policy.split = one_in(random, 2).then(|| Bytes::new(between(random, 1 << 16, 1 << 20)));
        }
        PolicyKind::Window => {
            policy.tau =
                one_in(random, 3).then(|| Nanos::new(between(random, 1, 200) * MILLISECOND));
            policy.tf = if one_in(random, 3) { Tf::Given(random.unit()) } else { Tf::Unbounded };
            policy.lanes = one_in(random, 4).then(|| between(random, 1, 4) as u32);
        }
        _ => {}
    }
    policy
}

fn storage(random: &mut Random) -> Storage {
    let targets = between(random, 1, 9) as u32;
    let limits_server = one_in(random, 4);
    Storage {
        targets,
        rate: BytesPerSec::new(between(random, 1 << 20, 1 << 27)),
        rates: Vec::new(),
        request_cost: Nanos::new(0),
        service: if one_in(random, 4) { Discipline::Fifo } else { Discipline::ProcessorSharing },
        curve: if one_in(random, 3) { Curve::Wright } else { Curve::Flat },
        targets_per_server: limits_server.then(|| between(random, 1, 4) as u32),
        server_targets: Vec::new(),
        server_limit: limits_server.then(|| BytesPerSec::new(between(random, 1 << 20, 1 << 28))),
        client_limit: None,
        network_limit: one_in(random, 4)
            .then(|| BytesPerSec::new(between(random, 1 << 21, 1 << 29))),
    }
}

fn application(random: &mut Random, targets: u32, kind: PolicyKind) -> Application {
    let is_free = kind != PolicyKind::Coordinator;
    let has_cache = one_in(random, 3);
    Application {
        processes: between(random, 1, 40) as u32,
        processes_per_node: between(random, 1, 16) as u32,
        blocks: between(random, 1, 4) as u32,
        block: Bytes::new(between(random, 1, 3 << 20)),
        placement: if is_free && one_in(random, 3) { Home::Random } else { Home::Grouped },
        stripes: if is_free { between(random, 1, u64::from(targets)) as u32 } else { 1 },
        pinned: Vec::new(),
        bursts: between(random, 1, 3) as u32,
        compute: Nanos::new(between(random, 0, 300) * MILLISECOND),
        cache: Bytes::new(if has_cache { between(random, 0, 8 << 20) } else { 0 }),
        submit: Submit::AtOnce,
        outstanding: Bytes::new(0),
        notice_every: Nanos::new(0),
        think: None,
    }
}

fn network(random: &mut Random, kind: PolicyKind) -> Network {
    let is_lossy = kind == PolicyKind::Coordinator && one_in(random, 2);
    Network {
        message_latency: Nanos::new(between(random, 0, 200_000)),
        message_cost: Nanos::new(between(random, 0, 5_000)),
        rpcs_in_flight: between(random, 0, 8) as u32,
        rpc_round_trip: Nanos::new(between(random, 0, 20) * MILLISECOND),
        loss: if is_lossy { 0.2 * random.unit() } else { 0.0 },
        repeat: if is_lossy { 0.2 * random.unit() } else { 0.0 },
        ..Network::default()
    }
}

fn noise(random: &mut Random, targets: u32) -> Noise {
    let on = if one_in(random, 2) { Where::Random } else { Where::First };
    let number = Some(between(random, 1, u64::from(targets)) as u32);
    if one_in(random, 2) {
        return Noise::Streams {
            streams: between(random, 0, 40) as u32,
            targets: number,
            on,
            sharing: if one_in(random, 2) { Sharing::Stream } else { Sharing::Job },
            own_streams: between(random, 1, 3) as u32,
            block: Bytes::new(between(random, 1, 1 << 20)),
        };
    }
    let durations = |random: &mut Random| Durations {
        mean: Nanos::new(between(random, 10, 2000) * MILLISECOND),
        distribution: [Distribution::Fixed, Distribution::Exponential, Distribution::Lognormal]
            [random.index(3)],
        spread: 1.5,
    };
    Noise::OnOff {
        slowdown: 1.0 + 30.0 * random.unit(),
        slow: durations(random),
        normal: durations(random),
        targets: number,
        on,
        start: [Phase::Any, Phase::Slow, Phase::Normal][random.index(3)],
    }
}

fn fault(random: &mut Random, targets: u32, processes: u32, quiet_ns: u64) -> Fault {
    let kinds = [
        Breakage::ProcessDies,
        Breakage::TargetStops,
        Breakage::TargetFills,
        Breakage::TargetReadOnly,
        Breakage::TargetBack,
    ];
    let what = kinds[random.index(kinds.len())];
    let known = if what == Breakage::ProcessDies { processes } else { targets };
    Fault {
        at: Nanos::new(random.below(2 * quiet_ns + MILLISECOND)),
        what,
        which: random.below(u64::from(known)) as u32,
    }
}

#[cfg(test)]
mod tests;
