//! Histories of other programs, taken into a store.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::command::{json, plimsoll, samples, text};

fn sample(name: &str) -> Option<PathBuf> {
    samples("a real history").map(|folder| folder.join(name))
}

#[test]
fn a_database_of_lmt_becomes_a_store_and_is_there_once() {
    let Some(path) = sample("lmt/snx11025_2018-01-28.sqlite3") else { return };
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let asked = format!(
        "import {} --store {} --cluster edison --time-zone America/Los_Angeles",
        path.display(),
        store.display()
    );
    let result = json(&asked);
    assert_eq!(result["files"][0]["format"], "LMT database");
    let samples = result["files"][0]["samples"].as_u64().unwrap();
    assert!(samples > 10_000, "{result}");
    let notes = result["notes"].as_array().unwrap();
    assert!(notes.iter().any(|it| it["kind"] == "repaired" && it["count"] == 61), "{result}");
    let again = json(&asked);
    assert_eq!(again["files"][0]["samples"], 0);
    assert_eq!(again["files"][0]["already_there"], samples);
    let file = store.join("day=2018-01-28/import-snx11025_2018-01-28.parquet");
    assert!(file.is_file(), "other programs find it by the pattern of every store");
    assert!(text(&asked).contains("there already"));
}

#[test]
fn what_cannot_be_imported_is_one_line_and_the_others_are_imported() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let empty = folder.path().join("empty.hdf5");
    fs::write(&empty, "").unwrap();
    let packed = folder.path().join("packed.gz");
    fs::write(&packed, b"\x1f\x8b\x08\x00").unwrap();
    let one = |path: &Path| {
        let asked = format!("import {} --store {}", path.display(), store.display());
        let outcome = plimsoll(&asked);
        assert_eq!(outcome.status, Some(2));
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
        outcome.stderr
    };
    assert!(one(&empty).contains("it is empty"));
    assert!(one(&packed).contains("unpack it first"));
    assert!(one(&folder.path().join("absent")).contains("cannot read"));
    assert!(!store.exists());
    let Some(path) = sample("tokio/snx11025_2018-01-28.hdf5") else { return };
    let files = format!("{} {} {}", empty.display(), path.display(), packed.display());
    let outcome = plimsoll(&format!("import {files} --store {}", store.display()));
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.stderr.contains("2 of 3 files were not imported"), "{}", outcome.stderr);
    assert!(outcome.stdout.contains("TOKIO HDF5"), "{}", outcome.stdout);
}

#[test]
fn a_table_is_imported_by_what_a_mapping_says() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("disks.csv"), "ts,disk,kib\n1577923205,bb1:sda,4\n1577923210,bb1:sda,5\n")
        .unwrap();
    let mapping = "interval = '5s'\n[columns]\ntime = 'ts'\ntarget = 'disk'\nwritten_bytes = 'kib'\n[factors]\nwritten_bytes = 1024\n";
    fs::write(path("disks.toml"), mapping).unwrap();
    let root = folder.path().display();
    let asked = format!("import {root}/disks.csv --store {root}/store --mapping {root}/disks.toml");
    let result = json(&asked);
    assert_eq!(result["files"][0]["format"], "CSV");
    assert_eq!(result["files"][0]["samples"], 2);
    assert_eq!(json(&asked)["files"][0]["already_there"], 2);
    fs::write(path("disks.toml"), "[columns]\nbytes = 'kib'\n").unwrap();
    let wrong = plimsoll(&asked);
    assert_eq!((wrong.status, wrong.stderr.lines().count()), (Some(2), 1), "{}", wrong.stderr);
    assert!(wrong.stderr.contains("nothing is called \"bytes\""), "{}", wrong.stderr);
}

#[test]
fn a_prometheus_is_asked_for_some_time_only() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let asked = |more: &str| {
        plimsoll(&format!("import http://127.0.0.1:1 --store {} {more}", store.display()))
    };
    for (more, expected) in [
        ("", "--since"),
        ("--since 2020-01-01", "no metric is named"),
        ("--since 2020-01-01 --step 0s", "--step"),
    ] {
        let outcome = asked(more);
        assert_eq!(outcome.status, Some(2));
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
        assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
    }
    assert!(!store.exists());
}
