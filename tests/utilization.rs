//! How busy storage was, from a history.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use plimsoll_history::{Component, ComponentKind, Measure, Reading, Settings, Value, Writer};

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

/// Two file systems of two targets; jobs of the first share one of them.
fn two_file_systems(path: &Path) {
    let mut writer = Writer::open(path, Settings::default()).unwrap();
    let reading = |file_system: &str, target: u64, job: &str, second: u64, each: u64| {
        let component = Component::new(ComponentKind::Ost, format!("{file_system}-OST{target:04}"));
        Reading {
            component: component.of_file_system(file_system).of_job(job),
            server: "oss1".into(),
            time: (1_767_229_200 + second) * 1_000_000_000,
            epoch: 0,
            values: vec![
                Value::new(Measure::WrittenBytes, (each << 20) * second),
                Value::new(Measure::WriteOperations, each * second),
                Value::of_bin(Measure::WriteSizes, 1 << 20, each * second),
            ],
        }
    };
    for second in 0..=120 {
        let mut all = vec![
            reading("home", 0, "", second, 1),
            reading("home", 1, "", second, 1),
            reading("scratch", 0, "", second, 300),
            reading("scratch", 1, "", second, 600),
        ];
        for (target, job) in [(0, "1001"), (1, "1001"), (1, "1002")] {
            let mut job = reading("scratch", target, job, second, 300);
            job.values.pop();
            all.push(job);
        }
        writer.append(&all).unwrap();
    }
    writer.seal().unwrap();
}

#[test]
fn two_file_systems_stand_side_by_side_and_jobs_beside_what_chance_gives() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    two_file_systems(&store);
    let asked = format!("utilization --store {} --by file-system", store.display());
    let result = json(&asked);
    let rows = result["side_by_side"].as_array().unwrap();
    assert_eq!(rows.len(), 6);
    let row = |name: &str, class: &str| {
        let is_it = |it: &&serde_json::Value| it["name"] == name && it["class"] == class;
        rows.iter().find(is_it).unwrap()
    };
    assert_eq!(row("home", "idle")["share"].as_f64(), Some(1.0));
    assert_eq!(row("scratch", "moderate")["share"].as_f64(), Some(1.0));
    assert_eq!(row("scratch", "moderate")["optimal"].as_f64(), Some(1.0));
    let shared = &result["sharing"][0];
    assert_eq!((&shared["name"], &shared["jobs"]), (&"scratch".into(), &2.into()));
    // Three requests on two targets in use; of a job of two and one of one, 2 (1 - 0 (1/2)) = 2 are expected.
    assert_eq!(shared["jobs_per_target"].as_f64(), Some(1.5));
    assert_eq!(shared["expected_load"].as_f64(), Some(1.5));
    let busiest = &result["shared_targets"][0];
    assert_eq!((&busiest["name"], &busiest["jobs_most"]), (&"scratch-OST0001".into(), &2.into()));
    let page = folder.path().join("busy.html");
    let shown = text(&format!("{asked} --html {}", page.display()));
    assert!(shown.contains("side by side") && shown.contains("D_load"), "{shown}");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("home, writes") && page.contains("scratch, writes"), "sizes of both");
    // One alone has nothing beside it, and a store without jobs says nothing of them.
    let alone = json(&format!("utilization --store {} --by file-system", history()));
    assert!(alone["side_by_side"].is_null() && alone["sharing"].is_null());
}
