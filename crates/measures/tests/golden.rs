//! Results of version 1 stay readable.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::{Caching, Engine, Operation, Pattern, Sharing};
use plimsoll_measures::{Instance, Journal, Outcome, Results};
use serde_json::json;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/results-v1")
}

/// Both values of every word, an instance that failed in part, one that failed altogether, one
/// pair without a server, and a name that is not ASCII.
fn instances() -> Vec<Instance> {
    let mut all: Vec<Instance> = (0..6).map(|number| common::instance(number, 2)).collect();
    let other = &mut all[1].setting;
    other.operation = Operation::Read;
    other.pattern = Pattern::Random;
    other.sharing = Sharing::Shared;
    other.caching = Caching::Synced;
    other.engine = Engine::Uring;
    other.depth = 16;
    other.stripe_count = 4;
    other.burst = Bytes::new(1_500_000_000);
    all[2].outcome = Outcome::Failed("node01: write ost0001/burst.1: Input/output error".into());
    all[2].pairs.truncate(1);
    all[3].outcome = Outcome::Failed("nobody arrived".into());
    all[3].pairs.clear();
    all[4].pairs[1].client = "knoten-ä".into();
    all[5].instance = 17;
    all
}

fn write(directory: &Path) {
    let (plan, environment) = ("seed = 42\n", json!({ "host": "golden", "kernel": "6.1" }));
    let mut journal = Journal::create(directory, "burst-size", plan, &environment).unwrap();
    for instance in instances() {
        journal.append(&instance).unwrap();
    }
    journal.finish(true, json!({ "rounds": 3 })).unwrap();
}

#[test]
fn version_1_reads() {
    if std::env::var_os("PLIMSOLL_WRITE_GOLDEN").is_some() {
        write(&golden());
    }
    let results = Results::open(&golden()).unwrap();
    assert_eq!(results.warnings, [""; 0]);
    assert!(results.complete && Results::is_results(&golden()));
    assert_eq!(results.experiment, "burst-size");
    assert_eq!(results.plan_text, "seed = 42\n");
    assert_eq!(results.environment["kernel"], "6.1");
    let read: Vec<Instance> = results.instances().unwrap().map(Result::unwrap).collect();
    assert_eq!(read, instances());
}

#[test]
fn the_journal_of_version_1_reads() {
    let place = tempfile::tempdir().unwrap();
    for name in ["plan.toml", "environment.json", "journal.ndjson"] {
        fs::copy(golden().join(name), place.path().join(name)).unwrap();
    }
    let results = Results::open(place.path()).unwrap();
    let read: Vec<Instance> = results.instances().unwrap().map(Result::unwrap).collect();
    assert_eq!(read, instances());
    assert_eq!(results.warnings.len(), 1, "{:?}", results.warnings);
}

#[test]
fn the_writer_writes_the_golden_journal() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("results");
    write(&directory);
    for name in ["plan.toml", "environment.json", "journal.ndjson"] {
        assert!(fs::read(directory.join(name)).unwrap() == fs::read(golden().join(name)).unwrap());
    }
}
