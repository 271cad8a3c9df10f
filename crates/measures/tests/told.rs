//! What a reader is told of results: what is missing, changed or not understood.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use plimsoll_measures::{ENVIRONMENT, JOURNAL, Journal, PLAN, Results, SUMMARY};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Ten instances of three pairs.
fn experiment() -> (TempDir, PathBuf, Journal) {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("results");
    let mut journal = Journal::create(&directory, "burst", "seed = 1\n", &json!({})).unwrap();
    for number in 0..10 {
        journal.append(&common::instance(number, 3)).unwrap();
    }
    (place, directory, journal)
}

fn finished() -> (TempDir, PathBuf) {
    let (place, directory, journal) = experiment();
    journal.finish(true, json!({})).unwrap();
    (place, directory)
}

fn warnings(directory: &Path) -> Vec<String> {
    Results::open(directory).unwrap().warnings
}

#[track_caller]
fn only(warnings: &[String], words: &str) {
    assert!(matches!(warnings, [one] if one.contains(words)), "{words:?}: {warnings:?}");
}

#[test]
fn files_that_were_changed_or_are_missing_are_named() {
    let (_place, directory) = finished();
    assert_eq!(warnings(&directory), Vec::<String>::new());
    fs::write(directory.join(PLAN), "seed = 2\n").unwrap();
    only(&warnings(&directory), "plan.toml was changed after plimsoll wrote it");
    fs::remove_file(directory.join(PLAN)).unwrap();
    only(&warnings(&directory), "has no plan.toml: what was asked for is not known");
    let (_place, directory) = finished();
    fs::remove_file(directory.join(ENVIRONMENT)).unwrap();
    only(&warnings(&directory), "has no environment.json: where this was measured is not known");
    assert_eq!(Results::open(&directory).unwrap().instances().unwrap().count(), 10);
}

#[test]
fn an_end_is_not_known_without_a_readable_summary() {
    let (_place, directory) = finished();
    fs::write(directory.join(SUMMARY), "{").unwrap();
    let told = warnings(&directory);
    assert!(told[1].starts_with("whether the experiment was brought to an end is not known"));
    fs::remove_file(directory.join(SUMMARY)).unwrap();
    only(&warnings(&directory), "the experiment was not brought to an end");
}

#[test]
fn the_summary_counts_what_the_tables_hold() {
    let (_place, directory) = finished();
    let text = fs::read_to_string(directory.join(SUMMARY)).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(summary["experiment"], "burst");
    assert_eq!((&summary["instances"], &summary["pairs"]), (&json!(10), &json!(30)));
    assert_eq!(summary["damaged_lines"], 0);
}

#[test]
fn tables_alone_tell_which_experiment_they_are_of() {
    let (_place, directory) = finished();
    for name in [JOURNAL, SUMMARY] {
        fs::remove_file(directory.join(name)).unwrap();
    }
    let results = Results::open(&directory).unwrap();
    assert_eq!(results.experiment, "burst");
    assert_eq!(results.instances().unwrap().count(), 10);
}

#[test]
fn other_directories_are_no_results() {
    let (_place, directory) = finished();
    assert!(Results::is_results(&directory));
    let place = tempfile::tempdir().unwrap();
    assert!(!Results::is_results(place.path()));
    fs::write(place.path().join(JOURNAL), "{\"format\":\"of another program\"}\n").unwrap();
    assert!(!Results::is_results(place.path()));
    assert!(Results::open(place.path()).is_err());
}

/// Damages lines of a journal; the header is line 1.
fn damage(directory: &Path, lines: &[usize]) {
    let path = directory.join(JOURNAL);
    let mut bytes = fs::read(&path).unwrap();
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let starts: Vec<usize> = std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect();
    lines.iter().for_each(|line| bytes[starts[line - 1] + 40] ^= 1);
    fs::write(path, bytes).unwrap();
}

#[test]
fn the_first_damaged_lines_are_named_and_the_others_counted() {
    for (lines, told) in [
        (vec![2, 3, 4, 5, 6], "line 2, 3, 4, 5, 6; of 10 instances 5 are lost"),
        (vec![2, 3, 4, 5, 6, 7], "line 2, 3, 4, 5, 6 and 1 more; of 10 instances 6 are lost"),
    ] {
        let (_place, directory, journal) = experiment();
        drop(journal);
        damage(&directory, &lines);
        let warnings = warnings(&directory);
        assert!(warnings[1].ends_with(told), "{warnings:?}");
    }
}

#[test]
fn damage_in_the_middle_stays_named_after_damage_at_the_end_is_cut_off() {
    for (lines, cut) in
        [(vec![3, 5, 11], "1 damaged line at the end"), (vec![3, 5, 10, 11], "2 damaged lines at")]
    {
        let (_place, directory, journal) = experiment();
        drop(journal);
        damage(&directory, &lines);
        let (_, resumed) = Journal::resume(&directory).unwrap();
        let [middle, end] = &resumed.warnings[..] else { panic!("{:?}", resumed.warnings) };
        assert!(middle.contains("is damaged: line 3, 5; of"), "{middle}");
        assert!(end.starts_with(cut), "{end}");
    }
}
