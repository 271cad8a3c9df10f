//! `plimsoll route bench` on plain directories: everything is committed once, and no file stays.

mod ends;
mod limits;
mod shared;

use std::process::Command;

use serde_json::Value;

use crate::support::command::{Outcome, binary};
use crate::support::storage::Storage;

/// Races.
impl Storage {
    fn race_command(&self, arguments: &str) -> Command {
        let mut command = binary();
        command.args(["route", "bench"]).args(arguments.split_whitespace());
        command.arg("--targets").args(&self.targets);
        command
    }

    fn race(&self, arguments: &str) -> Outcome {
        self.race_command(arguments).output().unwrap().into()
    }

    /// The result, or `None` where io_uring is not available.
    #[track_caller]
    fn race_fine(&self, arguments: &str) -> Option<Value> {
        let outcome = self.race(&format!("{arguments} --json"));
        if outcome.stderr.contains("io_uring is not available") {
            eprintln!("SKIPPED: {arguments} needs io_uring");
            return None;
        }
        assert_eq!(outcome.status, Some(0), "{arguments}: {}", outcome.stderr);
        Some(serde_json::from_str::<Value>(&outcome.stdout).unwrap()["result"].clone())
    }
}

/// Some as they were once written, which stays readable.
const ALL: &str = "static,striped,coordinator:tf=0.1,paper:optimal,paper-split,coordinator:tf=none,window,window:tf=0.1";

#[test]
fn every_policy_commits_everything_exactly_once_and_leaves_nothing() {
    for (way, targets, writers) in [("", 3, 4), ("--buffered", 2, 1), ("", 1, 3), ("", 4, 2)] {
        let storage = Storage::with_targets(targets);
        let arguments = format!(
            "--policy {ALL} --writers {writers} --blocks 3 --block-size 700KiB --rounds 2 --verify {way}"
        );
        let Some(result) = storage.race_fine(&arguments) else { return };
        let runs = result["runs"].as_array().unwrap();
        assert_eq!(runs.len(), 16);
        let total = writers as u64 * 3 * (700 << 10);
        assert_eq!(result["total_bytes"], total);
        for run in runs {
            assert_eq!(run["lost_bytes"], 0, "{run}");
            assert_eq!(run["wrong_pages"], 0, "{run}");
            assert_eq!(run["read_back_bytes"], total, "{run}");
            let on_targets = run["targets"].as_array().unwrap().iter();
            let on_targets: u64 = on_targets.map(|it| it["target_bytes"].as_u64().unwrap()).sum();
            assert_eq!(on_targets, total, "{run}");
        }
        storage.assert_nothing_left();
    }
}

/// Who won comes first, and targets have their names.
#[test]
fn a_race_has_a_page() {
    let storage = Storage::with_targets(2);
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("race.html");
    let arguments =
        "--policy static,window --writers 2 --blocks 2 --block-size 256KiB --rounds 2 --html";
    if storage.race_fine(&format!("{arguments} {}", page.display())).is_none() {
        return;
    }
    let html = std::fs::read_to_string(&page).unwrap();
    let answer = html.split_once("Who won</h2>").unwrap().1;
    let answer = answer.split_once("<section").unwrap().0;
    assert!(
        answer.contains(" was done first: it took ") && answer.contains("the median of 2 races")
    );
    assert!(answer.contains("2 races of each are too few for an interval."), "{answer}");
    for target in storage.targets.iter().map(|it| it.file_name().unwrap().to_string_lossy()) {
        assert!(html.contains(&format!("</svg>{target}</li>")), "{target} in the legend");
    }
    let refused = storage.race(&format!("--dry-run --html {}", page.display()));
    assert_eq!(refused.status, Some(2), "{}", refused.stderr);
}

#[test]
fn only_the_coordinator_sends_messages_and_static_moves_nothing() {
    let storage = Storage::with_targets(2);
    let arguments =
        "--policy static,striped,coordinator,window --writers 2 --blocks 4 --block-size 256KiB";
    let Some(result) = storage.race_fine(&format!("{arguments} --rounds 1")) else { return };
    for policy in result["policies"].as_array().unwrap() {
        let name = policy["policy"].as_str().unwrap();
        let messages = policy["messages"].as_f64().unwrap();
        assert_eq!(messages > 0.0, name.starts_with("coordinator"), "{policy}");
        assert!(policy["coordinator_messages"].as_f64().unwrap() <= messages, "{policy}");
    }
    let moved = |name: &str| {
        let runs = result["runs"].as_array().unwrap();
        runs.iter().find(|run| run["policy"] == name).unwrap()["moved_bytes"].as_u64().unwrap()
    };
    assert_eq!((moved("static"), moved("striped")), (0, 1 << 20));
    assert!(result["policies"][0]["ratio_low"].is_null(), "one race has no interval");
}

#[test]
fn static_and_the_coordinator_have_one_idea_of_an_own_target() {
    let storage = Storage::with_targets(3);
    for writers in [1, 2, 5, 6] {
        let arguments = format!("--writers {writers} --blocks 2 --block-size 4KiB --rounds 1");
        let Some(result) = storage.race_fine(&format!("{arguments} --policy static,paper:0"))
        else {
            return;
        };
        let runs = result["runs"].as_array().unwrap();
        assert!(runs.iter().all(|run| run["moved_bytes"] == 0), "{writers} writers: {result}");
    }
}

#[test]
fn a_block_of_one_page_is_not_striped_into_less() {
    let storage = Storage::with_targets(4);
    let arguments = "--policy striped --writers 1 --blocks 3 --block-size 4KiB --rounds 1";
    let Some(result) = storage.race_fine(arguments) else { return };
    assert_eq!(result["runs"][0]["attempts"], 3, "{result}");
}

#[test]
fn rounds_are_interleaved_in_an_order_that_the_seed_decides() {
    let storage = Storage::with_targets(2);
    let order = |seed: u64| -> Option<Vec<String>> {
        let arguments = "--policy static,striped,window --writers 1 --blocks 1 --block-size 4KiB";
        let result = storage.race_fine(&format!("{arguments} --rounds 4 --seed {seed}"))?;
        let runs = result["runs"].as_array().unwrap().iter();
        Some(runs.map(|run| run["policy"].as_str().unwrap().to_string()).collect())
    };
    let Some(first) = order(1) else { return };
    assert_eq!(first, order(1).unwrap());
    for round in first.chunks(3) {
        let mut names = round.to_vec();
        names.sort();
        assert_eq!(names, ["static", "striped", "window"]);
    }
    assert!((2..9).any(|seed| order(seed).unwrap() != first));
}

#[test]
fn noise_shares_a_target_meanwhile() {
    let storage = Storage::with_targets(2);
    let arguments = "--policy static --writers 2 --blocks 16 --block-size 1MiB --rounds 1";
    let noise = "--noise ost1:1 --noise all:1";
    let Some(result) = storage.race_fine(&format!("{arguments} {noise}")) else { return };
    assert_eq!(result["targets"][0]["noise_streams"], 1);
    assert_eq!(result["targets"][1]["noise_streams"], 2);
    let rate = |key: &str| result["targets"][1][key].as_f64().unwrap();
    assert!((rate("rate") / rate("rate_left") - 3.0).abs() < 1e-9);
    storage.assert_nothing_left();
}

#[test]
fn a_dry_run_writes_nothing_and_every_number_is_defined() {
    let storage = Storage::with_targets(2);
    let result = storage.race_fine("--dry-run --writers 2 --blocks 3 --block-size 1MiB").unwrap();
    assert_eq!(result["total_bytes"], 6 << 20);
    assert!(result["fluid_bound"].is_null() && result["targets"][0]["rate"].is_null());
    storage.assert_nothing_left();
    let Some(result) = storage.race_fine("--writers 1 --blocks 1 --block-size 4KiB --rounds 1")
    else {
        return;
    };
    let page = include_str!("../docs/numbers.md");
    let mut keys = Vec::new();
    number_keys(&result, "", &mut keys);
    for key in keys {
        assert!(page.contains(&format!("| `{key}` |")), "docs/numbers.md does not define {key}");
    }
}

fn number_keys(value: &Value, key: &str, keys: &mut Vec<String>) {
    match value {
        Value::Number(_) => keys.push(key.to_string()),
        Value::Array(items) => items.iter().for_each(|item| number_keys(item, key, keys)),
        Value::Object(entries) => entries.iter().for_each(|(name, it)| number_keys(it, name, keys)),
        _ => {}
    }
}

#[test]
fn wrong_use_is_refused_before_anything_is_written() {
    let storage = Storage::with_targets(2);
    let refused = [
        ("--policy windows", "unknown policy"),
        ("--policy static:0.1", "no setting tf"),
        ("--policy paper:fast", "throttling factor"),
        ("--tf -1", "throttling factor"),
        ("--writers 0", "0 writers"),
        ("--writers -1", "negative"),
        ("--blocks 0", "0 blocks"),
        ("--rounds 0", "0 rounds"),
        ("--block-size 1KiB", "blocks of 1KiB"),
        ("--block-size 1GiB --blocks 1000000 --writers 1", "free"),
        ("--block-size 1GiB --writers 256", "memory"),
        ("--noise ost9:1", "ost9"),
        ("--noise ost1", "--noise"),
        ("--noise ost1:0", "0 streams"),
        ("--drop ost1=1MiB/s@1", "--testbed"),
        ("--drop ost1", "TARGET=RATE@SECONDS"),
        ("--drop ost1=0B/s@1", "never end"),
        ("--drop ost1=1MiB/s@-1", "0 to 86400"),
        ("--drop ost1=1MiB/s@1ss", "TARGET=RATE@SECONDS"),
        ("--block-size 1GiB --writers 64 --blocks 2", "memory"),
        ("--shared --think 60001", "60001"),
    ];
    for (arguments, word) in refused {
        let outcome = storage.race(arguments);
        assert_eq!(outcome.status, Some(2), "{arguments}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(word), "{arguments}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    }
    let elsewhere = [
        ("route bench", "which targets"),
        ("route bench --targets /no/such", "not a directory"),
        ("route bench --targets /proc", "/proc"),
        ("route bench --targets /var/tmp /var/tmp", "one directory"),
        ("route bench --targets a=/var/tmp a=/tmp", "twice"),
        ("route bench --testbed no-such-bed", "no test bed"),
        ("route", "Usage"),
    ];
    for (arguments, word) in elsewhere {
        let outcome = crate::support::command::plimsoll(arguments);
        assert_eq!(outcome.status, Some(2), "{arguments}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(word), "{arguments}: {}", outcome.stderr);
    }
    storage.assert_nothing_left();
}

#[test]
fn targets_that_are_none_or_one_are_refused() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let storage = Storage::with_targets(2);
    let (folder, first) = (storage.folder.path(), &storage.targets[0]);
    let link = folder.join("link");
    std::os::unix::fs::symlink(first, &link).unwrap();
    let no_text = folder.join(OsStr::from_bytes(b"\xff"));
    std::fs::create_dir(&no_text).unwrap();
    let nameless = format!("={}", first.display());
    let refused: [(&[&OsStr], &str); 4] = [
        (&[first.as_os_str(), link.as_os_str()], "one directory"),
        (&[no_text.as_os_str()], "UTF-8"),
        (&[OsStr::new(&nameless)], "without a name"),
        (&[first.as_os_str(), OsStr::new("--base"), OsStr::new("/tmp")], "--testbed NAME"),
    ];
    for (targets, word) in refused {
        let outcome = binary().args(["route", "bench", "--targets"]).args(targets).output();
        let outcome = Outcome::from(outcome.unwrap());
        assert_eq!(outcome.status, Some(2), "{targets:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(word), "{targets:?}: {}", outcome.stderr);
    }
    // A sign in the name of a directory does not make a name of what is before it.
    let odd = folder.join("a=b");
    std::fs::create_dir(&odd).unwrap();
    let outcome = binary().args(["route", "bench", "--dry-run", "--targets"]).arg(&odd).output();
    let outcome = Outcome::from(outcome.unwrap());
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(outcome.stdout.contains("a=b"), "{}", outcome.stdout);
}
