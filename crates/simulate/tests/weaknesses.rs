//! The scenarios that once broke `window`: makespan over the least possible time may get less, and not more.

use plimsoll_simulate::scenario::embedded;
use plimsoll_simulate::{Policy, Scenario, fluid_bound_ns, run};

/// What a scenario's first policy may take at most, with its first seed. Whoever improves the router lowers these.
const AT_MOST: [(&str, f64); 8] = [
    ("request-cost", 1.12),
    ("late-notice", 1.05),
    ("flood-queue", 1.40),
    ("flood-streams", 1.50),
    ("one-writer", 1.04),
    ("lone-writers", 1.02),
    ("fixed-phases", 1.05),
    ("throttled", 1.26),
];

/// The same with other scenarios, when ends are noticed only so often.
const NOTICED_AT_MOST: [(&str, &str, f64); 9] = [
    ("quiet", "25ms", 1.04),
    ("quiet", "100ms", 1.08),
    ("heavy-noise", "100ms", 1.06),
    ("one-slow", "5ms", 1.03),
    ("one-slow", "25ms", 1.06),
    ("one-slow", "50ms", 1.09),
    ("one-slow", "100ms", 1.15),
    ("stochastic", "50ms", 1.08),
    ("stochastic", "100ms", 1.20),
];

#[test]
fn no_scenario_gets_worse_than_it_was() {
    let worse: Vec<(&str, f64, f64)> = AT_MOST
        .iter()
        .map(|(name, most)| (*name, ratio(&embedded(name).unwrap()), *most))
        .filter(|(_, ratio, most)| ratio > most)
        .collect();
    assert!(worse.is_empty(), "(scenario, times the least possible, at most): {worse:?}");
}

#[test]
fn no_scenario_gets_worse_when_ends_are_noticed_late() {
    for (name, every, most) in NOTICED_AT_MOST {
        let mut scenario = embedded(name).unwrap();
        scenario.application.notice_every = every.parse().unwrap();
        let ratio = ratio(&scenario);
        assert!(ratio <= most, "{name}, noticed every {every}: {ratio}, at most {most}");
    }
}

/// Makespan of `window` over the least possible time; not much may be written twice.
fn ratio(scenario: &Scenario) -> f64 {
    let is_window = |policy: &&Policy| policy.kind.name() == "window";
    let window = scenario.policies.iter().find(is_window).unwrap();
    let outcome = run(scenario, window, 1).unwrap();
    let wasted = outcome.wasted_bytes as f64 / outcome.committed_bytes as f64;
    assert!(wasted <= 0.05, "{}: {wasted} written twice", scenario.title);
    outcome.makespan.unwrap() * 1e9 / fluid_bound_ns(scenario, 1).unwrap() as f64
}
