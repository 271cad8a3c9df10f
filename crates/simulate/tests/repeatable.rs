//! The same seed gives the same outcome, bit by bit, and nothing is lost on the way.

use std::num::NonZero;
use std::sync::atomic::AtomicU64;

use plimsoll_domain::{Bytes, Nanos};
use plimsoll_route::{Message, PolicyKind, Tf};
use plimsoll_simulate::scenario::{Breakage, Curve, Fault, Home, Noise, Submit, embedded};
use plimsoll_simulate::{
    Discipline, Order, Outcome, Policy, Repetition, Scenario, experiment, fluid_bound_ns,
    fuzz_many, fuzz_one, fuzz_scenario, run, run_all,
};

fn outcomes(threads: usize) -> Vec<Outcome> {
    let mut scenario = embedded("stochastic").unwrap();
    scenario.application.processes = 156;
    let policies: Vec<Policy> =
        ["window", "coordinator", "static"].iter().map(|name| name.parse().unwrap()).collect();
    let orders: Vec<Order<'_>> = policies
        .iter()
        .flat_map(|policy| (1..5).map(|seed| Order { scenario: &scenario, policy: *policy, seed }))
        .collect();
    run_all(&orders, NonZero::new(threads), &AtomicU64::new(0)).unwrap()
}

#[test]
fn threads_change_nothing() {
    let alone = outcomes(1);
    assert_eq!(alone, outcomes(3));
    assert_ne!(alone[0].makespan, alone[1].makespan, "seeds differ");
}

#[test]
fn a_sweep_runs_every_point_with_every_policy_and_seed() {
    let mut scenario = embedded("tf-sweep").unwrap();
    scenario.application.blocks = 1;
    let repetition = Repetition { first_seed: 5, seeds: 2, threads: None };
    let done = AtomicU64::new(0);
    let points = experiment(&scenario, repetition, &done).unwrap();
    assert_eq!(points.len(), scenario.sweep.as_ref().unwrap().values.len());
    assert_eq!(done.into_inner(), plimsoll_simulate::runs(&scenario, repetition));
    for point in points {
        assert_eq!(point.policies.len(), 3, "static is only the baseline here");
        assert_eq!((point.bounds.len(), point.static_makespans.len()), (2, 2));
        assert!(point.policies.iter().all(|policy| policy.outcomes[1].seed == 6));
    }
}

/// Huang 3.5: a coordinator that knows busy and idle only is rejected more often, and everything is
/// done at the same time.
#[test]
fn the_inquiry_saves_rejections() {
    let mut scenario = embedded("scale").unwrap();
    (scenario.application.processes, scenario.storage.targets) = (4096, 32);
    let outcome = |policy: &str| run(&scenario, &policy.parse().unwrap(), 1).unwrap();
    let rejects = |outcome: &Outcome| {
        let kinds = Message::NAMES.iter().zip(outcome.messages_by_kind);
        kinds.filter(|(name, _)| **name == "REROUTE_REJECT").map(|(_, count)| count).sum::<u64>()
    };
    let (inquires, unaware) = (outcome("coordinator"), outcome("coordinator:inquiry=off"));
    let remembers = outcome("coordinator:inquiry=off:rejects=remember");
    assert!(rejects(&unaware) > 2 * rejects(&inquires), "{}", rejects(&unaware));
    assert!(rejects(&unaware) > 2 * rejects(&remembers), "{}", rejects(&remembers));
    assert!((unaware.makespan.unwrap() / inquires.makespan.unwrap() - 1.0).abs() < 0.01);
}

/// Seeds with lost messages and failing targets at once under which `paper` once hung.
#[test]
fn what_hung_ends() {
    let hung = [
        247, 471, 522, 570, 573, 581, 767, 802, 813, 1019, 1059, 1222, 1438, 1510, 1598, 1690,
        1754, 1857, 1858, 1991, 2113, 2159, 2345, 2509, 2717, 2751, 2787, 2933, 2953,
    ];
    for seed in hung {
        assert!(fuzz_one(seed).is_ok(), "{:?}", fuzz_one(seed));
    }
}

/// Random scenarios in which processes die, targets stop, fill up and come back, and messages
/// get lost and repeated. `plimsoll simulate --fuzz` does more of them.
#[test]
fn nothing_is_lost_whatever_breaks() {
    let failures = fuzz_many(1, 300, &AtomicU64::new(0));
    assert!(failures.is_empty(), "{failures:?}");
}

/// Ends are rounded up to whole nanoseconds, which is much of a small write on a fast target. Such
/// runs were taken for broken ones.
#[test]
fn small_writes_on_fast_targets_add_up() {
    for (rate, processes, blocks, block) in [
        ("7GB/s", 4, 100, "4KiB"),
        ("10GB/s", 4, 100, "4KiB"),
        ("100GB/s", 4, 100, "64KiB"),
        ("10GB/s", 1, 1, "1B"),
        ("100GB/s", 64, 10, "1B"),
    ] {
        for service in [Discipline::ProcessorSharing, Discipline::Fifo] {
            for policy in ["static", "striped", "coordinator", "window"] {
                let mut scenario = embedded("quiet").unwrap();
                scenario.storage.targets = 4;
                scenario.storage.rate = rate.parse().unwrap();
                scenario.storage.service = service;
                let application = &mut scenario.application;
                (application.processes, application.blocks) = (processes, blocks);
                application.block = block.parse().unwrap();
                let outcome = run(&scenario, &policy.parse().unwrap(), 1);
                assert!(outcome.is_ok(), "{rate}, {block}, {policy}: {outcome:?}");
            }
        }
    }
}

/// What "no placement is faster" says, of random storage, noise and routers.
#[test]
fn nothing_is_faster_than_the_bound() {
    for seed in 1..=120 {
        let (mut scenario, policy) = fuzz_scenario(seed);
        scenario.fault.clear();
        let outcome = run(&scenario, &policy, seed).unwrap();
        let bound = fluid_bound_ns(&scenario, seed).unwrap() as f64 / 1e9;
        // Each burst of the bound is rounded up to a whole nanosecond.
        let rounding = f64::from(scenario.application.bursts) * 1e-9;
        let makespan = outcome.makespan.unwrap();
        assert!(makespan >= bound - rounding, "seed {seed}, {policy}: {makespan} of {bound}");
    }
}

/// A run that lost everything is not the fastest of all.
#[test]
fn a_run_that_lost_something_has_no_makespan() {
    let fault = |at: &str, what, which| Fault { at: at.parse().unwrap(), what, which };
    let all_die =
        vec![fault("5s", Breakage::ProcessDies, 0), fault("5s", Breakage::ProcessDies, 1)];
    let die_before_they_write = all_die.iter().map(|one| Fault { at: Nanos::new(0), ..*one });
    let back_at_once =
        vec![fault("1s", Breakage::TargetStops, 0), fault("1s", Breakage::TargetBack, 0)];
    let dies_when_done = vec![fault("3h", Breakage::ProcessDies, 0)];
    for (faults, is_lost) in [
        (all_die.clone(), true),
        (die_before_they_write.collect(), true),
        (vec![all_die[0]], true),
        (back_at_once, true),
        (dies_when_done, false),
    ] {
        let mut scenario = embedded("quiet").unwrap();
        scenario.storage.targets = 1;
        (scenario.application.processes, scenario.application.blocks) = (2, 100);
        scenario.application.compute = "1ms".parse().unwrap();
        scenario.fault = faults;
        let outcome = run(&scenario, &"static".parse().unwrap(), 1).unwrap();
        let total = scenario.application.total_bytes();
        assert_eq!(outcome.lost_bytes + outcome.committed_bytes, total);
        assert_eq!(outcome.lost_bytes > 0, is_lost, "{:?}", scenario.fault);
        let numbers = [
            outcome.makespan,
            outcome.read_makespan,
            outcome.effective_bandwidth,
            outcome.stall,
            outcome.efficiency,
            outcome.processes.map(|processes| processes.mean),
        ];
        for (nth, number) in numbers.iter().enumerate() {
            assert_eq!(number.is_none(), is_lost, "number {nth}, {:?}", scenario.fault);
        }
    }
}

/// The window would look after late writes for two simulated years before it is told.
#[test]
fn what_cannot_end_is_told_at_once() {
    let with = |change: &dyn Fn(&mut Scenario)| {
        let mut scenario = embedded("heavy-noise").unwrap();
        scenario.policies = vec!["window".parse().unwrap()];
        (scenario.storage.targets, scenario.application.processes) = (4, 4);
        change(&mut scenario);
        let repetition = Repetition { first_seed: 1, seeds: 1, threads: None };
        experiment(&scenario, repetition, &AtomicU64::new(0)).unwrap_err().to_string()
    };
    let noisy = with(&|scenario| {
        let Noise::Streams { streams, .. } = &mut scenario.noise[0] else { return };
        *streams = 100_000_000;
        scenario.application.blocks = 100;
    });
    assert!(noisy.contains("not done within two simulated years"), "{noisy}");
    let slow = with(&|scenario| scenario.storage.network_limit = Some("1B/s".parse().unwrap()));
    assert!(slow.contains("would not end in two years"), "{slow}");
    let capped = with(&|scenario| {
        let network = &mut scenario.network;
        (network.rpcs_in_flight, network.rpc_size) = (1, "1B".parse().unwrap());
        network.rpc_round_trip = "1s".parse().unwrap();
    });
    assert!(capped.contains("would not end in two years"), "{capped}");
    let nothing = with(&|scenario| {
        let network = &mut scenario.network;
        (network.rpcs_in_flight, network.rpc_size) = (1, "0B".parse().unwrap());
        network.rpc_round_trip = "1s".parse().unwrap();
    });
    assert!(nothing.contains("network.rpc_size is zero"), "{nothing}");
}

/// What fuzzing does not draw it does not test.
#[test]
fn fuzzing_draws_everything_that_a_scenario_can_have() {
    let drawn: Vec<(Scenario, Policy)> = (0..600).map(fuzz_scenario).collect();
    let share = |what: &str, has: &dyn Fn(&Scenario, &Policy) -> bool| {
        let with = drawn.iter().filter(|(scenario, policy)| has(scenario, policy)).count();
        assert!((6..594).contains(&with), "{what}: {with} of 600");
    };
    for kind in
        [PolicyKind::Static, PolicyKind::Striped, PolicyKind::Coordinator, PolicyKind::Window]
    {
        share(kind.name(), &|_, policy| policy.kind == kind);
    }
    share("no bound", &|_, policy| policy.tf == Tf::Unbounded);
    share("inquiry", &|_, policy| policy.inquiry);
    share("split", &|_, policy| policy.split.is_some());
    share("tau", &|_, policy| policy.tau.is_some());
    share("lanes", &|_, policy| policy.lanes.is_some());
    share("rejects", &|_, policy| policy.rejects.is_some());
    share("one target", &|it, _| it.storage.targets == 1);
    share("first in, first out", &|it, _| it.storage.service == Discipline::Fifo);
    share("a curve", &|it, _| it.storage.curve == Curve::Wright);
    share("servers", &|it, _| it.storage.server_limit.is_some());
    share("a network's limit", &|it, _| it.storage.network_limit.is_some());
    share("random homes", &|it, _| it.application.placement == Home::Random);
    share("stripes", &|it, _| it.application.stripes > 1);
    share("a cache", &|it, _| it.application.cache.get() > 0);
    share("paced", &|it, _| it.application.submit == Submit::Paced);
    share("several bursts", &|it, _| it.application.bursts > 1);
    share("loss", &|it, _| it.network.loss > 0.0);
    share("repeats", &|it, _| it.network.repeat > 0.0);
    share("streams", &|it, _| it.noise.iter().any(|n| matches!(n, Noise::Streams { .. })));
    share("on and off", &|it, _| it.noise.iter().any(|n| matches!(n, Noise::OnOff { .. })));
    for what in [
        Breakage::ProcessDies,
        Breakage::TargetStops,
        Breakage::TargetFills,
        Breakage::TargetReadOnly,
        Breakage::TargetBack,
    ] {
        share(&format!("{what:?}"), &|it, _| it.fault.iter().any(|fault| fault.what == what));
    }
    // Each of them is a scenario that a person could have written, on whatever it has.
    for (scenario, _) in &drawn {
        assert_eq!(scenario.check(), Ok(()));
        for fault in &scenario.fault {
            let known = match fault.what {
                Breakage::ProcessDies => scenario.application.processes,
                _ => scenario.storage.targets,
            };
            assert!(fault.which < known, "{fault:?}");
        }
    }
}

#[test]
fn more_than_can_be_written_in_two_years_is_refused_with_its_size() {
    let mut scenario = embedded("stochastic").unwrap();
    let application = &mut scenario.application;
    (application.block, application.blocks) = (Bytes::new(1 << 55), 3);
    (application.processes, application.bursts) = (5, 7);
    let problem = scenario.check().unwrap_err().to_string();
    let bytes = 105u128 << 55;
    assert!(problem.contains(&format!("is too large: {bytes} bytes in all")), "{problem}");
}

#[test]
fn a_sweep_has_at_most_ten_thousand_points() {
    let mut scenario = embedded("when-does-it-pay").unwrap();
    let mut problem = |values: usize, across: usize| {
        let sweep = scenario.sweep.as_mut().unwrap();
        // The marks of the scenario are not among these.
        (sweep.mark, sweep.marks) = (None, Vec::new());
        (sweep.values, sweep.across_values) = (vec![1.0; values], vec![1.0; across]);
        scenario.check().err().map(|error| error.to_string()).unwrap_or_default()
    };
    for (values, across, is_too_many) in [(100, 100, false), (101, 100, true), (2, 5001, true)] {
        let problem = problem(values, across);
        assert_eq!(problem.contains("has too many points"), is_too_many, "{problem}");
    }
}
