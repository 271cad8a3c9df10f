//! Writes results of an experiment that never took place, to try `plimsoll report` on:
//! sample_results DIRECTORY [ROUNDS [CLIENTS]]. Equal arguments give equal results.

use std::error::Error;
use std::path::Path;

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::Setting;
use plimsoll_measures::{Instance, Journal, Outcome, Pair};
use plimsoll_stats::Random;
use serde_json::json;

/// Of the sample's own making: no real target is so regular.
const TARGET_BYTES_PER_SEC: f64 = 400e6;
const BEGIN_NANOS: u64 = 1_767_225_600_000_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().ok_or("usage: sample_results DIRECTORY [ROUNDS [CLIENTS]]")?;
    let rounds: u32 = arguments.next().map_or(Ok(40), |text| text.parse())?;
    let clients: u32 = arguments.next().map_or(Ok(16), |text| text.parse())?;
    let environment = json!({ "program": "sample_results", "host": "nowhere", "kernel": "none" });
    let plan = "# invented\nexperiment = \"sample\"\nseed = 1\n";
    let mut journal = Journal::create(Path::new(&directory), "sample", plan, &environment)?;
    let (mut chance, mut number, mut time) = (Random::new(1), 0, BEGIN_NANOS);
    for round in 0..rounds {
        for burst in [16u64 << 20, 256 << 20] {
            for processes in [1, 2, 4, 8] {
                let instance =
                    instance(&mut chance, round, number, burst, processes, clients, time);
                time += instance.seconds().map_or(0, |it| (it * 1e9) as u64) + 2_000_000_000;
                journal.append(&instance)?;
                number += 1;
            }
        }
    }
    journal.finish(true, json!({ "invented": true }))?;
    Ok(())
}

fn instance(
    chance: &mut Random,
    round: u32,
    number: u64,
    burst: u64,
    processes: u32,
    clients: u32,
    time: u64,
) -> Instance {
    // Everything is slower for a while in the middle.
    let weather = if (20..26).contains(&(round % 40)) { 0.7 } else { 1.0 };
    let bytes = burst * u64::from(processes);
    let pair = |client: u32, chance: &mut Random| {
        let is_slow = client % 16 == 5;
        let own = if is_slow { 0.6 } else { 1.0 } * (0.9 + 0.2 * chance.unit());
        let straggles = if chance.unit() < 0.04 { 2.0 + 2.0 * chance.unit() } else { 1.0 };
        let rate = TARGET_BYTES_PER_SEC * own * weather * f64::from(processes).powf(0.15);
        let seconds = 0.01 + bytes as f64 / rate * straggles;
        Pair {
            client: format!("node{client:04}"),
            target: format!("ost{client:04}"),
            server: Some(format!("oss{}", client / 4)),
            processes,
            bytes,
            start: time,
            end: time + (seconds * 1e9) as u64,
        }
    };
    let mut pairs: Vec<Pair> = (0..clients).map(|client| pair(client, chance)).collect();
    let mut outcome = Outcome::Complete;
    if chance.unit() < 0.01 {
        outcome = Outcome::Failed("node0003: fsync ost0003/burst: Input/output error".into());
        pairs.truncate(clients as usize / 2);
    }
    Instance {
        run: 0,
        group: 0,
        round,
        instance: number,
        setting: Setting::pairs(clients, processes, Bytes::new(burst)),
        varied: processes.to_string(),
        outcome,
        pairs,
    }
}
