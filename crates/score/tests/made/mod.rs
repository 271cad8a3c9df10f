//! Instances that are made up.

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::Setting;
use plimsoll_measures::{Instance, Outcome, Pair};
use plimsoll_score::{Columns, Source};

pub const SECOND: u64 = 1_000_000_000;

/// An instance ten seconds after the one before, whose pairs of a client and a target take this many nanoseconds each.
pub fn instance(number: u64, pairs: impl IntoIterator<Item = (String, String, u64)>) -> Instance {
    let start = (1_700_000_000 + 10 * number) * SECOND;
    let pair = |(client, target, nanos)| Pair {
        client,
        target,
        server: None,
        processes: 1,
        bytes: 1 << 20,
        start,
        end: start + nanos,
    };
    let pairs: Vec<Pair> = pairs.into_iter().map(pair).collect();
    Instance {
        run: 0,
        group: 0,
        round: number as u32,
        instance: number,
        setting: Setting::pairs(pairs.len() as u32, 1, Bytes::new(1 << 20)),
        varied: String::new(),
        outcome: Outcome::Complete,
        pairs,
    }
}

/// One source with these instances.
pub fn columns(experiment: &str, instances: impl IntoIterator<Item = Instance>) -> Columns {
    let mut columns = Columns::default();
    let experiment = experiment.to_string();
    let source = columns.source(Source { label: "x".into(), experiment, machine: None });
    instances.into_iter().for_each(|instance| columns.add(source, &instance));
    columns
}
