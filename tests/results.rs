//! `plimsoll report` on the results of a benchmark.

mod figures;

use std::fs;
use std::path::{Path, PathBuf};

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::Setting;
use plimsoll_measures::{Instance, Outcome, Pair};
use serde_json::Value;

use crate::support::command::{Outcome as Ended, binary};
use crate::support::measured::{GOLDEN, keep};

/// Instance `number`, in which the pair of client c takes `seconds[c]` for 100 MB.
fn instance(number: u64, processes: u32, seconds: &[f64]) -> Instance {
    let start = 1_767_225_600_000_000_000 + number * 60_000_000_000;
    let pair = |(client, seconds): (usize, &f64)| Pair {
        client: format!("node{client}"),
        target: format!("ost{client}"),
        server: None,
        processes,
        bytes: 100_000_000,
        start,
        end: start + (seconds * 1e9) as u64,
    };
    let clients = seconds.len() as u32;
    Instance {
        run: 0,
        group: 0,
        round: number as u32,
        instance: number,
        setting: Setting {
            transfer: Bytes::new(1_000_000),
            stripe_size: Bytes::new(1_000_000),
            ..Setting::pairs(clients, processes, Bytes::new(100_000_000 / u64::from(processes)))
        },
        varied: processes.to_string(),
        outcome: Outcome::Complete,
        pairs: seconds.iter().enumerate().map(pair).collect(),
    }
}

fn kept(place: &Path, instances: impl IntoIterator<Item = Instance>) -> PathBuf {
    kept_as("burst", place, instances)
}

fn kept_as(
    experiment: &str,
    place: &Path,
    instances: impl IntoIterator<Item = Instance>,
) -> PathBuf {
    keep(&place.join("results"), experiment, instances)
}

fn report(directory: &Path, more: &[&str]) -> Ended {
    let output = binary().arg("report").arg(directory).args(more).output().unwrap();
    Ended {
        status: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn json(directory: &Path) -> Value {
    let outcome = report(directory, &["--json"]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    serde_json::from_str::<Value>(&outcome.stdout).unwrap()["result"].clone()
}

fn page(directory: &Path) -> String {
    let file = directory.join("page.html");
    let outcome = report(directory, &["--html", file.to_str().unwrap()]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    fs::read_to_string(file).unwrap()
}

/// Two pairs of 100 MB, the slower in 2 s: 100 MB/s; without it 4 times as fast.
#[test]
fn numbers_are_those_of_the_definitions() {
    let place = tempfile::tempdir().unwrap();
    let mut instances: Vec<Instance> = (0..21).map(|it| instance(it, 1, &[0.5, 2.0])).collect();
    instances[20].outcome = Outcome::Failed("node1: no space".into());
    let result = json(&kept(place.path(), instances));
    assert_eq!((&result["instances"], &result["failed"]), (&20.into(), &1.into()));
    let point = &result["points"][0];
    assert_eq!((&point["instances"], &point["failed"]), (&20.into(), &1.into()));
    for key in ["aggregate_median", "aggregate_median_low", "aggregate_median_high"] {
        assert_eq!(point[key], 100_000_000.0, "{key}");
    }
    assert_eq!(point["effective_aggregate_median"], Value::Null, "no peak is known");
    assert_eq!(result["gain_median"], 4.0);
    assert_eq!(result["failures"][0]["reason"], "node1: no space");
}

/// The experiment "target" measures the peaks that its own bandwidths are divided by.
#[test]
fn where_peaks_are_known_there_is_effective_bandwidth() {
    let place = tempfile::tempdir().unwrap();
    // A quarter of the bytes in a quarter of the time: no cache takes them in.
    let burst = |number: u64| {
        let seconds = 1.0 + (number / 2) as f64 / 100.0;
        let mut it =
            instance(number, 1, &[seconds / if number.is_multiple_of(2) { 1.0 } else { 4.0 }]);
        if number % 2 == 1 {
            it.pairs[0].bytes /= 4;
            it.setting.burst = Bytes::new(it.setting.burst.get() / 4);
        }
        it
    };
    let directory = kept_as("target", place.path(), (0..18).map(burst));
    let effective = json(&directory)["points"][1]["effective_aggregate_median"].as_f64().unwrap();
    assert!((0.96..0.97).contains(&effective), "1 / 1.04 of nearly the fastest: {effective}");
    assert!(page(&directory).contains("Effective aggregate bandwidth"));
    let place = tempfile::tempdir().unwrap();
    let one_size = kept_as("target", place.path(), (0..9).map(|it| instance(it, 1, &[1.0])));
    assert_eq!(json(&one_size)["points"][0]["effective_aggregate_median"], Value::Null);
    let page = page(&one_size);
    assert!(page.contains("no peak of ost0: all bursts move about"), "it is told why");
}

#[test]
fn golden_results_have_a_table_and_a_page() {
    let text = report(Path::new(GOLDEN), &[]);
    assert_eq!(text.status, Some(0), "{}", text.stderr);
    assert!(text.stdout.contains("burst-size") && text.stdout.contains("nobody arrived"));
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("page.html");
    let outcome = report(Path::new(GOLDEN), &["--html", file.to_str().unwrap()]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let page = fs::read_to_string(file).unwrap();
    for title in ["Aggregate bandwidth", "Time to completion of pairs", "PEB of targets"] {
        assert!(page.contains(title), "{title}");
    }
}

#[test]
fn every_number_of_results_is_defined_in_the_docs() {
    let documented = include_str!("../docs/numbers.md");
    let mut open = vec![("result".to_string(), json(Path::new(GOLDEN)))];
    let mut numbers = 0;
    while let Some((key, value)) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items.into_iter().map(|it| (key.clone(), it))),
            Value::Object(entries) => open.extend(entries),
            Value::Number(_) => {
                numbers += 1;
                assert!(documented.contains(&format!("| `{key}` |")), "{key}");
            }
            _ => {}
        }
    }
    assert!(numbers > 20);
}

#[test]
fn one_pair_and_none_at_all_make_a_page_that_says_so() {
    let place = tempfile::tempdir().unwrap();
    let page_of_one = page(&kept(place.path(), [instance(0, 1, &[1.0])]));
    assert!(page_of_one.contains("No instance has more than one pair"));
    assert!(page_of_one.contains("no interval below twenty instances"));
    assert!(!page_of_one.contains("here<script>"), "names are escaped");
    let place = tempfile::tempdir().unwrap();
    let empty = page(&kept(place.path(), []));
    assert!(empty.contains("none had a pair"));
    let place = tempfile::tempdir().unwrap();
    let mut failed = instance(0, 1, &[]);
    failed.outcome = Outcome::Failed("nothing works".into());
    let failed = page(&kept(place.path(), [failed]));
    assert!(failed.contains("nothing works") && failed.contains("There are no scores"));
}

#[test]
fn ten_thousand_instances_make_a_page_of_bounded_size() {
    let place = tempfile::tempdir().unwrap();
    let time = |number: u64, client: u64| 0.5 + (number * 31 + client * 17) as f64 % 97.0 / 50.0;
    let seconds = |number: u64| (0..8).map(|it| time(number, it)).collect::<Vec<f64>>();
    let all = (0..10_000).map(|number| instance(number, 1 << (number % 4), &seconds(number)));
    let page = page(&kept(place.path(), all));
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
    assert!(page.contains("instances are drawn, evenly over the experiment"));
}

#[test]
fn a_killed_experiment_is_reported_from_its_journal_and_says_so() {
    let place = tempfile::tempdir().unwrap();
    for name in ["journal.ndjson", "plan.toml", "environment.json"] {
        fs::copy(Path::new(GOLDEN).join(name), place.path().join(name)).unwrap();
    }
    let text = report(place.path(), &[]);
    assert_eq!(text.status, Some(0), "{}", text.stderr);
    let line = text.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(line.contains("not brought to an end") && line.contains("--resume"), "{line}");
    assert!(page(place.path()).contains("not brought to an end"));
}

#[test]
fn what_recordings_alone_can_do_is_refused() {
    let outcome = report(Path::new(GOLDEN), &["--fail-on", "low"]);
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.stderr.contains("--fail-on is for recordings"), "{}", outcome.stderr);
}
