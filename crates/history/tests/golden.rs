//! A store that version 1 of this program made stays readable.

mod support;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use plimsoll_history::{Day, Settings, Writer};
use support::*;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn lines(samples: &Samples) -> String {
    let mut text = String::new();
    for ((measure, bin, target, end), (length, value)) in samples {
        writeln!(text, "{measure} {bin} {target} {end} {length} {value}").unwrap();
    }
    text
}

/// Made once: a day that is old, one that is merged, and a write-ahead file.
fn make(path: &Path) {
    let mut writer = Writer::open(path, Settings::default()).unwrap();
    fill(&mut writer, 2, 0..60, 20);
    let later = 2 * Day::MILLIS / 1000;
    fill(&mut writer, 2, later..later + 32, 2);
    let now = START + 2 * Day::MILLIS + 60_000;
    (0..3).for_each(|_| writer.maintain(now).unwrap());
    fill(&mut writer, 2, later + 32..later + 36, 1000);
}

#[test]
fn a_store_of_version_1_is_read() {
    let (store, expected) = (golden().join("v1"), golden().join("v1.txt"));
    if std::env::var_os("PLIMSOLL_WRITE_GOLDEN").is_some() {
        make(&store);
        std::fs::remove_file(store.join(".lock")).unwrap();
        std::fs::write(&expected, lines(&read(&store))).unwrap();
    }
    assert!(store.join("day=2026-01-01/aged-0-2.parquet").is_file());
    assert!(store.join("day=2026-01-03/part-3-18.parquet").is_file());
    assert!(store.join(".log-19").is_file());
    assert_eq!(lines(&read(&store)), std::fs::read_to_string(expected).unwrap());
    // A writer goes on where it ended.
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("store");
    for file in globbed(&store) {
        let to = copy.join(file.strip_prefix(&store).unwrap());
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(&file, to).unwrap();
    }
    for name in ["_plimsoll-history", ".log-19"] {
        std::fs::copy(store.join(name), copy.join(name)).unwrap();
    }
    std::fs::set_permissions(&copy, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    drop(open(&copy));
    assert_eq!(read(&copy), read(&store));
    assert!(copy.join("day=2026-01-03/part-19-19.parquet").is_file());
}
