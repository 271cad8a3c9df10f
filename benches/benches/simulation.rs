//! Protocol events per second of the simulator: one checkpoint of 8 blocks by each process on
//! 1,008 targets with noise, for every router, at 131,072 and at 1,048,576 processes.
//!
//! CPU time of the one thread, so that neighbours on the machine do not count. The baseline is
//! a bare heap of packed keys with one pending event for each target, of the same run: what a
//! simulator could do at most if machines and targets took no time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;

use anyhow::Result;
use plimsoll_benches::{cpu_seconds, forget_peak_memory, peak_memory_mib};
use plimsoll_simulate::{Policy, Scenario, run};

const TARGETS: u32 = 1008;
const POLICIES: [&str; 4] =
    ["static", "coordinator:tf=0.1", "coordinator:tf=0.1:inquiry=off", "window"];

fn main() -> Result<()> {
    let bare = bare_heap_events_per_second();
    println!("bare heap with {TARGETS} pending: {:.1} M events/s", bare / 1e6);
    println!(
        "{:26} {:>10} {:>8} {:>12} {:>9} {:>12} {:>14} {:>10}",
        "policy", "processes", "block", "events", "CPU s", "M events/s", "of bare heap", "peak MiB"
    );
    // `cargo bench --bench simulation -- window:lanes=8 131072` measures other policies and
    // numbers of processes.
    let given = std::env::args().skip(1).filter(|arg| !arg.starts_with('-'));
    let (sizes, mut policies): (Vec<String>, Vec<String>) =
        given.partition(|arg| arg.parse::<u32>().is_ok());
    let mut sizes: Vec<u32> = sizes.iter().filter_map(|size| size.parse().ok()).collect();
    if policies.is_empty() {
        policies = POLICIES.map(String::from).to_vec();
    }
    if sizes.is_empty() {
        sizes = vec![131_072, 1_048_576];
    }
    for processes in sizes {
        for policy in &policies {
            row(policy, processes, bare)?;
        }
    }
    Ok(())
}

/// 8 blocks of 2 MiB (the chunks of Huang's benchmark, section 5.1) by each process; a tenth of the
/// targets is 10 times slower, for a minute on average.
const SCENARIO: &str = r#"
version = 1
title = "one checkpoint of 8 blocks by each process"
source = "Huang, section 5.1"
policies = ["window"]

[storage]
targets = 1
rate = "500MiB/s"

[application]
processes = 1
blocks = 8
block = "2MiB"

[[noise]]
kind = "on-off"
slowdown = 10.0
slow = { mean = "60s" }
normal = { mean = "540s" }
"#;

fn scenario(processes: u32) -> Result<Scenario> {
    let mut scenario = Scenario::parse("speed", SCENARIO)?;
    scenario.storage.targets = TARGETS;
    scenario.application.processes = processes;
    Ok(scenario)
}

fn row(policy: &str, processes: u32, bare: f64) -> Result<()> {
    let scenario = scenario(processes)?;
    let chosen: Policy = policy.parse().map_err(anyhow::Error::msg)?;
    // Where the kernel does not let us, the peak of a row includes that of the rows before.
    let _ = forget_peak_memory();
    let begin = cpu_seconds();
    let outcome = run(&scenario, &chosen, 1)?;
    let seconds = cpu_seconds() - begin;
    let rate = outcome.events as f64 / seconds;
    println!(
        "{policy:26} {processes:>10} {:>8} {:>12} {seconds:>9.2} {:>12.2} {:>14.3} {:>10}",
        scenario.application.block.to_string(),
        outcome.events,
        rate / 1e6,
        rate / bare,
        peak_memory_mib().map_or("-".into(), |mib| mib.to_string())
    );
    Ok(())
}

fn bare_heap_events_per_second() -> f64 {
    const EVENTS: u64 = 10_000_000;
    let mut heap: BinaryHeap<Reverse<u128>> =
        (0..u128::from(TARGETS)).map(|target| Reverse(target << 72 | target)).collect();
    let begin = cpu_seconds();
    for nth in 0..EVENTS {
        if let Some(Reverse(key)) = heap.pop() {
            // Not in order of time, as completions are not.
            let later = u128::from(nth.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44);
            heap.push(Reverse(black_box(key + (later << 72))));
        }
    }
    EVENTS as f64 / (cpu_seconds() - begin)
}
