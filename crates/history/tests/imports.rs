//! Samples from elsewhere, beside a store's own.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use plimsoll_history::{
    Component, ComponentKind, Day, HistoryError, Import, Imported, Measure, Row, Series, Settings,
    Writer,
};
use support::*;

const STEP: u64 = 5000;

fn series(target: u64, measure: Measure) -> Series {
    let component = Component::new(ComponentKind::Ost, format!("old-OST{target:04x}"));
    Series { measure, bin: 0, component, server: "oss9".into() }
}

/// Bytes and fullness of some targets, every 5 s, so many of them: over midnight if there are many.
fn all(targets: u64, steps: u64) -> Vec<(Series, Row)> {
    let mut all = Vec::new();
    for step in 1..=steps {
        for target in 0..targets {
            let end = START + step * STEP;
            let row = |length, value| Row { series: 0, end, length, value };
            all.push((series(target, Measure::ReadBytes), row(STEP as u32, step * 4096 + target)));
            all.push((series(target, Measure::FreeBytes), row(0, 1 << 40 | step)));
        }
    }
    all
}

fn import(path: &Path, name: &str, samples: &[(Series, Row)]) -> Imported {
    import_holding(path, name, samples, 1 << 20)
}

fn import_holding(path: &Path, name: &str, samples: &[(Series, Row)], rows: usize) -> Imported {
    let mut import = Import::begin(path, name).unwrap().holding(rows);
    for (of, row) in samples {
        let series = import.series(of);
        import.row(Row { series, ..*row }).unwrap();
    }
    import.finish().unwrap()
}

/// All files by their names, with their bytes.
fn files(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let name = |it: &Path| it.strip_prefix(path).unwrap().to_str().unwrap().to_string();
    globbed(path).iter().map(|it| (name(it), fs::read(it).unwrap())).collect()
}

#[test]
fn samples_of_any_order_come_back_and_importing_twice_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut samples = all(3, 20_000);
    // Not in the order of time: by a fixed rule that mixes well.
    samples.sort_by_key(|(_, row)| row.end.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let imported = import(&path, "edison 2018.h5", &samples);
    assert_eq!(imported, Imported { samples: 120_000, days: 2, ..Imported::default() });
    let (first, before) = (read(&path), files(&path));
    assert_eq!(first.len(), 120_000);
    let key = ("read_bytes", 0, "old-OST0002".to_string(), START + 7 * STEP);
    assert_eq!(first[&key], (STEP, 7 * 4096 + 2));
    let names: Vec<&String> = before.keys().collect();
    assert_eq!(
        names,
        [
            "day=2026-01-01/import-edison_2018_h5.parquet",
            "day=2026-01-02/import-edison_2018_h5.parquet"
        ]
    );
    let again = import(&path, "edison 2018.h5", &samples);
    assert_eq!(again, Imported { already_there: 120_000, ..Imported::default() });
    let by_another_name = import(&path, "the-same", &samples);
    assert_eq!(by_another_name, again);
    assert_eq!(files(&path), before);
    assert!(!path.join(".importing").exists());
    // What does not fit in memory gives the same files.
    let small = folder.path().join("small");
    import_holding(&small, "edison 2018.h5", &samples, 1000);
    assert_eq!(files(&small), before);
}

/// The symptom: more samples of a day than are held at a time, or just as many as row groups have, were a panic.
#[test]
fn samples_that_fill_row_groups_exactly_are_imported() {
    let folder = tempfile::tempdir().unwrap();
    let rows = 4 << 17;
    let sample = |it: u64| Row { series: 0, end: START + it * 10, length: 10, value: it };
    let samples: Vec<(Series, Row)> =
        (0..rows).map(|it| (series(0, Measure::ReadBytes), sample(it))).collect();
    for held in [1 << 17, 1 << 20] {
        let path = folder.path().join(held.to_string());
        assert_eq!(import_holding(&path, "it", &samples, held).samples, rows);
        assert_eq!(read(&path).len() as u64, rows);
    }
}

#[test]
fn whole_days_in_order_give_the_same_files() {
    let folder = tempfile::tempdir().unwrap();
    let (path, by_days) = (folder.path().join("store"), folder.path().join("days"));
    let samples = all(4, 20_000);
    import(&path, "it", &samples);
    let mut list: Vec<Series> = samples.iter().map(|it| it.0.clone()).collect();
    list.sort();
    list.dedup();
    let mut import = Import::begin(&by_days, "it").unwrap();
    for day in ["day=2026-01-01", "day=2026-01-02"].map(|it| Day::of_directory(it).unwrap()) {
        let filled: Result<(), HistoryError> = import.day(day, &list, |into| {
            for (number, series) in list.iter().enumerate() {
                let of_series = samples.iter().filter(|it| it.0 == *series);
                for (_, row) in of_series.filter(|it| Day::ending_at(it.1.end) == day) {
                    into.row(Row { series: number as u32, ..*row })?;
                }
            }
            Ok(())
        });
        filled.unwrap();
    }
    assert_eq!(import.finish().unwrap().samples, 160_000);
    assert_eq!(files(&by_days), files(&path));
    // Another order is refused.
    let mut import = Import::begin(&by_days, "other").unwrap();
    let day = Day::of_directory("day=2026-01-01").unwrap();
    let refused: Result<(), HistoryError> = import.day(day, &list, |into| {
        into.rows(0, &[START + 2 * STEP], 5000, &[1])?;
        into.rows(0, &[START + STEP], 5000, &[1])
    });
    assert!(refused.unwrap_err().to_string().contains("not in their order"));
}

#[test]
fn what_is_not_finished_was_never_there_and_one_import_goes_on_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    import(&path, "first", &all(1, 10));
    let before = files(&path);
    let mut import = Import::begin(&path, "second").unwrap().holding(1000);
    for (of, row) in all(2, 3000).iter().rev() {
        let series = import.series(of);
        import.row(Row { series, ..*row }).unwrap();
    }
    assert!(path.join(".importing").exists());
    let refused = Import::begin(&path, "third").unwrap_err();
    assert!(matches!(refused, HistoryError::Importing { holder: Some(_), .. }), "{refused}");
    assert_eq!(files(&path), before);
    // As a kill leaves it.
    let left = folder.path().join("left");
    fs::rename(path.join(".importing"), &left).unwrap();
    drop(import);
    fs::rename(&left, path.join(".importing")).unwrap();
    assert_eq!((files(&path), read(&path).len()), (before, 20));
    drop(Import::begin(&path, "fourth").unwrap());
    assert!(!path.join(".importing").exists());
}

#[test]
fn an_import_that_was_killed_between_days_is_completed_by_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let samples = all(2, 40_000);
    import(&path, "it", &samples);
    let whole = files(&path);
    let days = whole.len() as u64;
    for (name, _) in whole.iter().skip(1) {
        fs::remove_file(path.join(name)).unwrap();
    }
    let rest = import(&path, "it", &samples);
    assert_eq!((rest.days, rest.samples + rest.already_there), (days - 1, 160_000));
    assert_eq!(files(&path), whole);
}

#[test]
fn what_the_store_knows_of_a_time_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut writer = open(&path);
    fill(&mut writer, 1, 0..61, 1000);
    let before = read(&path);
    let of = |measure| Series { component: component(0), ..series(0, measure) };
    let row = |end: u64, length: u64, value| {
        let (end, length) = (START + end * 1000, length as u32 * 1000);
        Row { series: 0, end, length, value }
    };
    let samples = [
        // Bytes that the store has from second 0 to 60, once with its value.
        (of(Measure::ReadBytes), row(0, 10, 7)),
        (of(Measure::ReadBytes), row(4, 1, 4 * 4096)),
        (of(Measure::ReadBytes), row(5, 1, 1)),
        (of(Measure::ReadBytes), row(65, 10, 7)),
        (of(Measure::ReadBytes), row(70, 5, 7)),
        (of(Measure::ReadBytes), row(72, 5, 7)),
        // Another measure of the same target, and a level in between.
        (of(Measure::WrittenBytes), row(5, 1, 9)),
        (of(Measure::InFlight), Row { end: START + 4500, ..row(0, 0, 1) }),
        (of(Measure::InFlight), row(61, 0, 1)),
    ];
    // Once while everything is in the write-ahead file, and once when it is a file.
    let expected = Imported {
        samples: 4,
        already_there: 1,
        differing: 3,
        overlapping: 1,
        days: 1,
        ..Imported::default()
    };
    let copy = folder.path().join("copy");
    fs::create_dir(&copy).unwrap();
    for name in [".log-0", "_plimsoll-history"] {
        fs::copy(path.join(name), copy.join(name)).unwrap();
    }
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(import(&path, "it", &samples), expected);
    writer.seal().unwrap();
    assert_eq!(read(&path).len(), before.len() + 4);
    drop(open(&copy));
    assert_eq!(import(&copy, "it", &samples), expected);
    assert_eq!(read(&copy), read(&path));
    // The present is left to who appends.
    let mut import = Import::begin(&path, "later").unwrap().until(START + 100_000);
    let series = import.series(&of(Measure::ReadBytes));
    import.row(Row { series, ..row(101, 1, 5) }).unwrap();
    assert_eq!(import.finish().unwrap(), Imported { too_late: 1, ..Imported::default() });
}

/// Days are exchanged again and again while imports come to them.
#[test]
fn imports_and_upkeep_do_not_lose_each_others_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut writer = open(&path);
    fill(&mut writer, 1, 0..2, 1000);
    writer.seal().unwrap();
    let (is_done, imports) = (AtomicBool::new(false), 12);
    let rounds = std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let mut rounds = 0;
            while !is_done.load(Ordering::Relaxed) || rounds < 3 {
                // The clock shows the same time again: the day is replaced.
                writer.begin_anew();
                fill(&mut writer, 1, 0..4, 1000);
                writer.seal().unwrap();
                rounds += 1;
            }
            rounds
        });
        for number in 0..imports {
            let samples = all(1, 10)
                .into_iter()
                .map(|(of, row)| (Series { component: component(100 + number), ..of }, row));
            import(&path, &format!("number-{number}"), &samples.collect::<Vec<_>>());
        }
        is_done.store(true, Ordering::Relaxed);
        writing.join().unwrap()
    });
    assert!(rounds >= 3);
    assert_eq!(read(&path).len() as u64, 3 * 6 + 1 + imports * 20);
}

#[test]
fn old_days_go_and_imports_stay_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let settings =
        Settings { keep_days: 1, fine_days: 0, bytes_max: Some(1), ..Settings::default() };
    let mut writer = Writer::open(&path, settings).unwrap();
    fill(&mut writer, 1, 0..10, 1000);
    writer.seal().unwrap();
    let samples = all(1, 10);
    import(&path, "it", &samples);
    // Much older than anything of the store's own.
    let old: Vec<_> = samples
        .iter()
        .map(|(of, row)| (of.clone(), Row { end: row.end - 4000 * Day::MILLIS, ..*row }))
        .collect();
    import(&path, "old", &old);
    live_on(&mut writer);
    let now = START + 2 * Day::MILLIS;
    for minute in 0..20 {
        writer.maintain(now + minute * 61_000).unwrap();
    }
    let left = read(&path);
    assert_eq!(left.iter().filter(|it| it.0.2.starts_with("old-")).count(), 40);
    assert_eq!(left.len(), 41, "of the store's own, the present day");
    assert_eq!(first_day(&path), ["import-it.parquet"]);
}

/// Symptom: a monitor that was started while an import waited for its disk ended with "another process writes to it".
#[test]
fn a_writer_begins_while_an_import_has_files_of_days_in_hand() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut writer = open(&path);
    fill(&mut writer, 2, 0..5, 1000);
    writer.seal().unwrap();
    drop(writer);
    let held = std::fs::File::open(path.join(".days-lock")).unwrap();
    held.lock().unwrap();
    let mut writer = open(&path);
    fill(&mut writer, 2, 5..10, 1000);
    let meanwhile = read(&path);
    drop(writer);
    drop(held);
    let mut writer = open(&path);
    writer.seal().unwrap();
    assert_eq!(read(&path), meanwhile);
    assert!(globbed(&path).len() == 2, "a number of a write-ahead file was used twice");
}

/// Whoever may rename the store puts another in its place after it was opened: neither is what the other holds looked at, nor is it written to.
#[test]
fn an_import_looks_into_the_store_that_it_writes_to() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    import(&place("store"), "first", &all(1, 10));
    import(&place("other"), "first", &all(1, 20));
    let other = read(&place("other"));
    let mut into = Import::begin(&place("store"), "second").unwrap();
    fs::rename(place("store"), place("moved")).unwrap();
    fs::rename(place("other"), place("store")).unwrap();
    for (of, row) in &all(1, 20) {
        let series = into.series(of);
        into.row(Row { series, ..*row }).unwrap();
    }
    let imported = into.finish().unwrap();
    assert_eq!((imported.samples, imported.already_there), (20, 20));
    assert_eq!(read(&place("moved")), other);
    assert_eq!(read(&place("store")), other);
}

#[test]
fn a_store_is_empty_before_anything_was_imported_or_sampled() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    Import::begin(&place("none"), "a").unwrap().require_empty().unwrap();
    let refused = |name: &str| {
        let refused = Import::begin(&place(name), "a").unwrap().require_empty();
        assert!(matches!(refused, Err(HistoryError::NotEmpty { .. })), "{refused:?}");
    };
    import(&place("imported"), "first", &all(1, 1));
    refused("imported");
    // Samples that were not sealed yet are samples.
    let mut writer = open(&place("sampled"));
    fill(&mut writer, 1, 0..3, u64::MAX);
    refused("sampled");
}
