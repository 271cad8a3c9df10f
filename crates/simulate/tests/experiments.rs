//! Experiments and what they are compared with.

use std::num::NonZero;
use std::sync::atomic::AtomicU64;

use plimsoll_simulate::scenario::{Scenario, embedded};
use plimsoll_simulate::{
    Policy, Repetition, SimulateError, Spread, experiment, fluid_bound_ns, optimal_factor, run,
};

const REPETITION: Repetition = Repetition { first_seed: 3, seeds: 4, threads: NonZero::new(2) };

fn parse(text: &str) -> Scenario {
    Scenario::parse("test", text).unwrap()
}

/// Four targets of 100 MB/s, eight processes that each write four blocks of 1 MB.
fn small(policies: &str, rest: &str) -> Scenario {
    parse(&format!(
        "version = 1\ntitle = \"\"\npolicies = [{policies}]\n[storage]\ntargets = 4\n\
         rate = \"100MB/s\"\n[application]\nprocesses = 8\nblock = \"1MB\"\nblocks = 4\n{rest}"
    ))
}

const NOISE: &str = "[[noise]]\nkind = \"streams\"\nstreams = 8\ntargets = 2\non = \"random\"\n";

#[test]
fn every_policy_is_compared_with_static_placement_of_the_same_seed() {
    let both = small("\"window\", \"static\"", NOISE);
    let points = experiment(&both, REPETITION, &AtomicU64::new(0)).unwrap();
    let [window, fixed] = &points[0].policies[..] else { panic!("two policies") };
    assert_eq!(points[0].static_makespans, fixed.makespans());
    assert_ne!(window.makespans(), fixed.makespans());
    // Also where nobody asked for it.
    let alone = small("\"window\"", NOISE);
    let point = &experiment(&alone, REPETITION, &AtomicU64::new(0)).unwrap()[0];
    assert_eq!(point.policies.len(), 1);
    assert_eq!(point.static_makespans, fixed.makespans());
    assert_eq!(point.bounds.len(), 4);
}

#[test]
fn runs_that_lost_something_are_counted() {
    let lost = |rest: &str| {
        let scenario = small("\"static\"", rest);
        let points = experiment(&scenario, REPETITION, &AtomicU64::new(0)).unwrap();
        points[0].policies[0].runs_with_loss()
    };
    assert_eq!(lost(""), 0);
    let full =
        |target| format!("[[fault]]\nat = \"1ms\"\nwhat = \"target-fills\"\nwhich = {target}\n");
    assert_eq!(lost(&full(0)), 0, "what was meant for it goes elsewhere");
    assert_eq!(lost(&(0..4).map(full).collect::<String>()), 4, "nowhere to go");
}

#[test]
fn a_target_that_got_nothing_has_no_end() {
    let mut scenario = small("\"static\"", "");
    scenario.application.processes = 2;
    let outcome = run(&scenario, &"static".parse().unwrap(), 1).unwrap();
    let ends: Vec<bool> = outcome.each_target.iter().map(|it| it.end.is_some()).collect();
    let has_data: Vec<bool> = outcome.each_target.iter().map(|it| it.bytes > 0).collect();
    assert_eq!(ends, has_data);
    assert!(ends.contains(&true) && ends.contains(&false), "{ends:?}");
}

/// The last burst begins after all computes; the first data waits for the first.
#[test]
fn the_bound_of_bursts_is_that_of_compute_or_of_the_targets() {
    // A burst of 32 MB takes 80 ms on all four targets.
    for (compute, expected_ms) in [(1000, 4.0 * 1000.0 + 80.0), (10, 10.0 + 4.0 * 80.0)] {
        let bursts = format!("bursts = 4\ncompute = \"{compute}ms\"\ncache = \"1GB\"\n");
        let scenario = small("\"static\"", &bursts);
        let bound_ms = fluid_bound_ns(&scenario, 1).unwrap() as f64 / 1e6;
        assert!((bound_ms / expected_ms - 1.0).abs() < 1e-6, "{bound_ms} {expected_ms}");
    }
}

#[test]
fn without_noise_the_optimum_is_that_of_the_rates() {
    let mut scenario = small("\"static\"", "");
    assert_eq!(optimal_factor(&scenario), Ok(0.0));
    let rates = ["100MB/s", "100MB/s", "100MB/s", "20MB/s"];
    scenario.storage.rates = rates.iter().map(|rate| rate.parse().unwrap()).collect();
    assert!((optimal_factor(&scenario).unwrap() - 0.25).abs() < 1e-12);
}

#[test]
fn the_optimum_of_noise_is_huangs_and_of_other_rates_that_of_what_is_left() {
    // Eight streams on two of four targets leave a fifth of each: 2.4 of 4 targets are left.
    for on in ["first", "random"] {
        let noise = NOISE.replace("random", on);
        let factor = optimal_factor(&small("\"static\"", &noise)).unwrap();
        assert!((factor - (4.0 / 2.4 - 1.0)).abs() < 1e-12, "{on} {factor}");
    }
    let with_rates = |noise: &str| {
        let mut scenario = small("\"static\"", noise);
        let rates = ["100MB/s", "100MB/s", "100MB/s", "20MB/s"];
        scenario.storage.rates = rates.iter().map(|rate| rate.parse().unwrap()).collect();
        optimal_factor(&scenario)
    };
    // 20, 20, 100 and 20 MB/s are left: in all 160, of which the fast one has 100.
    let factor = with_rates(&NOISE.replace("random", "first")).unwrap();
    assert!((factor - (4.0 * 100.0 / 160.0 - 1.0)).abs() < 1e-12, "{factor}");
    assert_eq!(with_rates(NOISE), Err(SimulateError::NoOptimum), "of every seed another");
}

#[test]
fn outcomes_over_seeds_are_samples_unless_one_is_missing() {
    let both = small("\"window\", \"static\"", NOISE);
    let points = experiment(&both, REPETITION, &AtomicU64::new(0)).unwrap();
    let fixed = &points[0].policies[1];
    let makespans = fixed.over_seeds(|outcome| outcome.makespan).unwrap();
    assert_eq!(makespans.n(), 4);
    assert!(fixed.over_seeds(|outcome| outcome.makespan.filter(|_| outcome.seed != 4)).is_none());
    assert!(fixed.outcomes.iter().all(|outcome| outcome.events > 0));
    // On the noisy targets a fifth is left, so that a static placement takes five times as long.
    let quiet_s = 32e6 / 400e6;
    let longer = fixed.relative_to(&[quiet_s; 4]).unwrap();
    assert!((longer.min() - 5.0).abs() < 1e-6 && (longer.max() - 5.0).abs() < 1e-6, "{longer:?}");
    let bound = 32e6 / 240e6;
    assert!(points[0].bounds.iter().all(|it| (it - bound).abs() < 1e-6), "{:?}", points[0].bounds);
}

#[test]
fn a_coordinator_needs_writers_in_groups_on_one_target_each() {
    let policy: Policy = "coordinator:tf=0.1".parse().unwrap();
    let mut scenario = embedded("quiet").unwrap();
    run(&scenario, &policy, 1).unwrap();
    scenario.application.stripes = 2;
    assert_eq!(run(&scenario, &policy, 1).unwrap_err(), SimulateError::CoordinatorPlacement);
}

#[test]
fn a_spread_by_hand() {
    let spread = Spread::of(&[6.0, 2.0]);
    assert_eq!((spread.mean, spread.deviation, spread.cv), (4.0, 2.0, 0.5));
    assert_eq!((spread.least, spread.most), (2.0, 6.0));
    let nothing = Spread::of(&[0.0, 0.0]);
    assert_eq!((nothing.mean, nothing.cv), (0.0, 0.0), "nothing varies");
}
