//! Instances for tests.
#![allow(dead_code)]

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::Setting;
use plimsoll_measures::{Instance, Outcome, Pair};

/// 2026-01-01, in nanoseconds.
pub const BEGIN: u64 = 1_767_225_600_000_000_000;

pub fn setting() -> Setting {
    Setting::pairs(2, 4, Bytes::new(64 << 20))
}

/// Instance `number` with `pairs` pairs that take different times.
pub fn instance(number: u64, pairs: u64) -> Instance {
    let start = BEGIN + number * 10_000_000_000;
    let pair = |index: u64| Pair {
        client: format!("node{:02}", index % 7),
        target: format!("ost{index:04}"),
        server: index.is_multiple_of(2).then(|| format!("oss{}", index % 3)),
        processes: 4,
        bytes: 256 << 20,
        start,
        end: start + 1_000_000_000 + index * 50_000_000 + number % 13 * 1_000_001,
    };
    Instance {
        run: (number / 8) as u32,
        group: (number / 4 % 2) as u32,
        round: (number / 2 % 2) as u32,
        instance: number,
        setting: setting(),
        varied: format!("{}MiB", 1 << (number % 2)),
        outcome: Outcome::Complete,
        pairs: (0..pairs).map(pair).collect(),
    }
}
