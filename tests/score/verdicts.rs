//! What `score` says of targets that are slow in one way or another, and of those that are not.

use plimsoll_measures::{Journal, Pair};
use plimsoll_stats::Random;
use serde_json::Value;
use tempfile::TempDir;

use super::{MIB, Results, SECOND, instance, noise, results, score, verdict};
use crate::support::command::plimsoll;

/// All sentences on components, and the advice.
fn said(scores: &Value) -> String {
    let lines = scores["verdicts"].as_array().unwrap().iter().map(|it| it.as_str().unwrap());
    lines.chain(scores["advice"].as_str()).collect::<Vec<&str>>().join("\n")
}

#[track_caller]
fn only_named(scores: &Value, named: &[(&str, &str)]) {
    for side in ["targets", "clients"] {
        for row in scores[side].as_array().unwrap() {
            let name = row["name"].as_str().unwrap();
            let expected = named.iter().find(|it| it.0 == name).map_or("normal", |it| it.1);
            assert_eq!(row["verdict"], expected, "{name}: {}", said(scores));
        }
    }
}

#[test]
fn one_that_degrades_does_not_hide_one_that_is_slow_throughout() {
    let folder = TempDir::new().unwrap();
    // Of four, two that stay look as if they became faster when the third falls.
    for (rounds, targets) in [(12, 6), (40, 4)] {
        let rate = |round, target, random: &mut Random| {
            let speed = match target {
                1 => 0.25,
                2 if round >= rounds / 2 => 0.3,
                _ => 1.0,
            };
            noise(random) * speed
        };
        let name = format!("of-{rounds}");
        let scores = score(&results(folder.path(), &name, rounds, targets, rate), "");
        only_named(&scores, &[("t1", "persistent straggler"), ("t2", "drifting straggler")]);
        let since = if rounds == 12 { "09:02:00" } else { "09:06:40" };
        let said = said(&scores);
        let drift = said.split("t2 is drifting: slow since ").nth(1).expect(&said);
        let share = drift.strip_prefix(&format!("{since} UTC, ")).expect(&said);
        let share: f64 = share.split(" % of before (").next().unwrap().parse().expect(&said);
        assert!((27.0..33.0).contains(&share), "{said}");
        assert!(said.contains("Do without t1, t2 until they are repaired."), "{said}");
    }
}

#[test]
fn one_target_an_instance_compares_them_over_time() {
    let folder = TempDir::new().unwrap();
    for experiment in ["target", "pipeline", "sequences"] {
        let plan = Results { experiment, rounds: 14, targets: 4, bursts: &[8, 32], in_turn: true };
        let slow =
            |_, target, random: &mut Random| noise(random) * if target == 2 { 0.5 } else { 1.0 };
        let scores = score(&plan.write(folder.path(), slow), "");
        assert_eq!(verdict(&scores, "targets", "t2"), "persistent straggler", "{experiment}");
        for name in ["t0", "t1", "t3"] {
            assert_eq!(verdict(&scores, "targets", name), "normal", "{}", said(&scores));
        }
        // Nobody was beside it: no score says that it is the best of its instance.
        assert_eq!(scores["targets"][2]["leb"]["n"], 0);
        let notes = scores["notes"].to_string();
        assert!(notes.contains("one after the other: 14 comparisons"), "{notes}");
    }
}

#[test]
fn a_plan_that_cannot_tell_says_so() {
    let folder = TempDir::new().unwrap();
    let even = |_, _, random: &mut Random| noise(random);
    let alone = said(&score(&results(folder.path(), "target", 12, 1, even), ""));
    assert!(alone.starts_with("no verdicts: one target and one client have nobody"), "{alone}");
    let few = score(&results(folder.path(), "few", 4, 3, even), "");
    let answer = few["conclusion"].as_str().unwrap();
    assert!(answer.starts_with("Nobody can be judged yet: "), "{answer}");
    let enough = score(&results(folder.path(), "enough", 20, 3, even), "");
    let answer = enough["conclusion"].as_str().unwrap();
    assert!(answer.starts_with("No straggler was found: "), "{answer}");
}

#[test]
fn slowness_that_moves_is_said_of_all_and_held_against_nobody() {
    let folder = TempDir::new().unwrap();
    let moving = |round, target, random: &mut Random| {
        noise(random) * if round * 7 % 16 / 4 == target { 0.5 } else { 1.0 }
    };
    let scores = score(&results(folder.path(), "many-pairs", 32, 4, moving), "--fail-on transient");
    only_named(&scores, &[]);
    let said = said(&scores);
    assert!(
        said.contains("slowness moves: in 32 of 32 comparisons some target was under"),
        "{said}"
    );
    assert!(said.contains("no target more than others: t0 in 8 of 32, t1 in 8 of 32"), "{said}");
}

#[test]
fn slow_at_large_bursts_only() {
    let folder = TempDir::new().unwrap();
    let bursts = [1, 4, 16];
    let plan = Results {
        experiment: "many-pairs",
        rounds: 24,
        targets: 4,
        bursts: &bursts,
        in_turn: false,
    };
    let slow = |round: u32, target, random: &mut Random| {
        let is_slow = target == 3 && bursts[round as usize % 3] >= 4;
        noise(random) * if is_slow { 0.5 } else { 1.0 }
    };
    let scores = score(&plan.write(folder.path(), slow), "");
    only_named(&scores, &[("t3", "slow in some settings")]);
    let said = said(&scores);
    assert!(
        said.contains("t3 is slow in some settings: slow at bursts of 4MiB and more only"),
        "{said}"
    );
    assert!(said.contains("Do without t3 for bursts of 4MiB and more."), "{said}");
}

#[test]
fn most_targets_slow_is_held_against_known_peaks() {
    let folder = TempDir::new().unwrap();
    let most = |_, target, random: &mut Random| noise(random) * if target < 4 { 0.5 } else { 1.0 };
    let place = results(folder.path(), "many-pairs", 15, 6, most);
    let scores = score(&place, "--fail-on persistent");
    only_named(&scores, &["t0", "t1", "t2", "t3", "t4", "t5"].map(|it| (it, "one of two groups")));
    let unknown = said(&scores);
    assert!(unknown.contains("two groups of targets: t4, t5 have "), "{unknown}");
    assert!(unknown.contains("which is right cannot be told by comparison"), "{unknown}");
    let site = folder.path().join("site.toml");
    for (slow_peak, says, status) in [
        (100, "by their known peaks the slower ones are slow: the faster reach", 1),
        (50, "the two differ as their known peaks do", 0),
    ] {
        let mut text = "version = 1\n".to_string();
        for target in 0..6 {
            let peak = if target < 4 { slow_peak } else { 100 };
            text += &format!(
                "[[target]]\nname = \"t{target}\"\npath = \"/t{target}\"\n[target.peak]\nwrite = \"{peak}MiB/s\"\n"
            );
        }
        std::fs::write(&site, text).unwrap();
        let (place, site) = (place.display(), site.display());
        let outcome = plimsoll(&format!("score {place} --site {site} --fail-on persistent --json"));
        assert_eq!(outcome.status, Some(status), "{}", outcome.stderr);
        let scores: Value = serde_json::from_str(&outcome.stdout).unwrap();
        let known = said(&scores["result"]);
        assert!(known.contains(says), "{known}");
    }
}

#[test]
fn noisier_recovered_and_at_times() {
    let folder = TempDir::new().unwrap();
    let wild = |_, target, random: &mut Random| {
        let more = if target == 1 { 0.3 * random.normal() } else { 0.0 };
        noise(random) * more.exp()
    };
    let scores = score(&results(folder.path(), "wild", 40, 6, wild), "");
    only_named(&scores, &[("t1", "noisier than others")]);
    assert!(said(&scores).contains("t1 is noisier than others: its measures scatter by"));
    let until = |round, target, random: &mut Random| {
        noise(random) * if target == 1 && round < 10 { 0.4 } else { 1.0 }
    };
    let scores = score(&results(folder.path(), "until", 20, 4, until), "--fail-on persistent");
    only_named(&scores, &[("t1", "recovered straggler")]);
    assert!(
        said(&scores).contains("t1 has recovered: slow until 09:03:20 UTC"),
        "{}",
        said(&scores)
    );
    let at_times = |round, target, random: &mut Random| {
        noise(random) * if target == 1 && round % 3 == 0 { 0.4 } else { 1.0 }
    };
    let scores =
        score(&results(folder.path(), "at-times", 30, 4, at_times), "--fail-on persistent");
    only_named(&scores, &[("t1", "transient straggler")]);
}

/// Noise that all targets have alike: one-sided, in two states, in slices.
#[test]
fn noise_that_all_have_names_nobody() {
    let folder = TempDir::new().unwrap();
    type Rate = fn(u32, u32, &mut Random) -> f64;
    let noises: [(&str, Rate); 3] = [
        ("one-sided", |_, _, random| 100.0 * (1.0 - random.unit()).powf(0.3)),
        ("two-states", |_, _, random| noise(random) * if random.unit() < 0.2 { 0.5 } else { 1.0 }),
        ("slices", |_, _, random| 150.0 / (1.5 * (0.2 * random.normal()).exp()).ceil()),
    ];
    for (name, rate) in noises {
        for rounds in [15, 50] {
            let place = results(folder.path(), &format!("{name}-{rounds}"), rounds, 6, rate);
            let scores = score(&place, "--fail-on transient");
            for row in scores["targets"].as_array().unwrap() {
                let verdict = &row["verdict"];
                assert!(verdict.is_null() || verdict == "normal", "{name}: {}", said(&scores));
            }
        }
    }
}

/// Instances follow each other at once, and what a target did not use while it rested makes its next burst shorter.
#[test]
fn one_that_rests_least_is_told_to_be_slow_perhaps_because_of_that() {
    let folder = TempDir::new().unwrap();
    let place = folder.path().join("results");
    let mut journal = Journal::create(&place, "many-pairs", "", &Value::Null).unwrap();
    let mut start = 1_769_850_000 * SECOND;
    for round in 0..20 {
        let milliseconds =
            |target: u64| if target == 2 { 400 } else { 300 } + (round * 7 + target * 3) % 5;
        let pair = |target: u64| Pair {
            client: format!("c{}", (target + round) % 4),
            target: format!("t{target}"),
            server: None,
            processes: 1,
            bytes: 8 * MIB,
            start,
            end: start + milliseconds(target) * 1_000_000,
        };
        let pairs: Vec<Pair> = (0..4).map(pair).collect();
        start = pairs.iter().map(|it| it.end).max().unwrap() + 1_000_000;
        journal.append(&instance(round as u32, round, 8, pairs)).unwrap();
    }
    journal.finish(true, Value::Null).unwrap();
    let said = plimsoll(&format!("score {}", place.display())).stdout;
    assert!(said.contains("t2 is a persistent straggler"), "{said}");
    let note = "t2 may be slow because it ended last and rested least: 1 ms before a burst, other targets 102 ms";
    assert!(said.contains(note) && said.contains("hint: plimsoll bench --pause 402ms"), "{said}");
}
