//! `plimsoll simulate --fuzz`: random scenarios with faults, each replayable by its seed.

use std::process::ExitCode;

use anyhow::{Result, ensure};
use plimsoll_figures::simulated::numbers::{FUZZ_FAILED, FUZZ_RUNS, SEED};
use plimsoll_report::Record;
use plimsoll_simulate::{Scenario, fuzz_many, fuzz_scenario};

use crate::output::Output;
use crate::progress::Progress;

const FAILURES_SHOWN: usize = 10;

pub fn run(runs: u64, first_seed: u64, output: Output) -> Result<ExitCode> {
    ensure!(runs > 0, "--fuzz 0 runs nothing; hint: --fuzz 100");
    ensure!(
        first_seed.checked_add(runs).is_some(),
        "--seed {first_seed} is too large for {runs} runs; hint: --seed 1"
    );
    let progress = Progress::new("fuzzing", runs);
    let failures = fuzz_many(first_seed, runs, &progress.done);
    drop(progress);
    let rows = failures.iter().take(FAILURES_SHOWN).map(|(seed, error)| {
        let (scenario, policy) = fuzz_scenario(*seed);
        Record::new()
            .number(&SEED, *seed)
            .text("policy", "policy", policy.to_string())
            .text("what", "what", scenario.title.clone())
            .text("faults", "faults", faults(&scenario))
            .text("problem", "problem", error.to_string())
    });
    let mut record =
        Record::new().number(&FUZZ_RUNS, runs).number(&FUZZ_FAILED, failures.len() as u64);
    if let Some((seed, _)) = failures.first() {
        record = record
            .rows("failures", "failures", rows.collect())
            .note(format!("replay the first with: plimsoll simulate --fuzz 1 --seed {seed}"));
    }
    output.print("simulate.fuzz", &format!("fuzzing: {runs} random scenarios"), &record)?;
    Ok(if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn faults(scenario: &Scenario) -> String {
    let one = |fault: &plimsoll_simulate::scenario::Fault| {
        format!("{} {} at {}", fault.what.name(), fault.which, fault.at)
    };
    let mut all: Vec<String> = scenario.fault.iter().map(one).collect();
    if scenario.network.loss > 0.0 {
        all.push(format!("loss {:.2}", scenario.network.loss));
    }
    if scenario.network.repeat > 0.0 {
        all.push(format!("repeat {:.2}", scenario.network.repeat));
    }
    all.join(", ")
}
