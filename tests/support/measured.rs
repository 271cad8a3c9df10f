//! Results of experiments that nobody ran: each test plants what is to be found.

use std::path::{Path, PathBuf};

use plimsoll_domain::burst::Setting;
use plimsoll_measures::{Instance, Journal, Outcome, Pair};
use serde_json::{Value, json};

const SECOND: u64 = 1_000_000_000;
/// The start of the first instance, 2026-01-01 00:00 UTC.
const BEGINNING: u64 = 1_767_225_600 * SECOND;
/// From the start of one instance to that of the next.
const EVERY: u64 = 20 * SECOND;

/// Results of the first version of their format.
pub const GOLDEN: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../measures/tests/golden/results-v1");

/// Keeps the instances as results of an experiment that was brought to an end.
pub fn keep(
    directory: &Path,
    experiment: &str,
    instances: impl IntoIterator<Item = Instance>,
) -> PathBuf {
    let environment = json!({ "host": "here<script>" });
    let mut journal = Journal::create(directory, experiment, "seed = 7\n", &environment).unwrap();
    for instance in instances {
        journal.append(&instance).unwrap();
    }
    journal.finish(true, Value::Null).unwrap();
    directory.to_path_buf()
}

/// A pair of a client with a target that moves its bursts at a rate in bytes per second.
pub struct Rate {
    pub client: String,
    pub target: String,
    pub rate: f64,
}

/// Instance `number` of run 0: every pair moves the burst of each process of a client.
pub fn instance(number: u64, setting: Setting, varied: &str, pairs: &[Rate]) -> Instance {
    let start = BEGINNING + number * EVERY;
    let bytes = setting.burst.get() * u64::from(setting.processes);
    let pair = |it: &Rate| Pair {
        client: it.client.clone(),
        target: it.target.clone(),
        server: None,
        processes: setting.processes,
        bytes,
        start,
        end: start + (bytes as f64 / it.rate * 1e9) as u64,
    };
    Instance {
        run: 0,
        group: 0,
        round: number as u32,
        instance: number,
        varied: varied.to_string(),
        outcome: Outcome::Complete,
        pairs: pairs.iter().map(pair).collect(),
        setting,
    }
}
