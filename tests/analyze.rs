//! What a long history says.

use std::fs;
use std::path::Path;

use plimsoll_history::{Component, ComponentKind, Import, Measure, Row, Series};

use crate::support::command::{json, plimsoll, text};

/// The history that version 1 of the program wrote: two targets, a minute of one day and half a minute of another.
fn history() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../history/tests/golden/v1").to_string()
}

#[test]
fn programs_get_totals_of_the_whole_and_of_each_target() {
    let result = json(&format!("analyze --store {}", history()));
    let whole = result["system"]["read_bytes"].as_f64().unwrap();
    let targets = result["targets"].as_array().unwrap();
    let sum: f64 = targets.iter().map(|it| it["read_bytes"].as_f64().unwrap()).sum();
    assert!(whole > 0.0 && whole == sum, "{whole} {sum}");
    let names: Vec<&str> = targets.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["scratch-OST0000", "scratch-OST0001"]);
    for part in ["cleaning", "time", "phases", "prediction", "space", "metadata", "servers"] {
        assert!(result[part].is_object(), "{part}");
    }
}

#[test]
fn a_part_is_there_alone_by_name() {
    let result = json(&format!("analyze --store {} system targets", history()));
    assert!(result["system"].is_object() && result["targets"].is_array());
    assert!(result["cleaning"].is_null() && result["space"].is_null());
    let shown = text(&format!("analyze --store {} cleaning", history()));
    assert!(shown.contains("unplaced") && !shown.contains("read over written"), "{shown}");
}

#[test]
fn wrong_use_is_said_in_one_line() {
    for (arguments, said) in [
        ("--zone Middle/Earth", "is no time zone"),
        ("--high-from 120", "is not from 0 to 100"),
        ("--high-from 10 --low-to 20", "--low-to is more than --high-from"),
        ("--since 2031-01-01", "has no samples"),
        ("--file-system other", "has no samples"),
        ("--limit fast", "invalid value"),
    ] {
        let outcome = plimsoll(&format!("analyze --store {} {arguments}", history()));
        assert_eq!(outcome.status, Some(2), "{arguments}");
        assert!(outcome.stderr.contains(said), "{arguments}: {}", outcome.stderr);
    }
    let outcome = plimsoll("analyze --store /nowhere/at/all");
    assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
}

#[test]
fn what_was_planted_in_a_history_that_never_was_is_found_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).display().to_string();
    let (store, page) = (place("made"), place("made.html"));
    let made = json(&format!("synth --store {store} --days 16 --targets 8 --seed 4"));
    assert_eq!(made["days"], 16);
    let truth = fs::read_to_string(place("made.truth.json")).unwrap();
    let truth: serde_json::Value = serde_json::from_str(&truth).unwrap();
    let found = json(&format!("analyze --store {store} --html {page}"));
    for (key, place) in [("read_bytes", 0), ("written_bytes", 1)] {
        assert_eq!(found["system"][key].as_f64(), truth["bytes"][place].as_f64(), "{key}");
    }
    let outages = found["cleaning"]["outages"].as_array().unwrap();
    assert_eq!(outages.len(), truth["outages"].as_array().unwrap().len());
    for (part, said) in [
        ("load", "More is read than written: "),
        ("findings", "Every day from 02:00 on (UTC)"),
        ("time", "when the daily job above begins"),
        ("intervals", "95 % intervals"),
    ] {
        let answers = &found["summary"][part];
        assert!(answers.to_string().contains(said), "{part}: {answers}");
    }
    let page = fs::read_to_string(page).unwrap();
    for figure in
        ["fig. 3", "fig. 5", "fig. 7", "fig. 10", "fig. 11", "fig. 12", "fig. 13", "fig. 15"]
    {
        assert!(page.contains(figure), "{figure}");
    }
}

#[test]
fn what_is_made_up_is_not_mixed_with_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = plimsoll(&format!("synth --store {}", folder.path().display()));
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.stderr.contains("is not mixed"), "{}", outcome.stderr);
    let outcome = plimsoll("synth --store x --step 7");
    assert!(outcome.stderr.contains("does not divide a minute"), "{}", outcome.stderr);
}

/// A store of eight days, and a directory for what is made of it.
fn made() -> (tempfile::TempDir, impl Fn(&str) -> String) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_path_buf();
    let place = move |name: &str| root.join(name).display().to_string();
    json(&format!("synth --store {} --days 8 --targets 4 --seed 2", place("made")));
    (folder, place)
}

#[test]
fn parts_give_the_result_of_the_whole_to_the_last_byte() {
    let (_folder, place) = made();
    let (store, parts) = (place("made"), place("parts"));
    let whole = text(&format!("analyze --store {store} --json --html {}", place("whole.html")));
    for count in [1, 2, 4, 7] {
        // The last one first: tasks end in any order.
        for number in (0..count).rev() {
            let part =
                json(&format!("analyze --store {store} --into {parts} --part {number}/{count}"));
            assert_eq!(part["part"], format!("{number}/{count}"));
        }
        let page = place("merged.html");
        let merged = text(&format!("analyze --merge {parts} --json --html {page} --force"));
        assert_eq!(merged, whole, "{count} parts");
        let page = |name: &str| fs::read(place(name)).unwrap();
        assert!(page("whole.html") == page("merged.html"), "{count} parts");
        fs::remove_dir_all(&parts).unwrap();
    }
}

/// Eight days of two targets that count operations and jobs: each minute one writes 600 blocks of 4 KiB for the job `small`, and another one reads 60 blocks of
/// 1 MiB, two thirds of them for the job `large`.
fn with_operations_and_jobs(path: &Path) {
    let of = |name: &str| Component::new(ComponentKind::Ost, name).of_file_system("scratch");
    let (one, other) = (of("scratch-OST0000"), of("scratch-OST0001"));
    let all = [
        (&one, "", Measure::WrittenBytes, 600 * 4096),
        (&one, "", Measure::WriteOperations, 600),
        (&one, "small", Measure::WrittenBytes, 600 * 4096),
        (&other, "", Measure::ReadBytes, 60 << 20),
        (&other, "", Measure::ReadOperations, 60),
        (&other, "large", Measure::ReadBytes, 40 << 20),
    ];
    let mut import = Import::begin(path, "test").unwrap();
    for (component, job, measure, value) in all {
        let component = component.clone().of_job(job);
        let number = import.series(&Series { measure, bin: 0, component, server: "oss1".into() });
        for minute in 1..=8 * 1440 {
            // 2026-01-01, and not quite at full minutes, so that samples reach over midnight.
            let end = 1_767_225_600_000 + minute * 60_000 + 20_000;
            import.row(Row { series: number, end, length: 60_000, value }).unwrap();
        }
    }
    import.finish().unwrap();
}

#[test]
fn how_busy_and_which_jobs_are_told_and_are_the_same_in_merged_parts() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).display().to_string();
    with_operations_and_jobs(&folder.path().join("store"));
    let (store, parts) = (place("store"), place("parts"));
    let whole = text(&format!("analyze --store {store} --json --html {}", place("whole.html")));
    let found: serde_json::Value = serde_json::from_str(&whole).unwrap();
    let found = &found["result"];
    let scratch = &found["utilization"]["file_systems"][0];
    assert_eq!(scratch["name"], "scratch");
    // What is assumed: 0.1 ms an operation and 0.5 ns a byte; the mean of two targets.
    let small = 600.0 * (1e-4 + 4096.0 * 5e-10);
    let large = 60.0 * (1e-4 + f64::from(1 << 20) * 5e-10);
    let expected = 100.0 * (small + large) / 60.0 / 2.0;
    for key in ["fsu_mean", "fsu_mean_low", "fsu_mean_high"] {
        let value = scratch[key].as_f64().unwrap();
        assert!((value / expected - 1.0).abs() < 1e-3, "{key}: {value}, {expected}");
    }
    let jobs = &found["jobs"]["jobs"];
    let names: Vec<&str> =
        jobs.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["large", "small"]);
    assert!((jobs[0]["share_of_reads"].as_f64().unwrap() - 2.0 / 3.0).abs() < 1e-12);
    assert_eq!(
        (jobs[1]["share_of_writes"].as_f64(), jobs[1]["days"].as_u64()),
        (Some(1.0), Some(9))
    );
    let words = found["summary"].to_string();
    assert!(words.contains("Targets of scratch are") && words.contains("were assumed"), "{words}");
    assert!(words.contains("Of 2 jobs that targets counted, large read most"), "{words}");
    for count in [1, 2, 4, 7] {
        for number in (0..count).rev() {
            text(&format!("analyze --store {store} --into {parts} --part {number}/{count}"));
        }
        let page = place("merged.html");
        let merged = text(&format!("analyze --merge {parts} --json --html {page} --force"));
        assert_eq!(merged, whole, "{count} parts");
        let page = |name: &str| fs::read(place(name)).unwrap();
        assert!(page("whole.html") == page("merged.html"), "{count} parts");
        fs::remove_dir_all(&parts).unwrap();
    }
}

#[test]
fn parts_that_are_absent_or_of_something_else_are_named() {
    let (_folder, place) = made();
    let (store, parts) = (place("made"), place("parts"));
    let refused = |arguments: &str| {
        let outcome = plimsoll(&format!("analyze {arguments}"));
        assert_eq!(
            (outcome.status, outcome.stderr.lines().count()),
            (Some(2), 1),
            "{}",
            outcome.stderr
        );
        outcome.stderr
    };
    let said = refused(&format!("--store {store} --into {parts}"));
    assert!(said.contains("no SLURM_PROCID") && said.contains("--part I/N"), "{said}");
    assert!(refused(&format!("--store {store} --part 0/2")).contains("--into DIR"));
    assert!(refused(&format!("--merge {parts}")).contains("cannot read"));
    for number in [0, 2] {
        text(&format!("analyze --store {store} --into {parts} --part {number}/4"));
    }
    let said = refused(&format!("--merge {parts}"));
    assert!(said.contains("2 of 4 parts in") && said.contains("are absent: 1, 3; hint:"), "{said}");
    for (number, options) in [(1, "--zone Europe/Berlin"), (3, "")] {
        text(&format!("analyze --store {store} --into {parts} --part {number}/4 {options}"));
    }
    let said = refused(&format!("--merge {parts}"));
    assert!(
        said.contains("part-1-of-4") && said.contains("other options than part 0: --zone"),
        "{said}"
    );
    // The directory may be that of another analysis: a part that is there is replaced only if that is wanted.
    assert!(refused(&format!("--store {store} --into {parts} --part 1/4")).contains("--force"));
    text(&format!("analyze --store {store} --into {parts} --part 1/4 --force"));
    text(&format!("analyze --merge {parts} summary"));
    let damaged = format!("{parts}/part-2-of-4");
    let bytes = fs::read(&damaged).unwrap();
    fs::write(&damaged, &bytes[..bytes.len() - 1]).unwrap();
    let said = refused(&format!("--merge {parts}"));
    assert!(said.contains("part-2-of-4") && said.contains("make this part again"), "{said}");
    text(&format!("analyze --store {store} --into {parts} --part 0/3"));
    assert!(refused(&format!("--merge {parts}")).contains("into 3 and into 4"));
}

#[test]
fn two_histories_and_two_months_stand_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).display().to_string();
    let [one, other] = ["one", "other"].map(place);
    json(&format!("synth --store {one} --days 16 --first-day 2025-01-24 --targets 2 --plain"));
    json(&format!("synth --store {other} --days 8 --targets 6 --plain --seed 9"));
    let page = place("page.html");
    let found = json(&format!("analyze --compare {one} {other} --html {page}"));
    // Six targets read three times as much as two.
    let reads = &found["bytes"][0];
    assert_eq!(reads["difference"], "more in the second", "{found}");
    let bound = |key: &str| reads[key].as_f64().unwrap();
    assert!(bound("second_over_first_low") > 1.5 && bound("second_over_first_high") < 6.0);
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("No clear difference") || page.contains("than in"), "words are there");
    let months = json(&format!("analyze --store {one} --compare 2025-01 2025-02"));
    assert_eq!(months["histories"][0]["days"], 8);
    assert_eq!(months["histories"][1]["days"], 8);
    for (arguments, said) in [
        (format!("--store {one} --compare 2025-01 nothing"), "two file systems of --store"),
        (format!("--compare {one} /nowhere"), "/nowhere"),
        (format!("--store {one} --compare 2025-01 2025-02 --since 2025-01-05"), "neither --since"),
    ] {
        let outcome = plimsoll(&format!("analyze {arguments}"));
        assert_eq!(outcome.status, Some(2), "{arguments}");
        assert!(outcome.stderr.contains(said), "{arguments}: {}", outcome.stderr);
    }
}
