//! What is written is read back: from the journal, and from the Parquet files.

mod common;

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::{Caching, Engine, Operation, Pattern, Setting, Sharing};
use plimsoll_measures::{Instance, Journal, Outcome, Pair, Results};
use proptest::prelude::*;
use serde_json::json;

fn settings() -> impl Strategy<Value = Setting> {
    let words = (any::<[bool; 5]>(), any::<[u32; 5]>(), any::<[u64; 3]>());
    words.prop_map(|(words, counts, sizes)| Setting {
        operation: if words[0] { Operation::Read } else { Operation::Write },
        clients: counts[0],
        processes: counts[1],
        targets: counts[2],
        burst: Bytes::new(sizes[0]),
        transfer: Bytes::new(sizes[1]),
        pattern: if words[1] { Pattern::Random } else { Pattern::Sequential },
        sharing: if words[2] { Sharing::Shared } else { Sharing::Independent },
        stripe_count: counts[3],
        stripe_size: Bytes::new(sizes[2]),
        caching: if words[3] { Caching::Synced } else { Caching::Direct },
        engine: if words[4] { Engine::Uring } else { Engine::Synchronous },
        depth: counts[4],
    })
}

fn pairs() -> impl Strategy<Value = Pair> {
    let times = 0..=i64::MAX as u64;
    let names = (any::<String>(), any::<String>(), any::<Option<String>>());
    (names, any::<u32>(), any::<u64>(), times.clone(), times).prop_map(
        |((client, target, server), processes, bytes, start, end)| Pair {
            client,
            target,
            server,
            processes,
            bytes,
            start,
            end,
        },
    )
}

fn outcomes() -> impl Strategy<Value = Outcome> {
    prop_oneof![Just(Outcome::Complete), any::<String>().prop_map(Outcome::Failed)]
}

/// Instances with ascending numbers that need not follow each other.
fn experiments() -> impl Strategy<Value = Vec<Instance>> {
    let pairs = prop::collection::vec(pairs(), 0..5);
    let one = (1..9u64, any::<[u32; 3]>(), settings(), any::<String>(), outcomes(), pairs);
    prop::collection::vec(one, 0..12).prop_map(|all| {
        let mut number = 0;
        all.into_iter()
            .map(|(step, [run, group, round], setting, varied, outcome, pairs)| {
                number += step;
                let instance = number;
                Instance { run, group, round, instance, setting, varied, outcome, pairs }
            })
            .collect()
    })
}

fn read(results: &Results) -> Vec<Instance> {
    results.instances().unwrap().collect::<Result<_, _>>().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn journal_and_parquet_hold_the_same(instances in experiments(), name: String) {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path().join("results");
        let environment = json!({ "host": "here" });
        let mut journal = Journal::create(&directory, &name, "seed = 7\n", &environment).unwrap();
        for instance in &instances {
            journal.append(instance).unwrap();
        }
        let running = Results::open(&directory).unwrap();
        prop_assert!(!running.complete);
        prop_assert!(running.warnings[0].contains("not brought to an end"));
        prop_assert_eq!(&read(&running), &instances);
        journal.finish(true, json!({ "median": 1.5 })).unwrap();
        let finished = Results::open(&directory).unwrap();
        prop_assert!(finished.complete);
        prop_assert_eq!(&finished.warnings, &Vec::<String>::new());
        prop_assert_eq!(&finished.experiment, &name);
        prop_assert_eq!(&finished.environment, &environment);
        prop_assert_eq!(&read(&finished), &instances);
        // Without the journal: the Parquet files have all of it.
        std::fs::remove_file(directory.join("journal.ndjson")).unwrap();
        prop_assert_eq!(&read(&Results::open(&directory).unwrap()), &instances);
    }
}

/// More rows than a row group and than a batch of the reader, and instances of many pairs.
#[test]
fn many_pairs_cross_all_limits() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path().join("results");
    let mut journal = Journal::create(&directory, "large", "", &json!({})).unwrap();
    let pairs = |number: u64| match number {
        // Fits into a line of the journal, and so into the Parquet files.
        60 => 50_000,
        _ => [0, 1, 5000, 4096, 17][(number % 5) as usize],
    };
    for number in 0..=60 {
        journal.append(&common::instance(number, pairs(number))).unwrap();
    }
    journal.finish(true, json!({})).unwrap();
    let results = Results::open(&directory).unwrap();
    assert_eq!(results.warnings, [""; 0]);
    let mut number = 0;
    for instance in results.instances().unwrap() {
        assert_eq!(instance.unwrap(), common::instance(number, pairs(number)));
        number += 1;
    }
    assert_eq!(number, 61);
}
