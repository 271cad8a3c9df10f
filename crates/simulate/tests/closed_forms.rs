//! The simulator against formulas, where there are formulas.

use plimsoll_simulate::scenario::{Submit, embedded};
use plimsoll_simulate::{
    Discipline, Outcome, Policy, Scenario, fluid_bound_ns, optimal_factor, run,
};
use plimsoll_theory::{Absorption, MeasuredRates, Noise};

fn simulated(scenario: &Scenario, policy: &str) -> Outcome {
    let policy: Policy = policy.parse().unwrap();
    run(scenario, &policy, 1).unwrap_or_else(|error| panic!("{policy}: {error}"))
}

/// D/B: what a quiet target takes for its own data, in seconds.
fn quiet_seconds(scenario: &Scenario) -> f64 {
    scenario.application.total_bytes() as f64 / scenario.storage.total_rate()
}

#[track_caller]
fn close(simulated: f64, expected: f64, tolerance: f64) {
    let off = simulated / expected - 1.0;
    assert!(off.abs() <= tolerance, "{simulated} against {expected}: off by {off:+.4}");
}

/// Huang 3.4: static placement takes (r + 1) D/B, to the nanoseconds of rounding.
#[test]
fn static_placement_under_noise() {
    for (name, noisy, streams) in [("heavy-noise", 4, 64), ("light-noise", 1, 16)] {
        let scenario = embedded(name).unwrap();
        let model = Noise::new(16, noisy, streams, 1).unwrap();
        let expected = model.static_time() * quiet_seconds(&scenario);
        close(simulated(&scenario, "static").makespan.unwrap(), expected, 1e-6);
    }
}

/// One write at a time among 16 noise blocks of the same size in a queue: r + 1 again.
#[test]
fn first_in_first_out_noise_is_huangs_noise() {
    let mut scenario = embedded("heavy-noise").unwrap();
    scenario.storage.service = Discipline::Fifo;
    scenario.application.block = "16MiB".parse().unwrap();
    let expected = 17.0 * quiet_seconds(&scenario);
    close(simulated(&scenario, "coordinator:tf=0").makespan.unwrap(), expected, 1e-3);
}

/// Targets that differ by themselves and by noise: with the optimum all end together, so that the
/// paper's router comes near the bound. Equation 1 alone knows nothing of their rates.
#[test]
fn the_optimum_counts_rates_and_noise() {
    let mut scenario = embedded("heavy-noise").unwrap();
    let equation_1 = optimal_factor(&scenario).unwrap();
    let rate = |mib: u64| plimsoll_domain::BytesPerSec::new(mib << 20);
    scenario.storage.rates = vec![rate(500); 16];
    assert_eq!(optimal_factor(&scenario), Ok(equation_1), "as many rates, but all the same");
    scenario.storage.rates[10..].fill(rate(125));
    // Six at 500, six at 125, four at 500/17.
    let mean = (6.0 * 500.0 + 6.0 * 125.0 + 4.0 * 500.0 / 17.0) / 16.0;
    close(optimal_factor(&scenario).unwrap(), 500.0 / mean - 1.0, 1e-12);
    let bound = fluid_bound_ns(&scenario, 1).unwrap() as f64 / 1e9;
    let outcome = simulated(&scenario, "coordinator:tf=optimal:split=1MiB:inquiry=off");
    close(outcome.makespan.unwrap(), bound, 0.03);
    if let plimsoll_simulate::scenario::Noise::Streams { on, .. } = &mut scenario.noise[0] {
        *on = plimsoll_simulate::scenario::Where::Random;
    }
    assert!(optimal_factor(&scenario).is_err(), "another one for each seed");
}

/// In a queue a router that has more waiting takes more of a noisy target: no placement is faster than
/// the bound only if noise counts as none there.
#[test]
fn no_placement_beats_the_bound_of_queues() {
    let mut scenario = embedded("quiet").unwrap();
    scenario.storage.targets = 2;
    scenario.storage.rate = "100MiB/s".parse().unwrap();
    scenario.storage.service = Discipline::Fifo;
    (scenario.application.processes, scenario.application.blocks) = (2, 4);
    for block in ["1MiB", "16MiB"] {
        scenario.noise = vec![plimsoll_simulate::scenario::Noise::Streams {
            streams: 2,
            targets: Some(1),
            on: Default::default(),
            sharing: Default::default(),
            own_streams: 1,
            block: block.parse().unwrap(),
        }];
        scenario.check().unwrap();
        let bound = fluid_bound_ns(&scenario, 1).unwrap() as f64 / 1e9;
        close(bound, 512.0 / 200.0, 1e-6);
        for policy in ["static", "striped", "coordinator:tf=none", "window"] {
            let makespan = simulated(&scenario, policy).makespan.unwrap();
            assert!(makespan >= bound, "{policy}, noise of {block}: {makespan} of {bound}");
        }
    }
    // One write at a time gets no more than its client sends.
    scenario.noise.clear();
    scenario.network.rpcs_in_flight = 1;
    scenario.network.rpc_round_trip = "20ms".parse().unwrap();
    let bound = fluid_bound_ns(&scenario, 1).unwrap() as f64 / 1e9;
    close(simulated(&scenario, "static").makespan.unwrap(), bound, 1e-6);
}

/// Huang 3.4 for an allowance x: max(1 + x, (r + 1)(1 - k x)) D/B, when sources are asked in
/// turn. A grant of 1 MiB takes 2 ms and its messages 20 us; the slow targets end with a part
/// that takes 17 times as long: 3 % cover both.
#[test]
fn the_papers_router_follows_its_model() {
    let scenario = embedded("heavy-noise").unwrap();
    let model = Noise::new(16, 4, 64, 1).unwrap();
    for tf in [0.0, 0.05, 0.1, 0.2, 0.25] {
        let outcome = simulated(&scenario, &format!("coordinator:tf={tf}:split=1MiB:inquiry=off"));
        let expected = model.write_time(tf).unwrap() * quiet_seconds(&scenario);
        close(outcome.makespan.unwrap(), expected, 0.03);
        let read = model.read_time(tf).unwrap() * quiet_seconds(&scenario);
        close(outcome.read_makespan.unwrap(), read, 0.01);
    }
    let best = simulated(&scenario, "coordinator:tf=optimal:split=1MiB:inquiry=off");
    close(best.makespan.unwrap(), model.fluid_bound() * quiet_seconds(&scenario), 0.03);
}

/// Targets of different rates: no placement beats sum(D) / sum(B), and the window comes near.
#[test]
fn measured_rates() {
    let mut scenario = embedded("quiet").unwrap();
    let rate = |mib: u64| plimsoll_domain::BytesPerSec::new(mib << 20);
    scenario.storage.rates = (0..16).map(|target| rate(100 + 50 * (target % 7))).collect();
    let rates: Vec<f64> = scenario.storage.rates.iter().map(|rate| rate.get() as f64).collect();
    let own = scenario.application.total_bytes() as f64 / 16.0;
    let model = MeasuredRates::equal_data(own, &rates).unwrap();
    close(simulated(&scenario, "static").makespan.unwrap(), model.static_time(), 1e-6);
    close(fluid_bound_ns(&scenario, 1).unwrap() as f64 / 1e9, model.fluid_bound(), 1e-6);
    let window = simulated(&scenario, "window").makespan.unwrap();
    assert!(window >= model.fluid_bound());
    close(window, model.fluid_bound(), 0.03);
}

/// Xie 2.1: stall max(0, W - min(M, S C)) / S, to one block of 125 in a burst.
#[test]
fn bursts_and_caches() {
    let mut scenario = embedded("absorb").unwrap();
    scenario.sweep = None;
    let application = scenario.application.clone();
    let burst = application.burst_bytes() as f64;
    let drain = scenario.storage.total_rate() / f64::from(application.processes);
    let compute = application.compute.as_seconds();
    for cache in [0.0, 0.25, 0.5, 0.75, 1.0, 1.5] {
        scenario.application.cache = plimsoll_domain::Bytes::new((cache * burst) as u64);
        let model = Absorption::new(compute, burst, cache * burst, drain).unwrap();
        let stall = simulated(&scenario, "static").stall.unwrap();
        let off = (stall - model.stall()).abs();
        assert!(off <= 1.5 * burst / drain / 125.0, "cache {cache}: {stall} {}", model.stall());
    }
}

/// What is asked of the window, in the paper's own scenarios.
#[test]
fn the_window_against_the_bound_and_the_paper() {
    let heavy = embedded("heavy-noise").unwrap();
    let bound = fluid_bound_ns(&heavy, 1).unwrap() as f64 / 1e9;
    let window = simulated(&heavy, "window");
    close(window.makespan.unwrap(), bound, 0.05);
    assert_eq!((window.messages, window.coordinator_messages), (0, 0));
    assert!(
        simulated(&heavy, "coordinator:tf=optimal").makespan.unwrap()
            >= 1.3 * window.makespan.unwrap()
    );
    assert!(
        simulated(&heavy, "coordinator:tf=optimal:split=4MiB").makespan.unwrap()
            >= window.makespan.unwrap()
    );

    let quiet = embedded("quiet").unwrap();
    let without = simulated(&quiet, "static").makespan.unwrap();
    assert!(simulated(&quiet, "window").makespan.unwrap() <= 1.02 * without);
}

/// Nodes that do not speak with each other must not crowd the same targets, however many
/// targets each of them uses.
#[test]
fn any_number_of_targets_a_node_will_do_for_the_window() {
    let of_bound = |scenario: &Scenario, policy: &str| {
        let bound = fluid_bound_ns(scenario, 1).unwrap() as f64 / 1e9;
        simulated(scenario, policy).makespan.unwrap() / bound
    };
    let stochastic = embedded("stochastic").unwrap();
    for (policy, most) in [("window", 1.05), ("window:lanes=8", 1.1), ("window:lanes=156", 1.05)] {
        let ratio = of_bound(&stochastic, policy);
        assert!(ratio <= most, "{policy}: {ratio}");
    }
    // 256 nodes: one lease of each on every target is more than the delay allows.
    let mut crowded = embedded("quiet").unwrap();
    crowded.storage.targets = 32;
    crowded.application.processes = 4096;
    crowded.application.block = "8MiB".parse().unwrap();
    for policy in ["window:lanes=32", "window:lanes=16"] {
        let ratio = of_bound(&crowded, policy);
        assert!(ratio <= 1.05, "{policy}: {ratio}");
    }
}

/// Where very many nodes crowd few targets, none finds the storage empty because others held back:
/// all get about equal parts and none ends much sooner.
#[test]
fn nodes_that_crowd_few_targets_get_equal_parts() {
    let mut crowded = embedded("quiet").unwrap();
    crowded.storage.targets = 20;
    crowded.application.processes = 5200;
    crowded.application.processes_per_node = 4;
    crowded.application.blocks = 8;
    crowded.application.block = "2MiB".parse().unwrap();
    let outcome = simulated(&crowded, "window");
    let bound = fluid_bound_ns(&crowded, 1).unwrap() as f64 / 1e9;
    assert!(outcome.makespan.unwrap() / bound <= 1.03, "{} of {bound}", outcome.makespan.unwrap());
    let first = outcome.ends.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(first > bound / 2.0, "{first} of {bound}");
    assert!(outcome.processes.unwrap().cv < 0.2, "{}", outcome.processes.unwrap().cv);
}

/// A process that waits for each block before it writes the next does not wait for the slow target
/// each time.
#[test]
fn one_block_at_a_time_does_not_wait_for_the_slow_target() {
    let mut paced = embedded("one-slow").unwrap();
    paced.application.processes_per_node = 1;
    paced.application.submit = Submit::Paced;
    let outcome = simulated(&paced, "window");
    let bound = fluid_bound_ns(&paced, 1).unwrap() as f64 / 1e9;
    assert!(outcome.makespan.unwrap() / bound <= 1.2, "{} of {bound}", outcome.makespan.unwrap());
}
