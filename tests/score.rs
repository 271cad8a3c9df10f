//! `plimsoll score`: scores and verdicts of benchmark results.

mod locality;
mod peaks;
mod tables;
mod verdicts;

use std::path::{Path, PathBuf};

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::Setting;
use plimsoll_measures::{Instance, Journal, Outcome, Pair};
use plimsoll_stats::Random;
use serde_json::{Value, json as to_json};
use tempfile::TempDir;

use crate::support::command::{binary, plimsoll, samples, text};

const MIB: u64 = 1 << 20;
const SECOND: u64 = 1_000_000_000;

/// Results to score: bursts of rounds that are 20 s apart, clients paired with targets at random.
struct Results<'a> {
    experiment: &'a str,
    rounds: u32,
    targets: u32,
    /// MiB of a burst, in turn from round to round.
    bursts: &'a [u64],
    /// Whether each target has an instance of its own, one after the other.
    in_turn: bool,
}

impl Results<'_> {
    /// Writes them; `rate` gives bandwidths in MiB/s for round and target.
    fn write(&self, directory: &Path, rate: impl Fn(u32, u32, &mut Random) -> f64) -> PathBuf {
        let place = directory.join(self.experiment);
        let environment = to_json!({"host": "testing"});
        let mut journal = Journal::create(&place, self.experiment, "", &environment).unwrap();
        let mut random = Random::new(7);
        let mut number = 0;
        for round in 0..self.rounds {
            let burst = self.bursts[round as usize % self.bursts.len()];
            let mut clients: Vec<u32> = (0..self.targets).collect();
            random.shuffle(&mut clients);
            let pairs: Vec<Pair> = (0..self.targets)
                .map(|target| {
                    let later = if self.in_turn { u64::from(target) * SECOND } else { 0 };
                    let start = 1_769_850_000 * SECOND + u64::from(round) * 20 * SECOND + later;
                    let rate = rate(round, target, &mut random);
                    Pair {
                        client: format!("c{}", clients[target as usize]),
                        target: format!("t{target}"),
                        server: None,
                        processes: 1,
                        bytes: burst * MIB,
                        start,
                        end: start + (burst as f64 / rate * 1e9) as u64,
                    }
                })
                .collect();
            let instances: Vec<Vec<Pair>> = if self.in_turn {
                pairs.into_iter().map(|pair| vec![pair]).collect()
            } else {
                vec![pairs]
            };
            for pairs in instances {
                journal.append(&instance(round, number, burst, pairs)).unwrap();
                number += 1;
            }
        }
        journal.finish(true, Value::Null).unwrap();
        place
    }
}

fn instance(round: u32, number: u64, burst: u64, pairs: Vec<Pair>) -> Instance {
    let count = pairs.len() as u32;
    Instance {
        run: 0,
        group: 0,
        round,
        instance: number,
        setting: Setting::pairs(count, 1, Bytes::new(burst * MIB)),
        varied: count.to_string(),
        outcome: Outcome::Complete,
        pairs,
    }
}

/// Results of one instance of 64 MiB bursts a round.
fn results(
    directory: &Path,
    experiment: &str,
    rounds: u32,
    targets: u32,
    rate: impl Fn(u32, u32, &mut Random) -> f64,
) -> PathBuf {
    Results { experiment, rounds, targets, bursts: &[64], in_turn: false }.write(directory, rate)
}

fn noise(random: &mut Random) -> f64 {
    100.0 * (0.03 * random.normal()).exp()
}

fn score(place: &Path, more: &str) -> Value {
    let mut command = binary();
    command.arg("score").arg(place).args(more.split_whitespace()).arg("--json");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice::<Value>(&output.stdout).unwrap()["result"].clone()
}

fn verdict<'a>(scores: &'a Value, side: &str, name: &str) -> &'a Value {
    let list = scores[side].as_array().unwrap();
    &list.iter().find(|it| it["name"] == name).unwrap()["verdict"]
}

#[test]
fn a_target_at_half_speed_is_named_and_nothing_else() {
    let folder = TempDir::new().unwrap();
    let half = |_, target, random: &mut Random| noise(random) * if target == 2 { 0.5 } else { 1.0 };
    let place = results(folder.path(), "many-pairs", 15, 4, half);
    let scores = score(&place, "");
    for name in ["t0", "t1", "t3"] {
        assert_eq!(verdict(&scores, "targets", name), "normal");
    }
    assert_eq!(verdict(&scores, "targets", "t2"), "persistent straggler");
    for name in ["c0", "c1", "c2", "c3"] {
        assert_eq!(verdict(&scores, "clients", name), "normal", "{name}");
    }
    let slow = &scores["targets"].as_array().unwrap().iter().find(|it| it["name"] == "t2").unwrap();
    let median = slow["leb"]["median"].as_f64().unwrap();
    assert!((0.4..0.6).contains(&median), "{median}");
    for key in ["max", "median", "mean", "min", "n"] {
        assert!(slow["leb"][key].is_number() && slow["peb"][key].is_number(), "{key}");
    }
    let failing = plimsoll(&format!("score {} --fail-on persistent", place.display()));
    assert_eq!(failing.status, Some(1));
    let said = failing.stdout;
    assert!(said.contains("t2 is a persistent straggler: "), "{said}");
    assert!(said.contains("Do without t2 until it is repaired."), "{said}");
}

#[test]
fn nothing_is_named_when_nothing_is_slow_and_too_little_is_said_to_be_so() {
    let folder = TempDir::new().unwrap();
    let even = |_, _, random: &mut Random| noise(random);
    let place = results(folder.path(), "many-pairs", 12, 4, even);
    let scores = score(&place, "--fail-on transient");
    assert_eq!(verdict(&scores, "targets", "t0"), "normal");
    let few = results(folder.path(), "few", 5, 4, even);
    let scores = score(&few, "");
    assert_eq!(verdict(&scores, "targets", "t0"), &Value::Null);
    assert_eq!(scores["targets"][0]["needed"], 10);
    assert!(scores["verdicts"][0].as_str().unwrap().contains("5 measures; 10 are needed"));
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn the_same_measures_are_not_counted_twice() {
    let folder = TempDir::new().unwrap();
    let even = |_, _, random: &mut Random| noise(random);
    let place = results(folder.path(), "many-pairs", 5, 4, even);
    let other = results(folder.path(), "other", 5, 4, even);
    let copied = folder.path().join("copied");
    copy(&place, &copied);
    // Also without what the copy could be told by.
    std::fs::remove_file(copied.join("summary.json")).unwrap();
    for twin in [&place, &copied] {
        let (place, other, twin) = (place.display(), other.display(), twin.display());
        let outcome = plimsoll(&format!("score {place} {other} {twin}"));
        assert_eq!(outcome.status, Some(2), "{}", outcome.stdout);
        let expected = format!("cannot score {place} and {twin} together");
        assert!(outcome.stderr.contains(&expected), "{}", outcome.stderr);
    }
    // Other experiments at the same time, as this test makes them, are no copies.
    let outcome = plimsoll(&format!("score {} {}", place.display(), other.display()));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
}

#[test]
fn one_target_alone_has_no_leb_and_no_verdict() {
    let folder = TempDir::new().unwrap();
    let even = |_, _, random: &mut Random| noise(random);
    let scores = score(&results(folder.path(), "target", 12, 1, even), "");
    assert_eq!(scores["targets"][0]["leb"]["n"], 0);
    assert_eq!(scores["targets"][0]["leb"]["median"], Value::Null);
    assert_eq!(scores["targets"][0]["peb"]["n"], 12);
    // Bursts of one size prove no peak.
    assert_eq!(scores["bandwidths"][0]["eab_median"], Value::Null);
    assert_eq!(scores["sequences"][0]["basis"], "bandwidth");
}

#[test]
fn a_missing_peak_is_missing_and_a_given_one_is_used() {
    let folder = TempDir::new().unwrap();
    let even = |_, _, random: &mut Random| noise(random);
    let place = results(folder.path(), "many-pairs", 12, 2, even);
    let scores = score(&place, "");
    assert_eq!(scores["bandwidths"][0]["eb_median"], Value::Null);
    assert_eq!(scores["sequences"][0]["basis"], "bandwidth");
    let site = folder.path().join("site.toml");
    let target = |name| {
        format!(
            "[[target]]\nname = \"{name}\" # kept\npath = \"/{name}\"\n[target.peak]\nwrite = \"200MiB/s\"\n"
        )
    };
    std::fs::write(&site, format!("version = 1\n{}{}", target("t0"), target("t1"))).unwrap();
    let scores = score(&place, &format!("--site {}", site.display()));
    let eb = scores["bandwidths"][0]["eb_median"].as_f64().unwrap();
    assert!((0.45..0.55).contains(&eb), "{eb}");
}

#[test]
fn what_was_found_is_written_into_the_site_file() {
    let folder = TempDir::new().unwrap();
    let site = folder.path().join("site.toml");
    let mut text = "version = 1 # mine\n".to_string();
    for target in 0..4 {
        text += &format!("[[target]]\nname = \"t{target}\"\npath = \"/t{target}\"\n");
    }
    std::fs::write(&site, text).unwrap();
    let blinking = |round, target, random: &mut Random| {
        let slow = target == 1 || (round / 2 + target) % 6 == 0;
        noise(random) * if slow { 0.5 } else { 1.0 }
    };
    let place = results(folder.path(), "many-pairs", 60, 4, blinking);
    let outcome =
        plimsoll(&format!("score {} --site {} --write-back", place.display(), site.display()));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let said = &outcome.stderr;
    assert!(said.contains("no measured peaks: no results have one target an instance"), "{said}");
    let written = std::fs::read_to_string(&site).unwrap();
    for part in ["# mine", "[[slowness]]", "[[straggler]]", "verdict = \"persistent\""] {
        assert!(written.contains(part), "{part}: {written}");
    }
    crate::support::command::json(&format!("site show {}", site.display()));
}

#[test]
fn every_pair_goes_into_the_csv_file() {
    let folder = TempDir::new().unwrap();
    let even = |_, _, random: &mut Random| noise(random);
    let place = results(folder.path(), "many-pairs", 8, 3, even);
    let table = folder.path().join("pairs.csv");
    score(&place, &format!("--csv {}", table.display()));
    let text = std::fs::read_to_string(&table).unwrap();
    assert_eq!(text.lines().count(), 1 + 8 * 3);
    assert!(text.starts_with("results,experiment,run,"), "{text}");
}

#[test]
fn a_year_of_runs_has_the_known_quartiles() {
    let Some(samples) = samples("the year of runs") else { return };
    let year = samples.join("year");
    let file = |name: &str| year.join(name).display().to_string();
    let known: Value =
        serde_json::from_slice(&std::fs::read(year.join("reference_stats_type7.json")).unwrap())
            .unwrap();
    let found = crate::support::command::json(&format!(
        "score --as tokio-abc --from-csv {} {} {}",
        file("cori-summaries_2017-02-14-2018-02-15.slim.csv.gz"),
        file("edison-summaries_2017-02-14-2018-02-15.slim.csv.gz"),
        file("mira-summaries_2017-02-14_2018-02-15.slim.csv.gz"),
    ));
    let groups = found["groups"].as_array().unwrap();
    assert_eq!(groups.len(), known.as_array().unwrap().len());
    for expected in known.as_array().unwrap() {
        let key = ["file", "fs", "app", "rw", "nprocs", "api"];
        let is_it = |group: &&Value| key.iter().all(|it| group["group"][it] == expected[it]);
        let group = groups.iter().find(is_it).unwrap_or_else(|| panic!("{expected}"));
        for (ours, theirs) in [
            ("n", "n"),
            ("min", "min"),
            ("q1", "q1"),
            ("median", "median"),
            ("q3", "q3"),
            ("max", "max"),
            ("mean", "mean"),
            ("sd", "sd"),
            ("outliers_low", "low_out"),
            ("outliers_high", "high_out"),
        ] {
            let (ours, theirs) =
                (group[ours].as_f64().unwrap(), expected[theirs].as_f64().unwrap());
            // The reference is rounded to two decimals.
            assert!((ours - theirs).abs() <= 0.005 + 1e-9, "{expected}: {ours} {theirs}");
        }
    }
    assert_eq!(found["rows_skipped"], 6);
    assert_eq!(found["weekdays"].as_array().unwrap().len(), 7);
}

#[test]
fn tables_that_cannot_be_read_say_why() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("runs.csv");
    let rows = "a,1,2018-01-28 12:00:00\na,3,never\nb,,0\nb,fast,0\nb,nan,0\nb,oops,0\n";
    std::fs::write(&path, format!("machine,rate,when\n{rows}")).unwrap();
    for (name, text) in
        [("only.csv", "machine,rate\n"), ("twice.csv", "rate,rate\n1,2\n"), ("no.csv", "rate\nx\n")]
    {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let shown = path.display();
    let table = text(&format!("score --from-csv {shown} --value rate --by machine --time when"));
    assert!(table.contains("1 rows have no time"), "{table}");
    let why =
        "4 rows left out: 1 with nothing, 2 with no number, 1 with no finite number in \"rate\"";
    assert!(table.contains(why), "{table}");
    let other = |name: &str| folder.path().join(name).display().to_string();
    for (arguments, reason) in [
        (format!("--from-csv {shown} --value speed"), "no column \"speed\"; hint: it has machine"),
        (format!("--from-csv {shown}"), "no --value COLUMN"),
        (format!("--from-csv {} --value rate", other("only.csv")), "no row behind"),
        (format!("--from-csv {} --value rate", other("twice.csv")), "columns are called \"rate\""),
        (format!("--from-csv {} --value rate", other("no.csv")), "1 rows left out: 1 with no num"),
        (format!("--from-csv {shown}x --value rate"), "No such file"),
        (folder.path().display().to_string(), "holds no results"),
    ] {
        let outcome = plimsoll(&format!("score {arguments}"));
        assert_eq!(outcome.status, Some(2), "{arguments}");
        assert!(outcome.stderr.contains(reason), "{arguments}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    }
    std::fs::write(folder.path().join("cut.csv.gz"), [0x1f, 0x8b, 8, 0]).unwrap();
    let outcome = plimsoll(&format!(
        "score --from-csv {} --value rate",
        folder.path().join("cut.csv.gz").display()
    ));
    assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
}
