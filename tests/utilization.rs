//! How busy storage was, from a history.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::support::command::{json, plimsoll, text};

/// The history that version 1 of the program wrote: two targets, a minute of one day and half a minute of another.
fn history() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../history/tests/golden/v1").to_string()
}

#[test]
fn targets_have_a_utilization_and_shares_of_time() {
    let result = json(&format!("utilization --store {}", history()));
    let targets = result["targets"].as_array().unwrap();
    let names: Vec<&str> = targets.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    for target in targets {
        let number = |key: &str| target[key].as_f64().unwrap_or_else(|| panic!("{key}"));
        assert!(number("fsu_mean") > 0.0);
        let shares = number("idle") + number("moderate") + number("busy");
        assert!((shares - 1.0).abs() < 1e-9, "{shares}");
    }
    let whole = json(&format!("utilization --store {} --by file-system", history()));
    assert_eq!(whole["file_systems"][0]["name"], "scratch");
    assert_eq!(whole["file_systems"][0]["target_count"], 2);
    let servers =
        json(&format!("utilization --store {} --by server --since 2026-01-02", history()));
    assert_eq!(servers["servers"][0]["name"], "oss1");
}

#[test]
fn people_read_what_was_assumed() {
    let shown = text(&format!("utilization --store {}", history()));
    assert!(shown.contains("were assumed"), "{shown}");
    assert!(shown.contains("scratch-OST0001"), "{shown}");
}

#[test]
fn a_page_has_the_figures() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("busy.html");
    text(&format!("utilization --store {} --html {}", history(), page.display()));
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("Windows by FSU") && page.contains("Bandwidth"));
}

#[test]
fn files_of_other_days_are_opened_for_a_page_only() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    copy(Path::new(&history()), &store);
    let other = fs::read_dir(store.join("day=2026-01-01")).unwrap().next().unwrap().unwrap().path();
    // A link is no file of a store: whoever opens it is refused.
    fs::remove_file(&other).unwrap();
    symlink("/dev/null", &other).unwrap();
    let asked = format!("utilization --store {} --since 2026-01-02T12:00:00Z", store.display());
    assert!(text(&asked).contains("scratch-OST0001"));
    let page = folder.path().join("busy.html");
    let outcome = plimsoll(&format!("{asked} --html {}", page.display()));
    assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
    assert!(!page.exists());
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let place = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &place),
            false => drop(fs::copy(entry.path(), place).unwrap()),
        }
    }
}

#[test]
fn what_is_no_history_is_said_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    for wrong in [folder.path().to_str().unwrap(), "/no/such/place"] {
        let outcome = plimsoll(&format!("utilization --store {wrong}"));
        assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
        assert_eq!(outcome.stderr.trim_end().lines().count(), 1, "{}", outcome.stderr);
    }
    let outcome = plimsoll(&format!("utilization --store {} --since 2030-01-01", history()));
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.stderr.contains("no samples"), "{}", outcome.stderr);
}
