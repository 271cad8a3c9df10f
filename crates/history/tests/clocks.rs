//! Clocks that are put forward and back.

mod support;

use std::path::Path;

use plimsoll_history::{Day, Reading, Settings, Writer};
use support::*;

/// What the targets count at a second, with the time of a clock that is so many seconds ahead.
fn ahead(targets: u64, second: u64, by: i64) -> Vec<Reading> {
    let mut readings = scrape(targets, second);
    for reading in &mut readings {
        reading.time = reading.time.checked_add_signed(by * 1_000_000_000).unwrap();
    }
    readings
}

fn append(writer: &mut Writer, seconds: std::ops::Range<u64>, ahead_by: i64) {
    for second in seconds {
        writer.append(&ahead(2, second, ahead_by)).unwrap();
    }
}

/// Samples of a measure of one target: by second of the clock, length and value.
fn of(path: &Path, measure: &str) -> Vec<(i64, u64, u64)> {
    let is_wanted = |it: &(&str, u64, String, u64)| it.0 == measure && it.2 == "scratch-OST0001";
    let all = read(path);
    let some = all.iter().filter(|it| is_wanted(it.0));
    some.map(|(key, (length, value))| {
        ((key.3.cast_signed() - START.cast_signed()) / 1000, *length, *value)
    })
    .collect()
}

/// What [`of`] gives for bytes that were counted in these seconds, with the clock so far ahead.
fn counted(seconds: std::ops::Range<u64>, ahead_by: i64) -> Vec<(i64, u64, u64)> {
    let sample = |second: u64| (second.cast_signed() + ahead_by, 1000, second % 7 * 4096 + 1);
    seconds.map(sample).collect()
}

/// Checks a store as it is, after it was sealed, and opened again.
#[track_caller]
fn check(mut writer: Writer, path: &Path, expected: &[Vec<(i64, u64, u64)>]) {
    let mut expected: Vec<_> = expected.concat();
    expected.sort_unstable();
    assert_eq!(of(path, "read_bytes"), expected, "from write-ahead files");
    let all = read(path);
    writer.seal().unwrap();
    assert_eq!(read(path), all, "sealed");
    drop(writer);
    drop(open(path));
    assert_eq!(read(path), all, "opened again");
}

#[test]
fn a_clock_that_was_far_ahead_costs_an_interval_each_time_it_is_set() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let years = 70 * 365 * 86_400;
    let mut writer = open(&path);
    append(&mut writer, 0..10, 0);
    writer.begin_anew();
    append(&mut writer, 10..20, years);
    writer.begin_anew();
    append(&mut writer, 20..30, 0);
    // A step that nobody told of.
    append(&mut writer, 30..40, -15);
    let expected = [
        counted(1..10, 0),
        counted(11..20, years),
        // The seconds from 15 on came again.
        counted(31..40, -15),
        counted(25..30, 0),
    ];
    check(writer, &path, &expected);
    // A process that begins with a clock that was put back stores at once, too.
    let mut writer = open(&path);
    append(&mut writer, 40..50, -100);
    check(writer, &path, &[&expected[..], &[counted(41..50, -100)]].concat());
}

#[test]
fn of_a_time_that_came_twice_there_is_what_was_appended_last() {
    for seals in 0..3 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        let mut writer = open(&path);
        let seal = |writer: &mut Writer, at_least: u32| {
            if seals >= at_least {
                writer.seal().unwrap();
            }
        };
        append(&mut writer, 0..30, 0);
        seal(&mut writer, 2);
        append(&mut writer, 30..60, 0);
        seal(&mut writer, 1);
        // Back by 40 s, for 10 s, and forward again: 22 to 30 is there twice, and 21 partly.
        writer.begin_anew();
        append(&mut writer, 60..71, -39);
        seal(&mut writer, 2);
        writer.begin_anew();
        append(&mut writer, 71..80, 0);
        let expected =
            [counted(1..22, 0), counted(61..71, -39), counted(32..60, 0), counted(72..80, 0)];
        let levels: Vec<i64> = of(&path, "in_flight").iter().map(|it| it.0).collect();
        let expected_levels: Vec<i64> = (0..60).chain(71..80).collect();
        assert_eq!(levels, expected_levels, "each moment once");
        check(writer, &path, &expected);
    }
}

/// Other programs read files by a pattern, and know no rule.
#[test]
fn files_never_have_a_time_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut writer = open(&path);
    // Over midnight.
    let midnight = (Day::MILLIS - 3_600_000) / 1000;
    let midnight = midnight.cast_signed();
    append(&mut writer, 0..40, midnight - 20);
    writer.seal().unwrap();
    writer.begin_anew();
    let half = |second: u64| {
        let mut readings = ahead(2, second, midnight - 30);
        readings.iter_mut().for_each(|it| it.time += 500_000_000);
        readings
    };
    // The first sample ends in the second day and covers some of the first.
    for second in 29..80 {
        writer.append(&half(second)).unwrap();
    }
    writer.seal().unwrap();
    drop(writer);
    let mut spans: Vec<(u64, u64)> = read(&path)
        .iter()
        .filter(|(key, _)| key.0 == "read_bytes" && key.2 == "scratch-OST0001")
        .map(|(key, (length, _))| (key.3 - length, key.3))
        .collect();
    spans.sort_unstable();
    assert!(spans.windows(2).all(|it| it[0].1 <= it[1].0), "{spans:?}");
    assert_eq!(spans.len(), 19 + 50);
    // No write-ahead file is left that a reader would have to know of.
    let names = std::fs::read_dir(&path).unwrap().map(|it| it.unwrap().file_name());
    assert!(!names.into_iter().any(|name| name.to_str().unwrap().starts_with(".log")));
}

#[test]
fn a_clock_that_is_years_ahead_makes_no_more_than_one_day_older() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let settings = Settings { keep_days: 3, ..Settings::default() };
    let mut writer = Writer::open(&path, settings).unwrap();
    let live = |writer: &mut Writer, day: u64| {
        append(writer, 20 * day..20 * day + 20, day.cast_signed() * (86_400 - 20));
    };
    (0..2).for_each(|day| live(&mut writer, day));
    writer.seal().unwrap();
    let before = read(&path);
    let years = 70 * 365 * 86_400;
    writer.begin_anew();
    append(&mut writer, 40..60, years);
    writer.seal().unwrap();
    let now = START + (60 + years.cast_unsigned()) * 1000;
    (0..20).for_each(|_| writer.maintain(now).unwrap());
    let after = read(&path);
    let (sums_before, sums_after) = (sums(&before), sums(&after));
    assert!(sums_before.iter().all(|(key, sum)| sums_after[key] >= *sum), "nothing is gone");
    let is_last_day = |key: &(&str, u64, String, u64)| key.3 > START + Day::MILLIS;
    let last_day = before.iter().filter(|it| is_last_day(it.0));
    assert!(last_day.into_iter().all(|(key, value)| after.get(key) == Some(value)));
    // Set right: real days age and go as if there was none of the future.
    writer.begin_anew();
    (2..6).for_each(|day| live(&mut writer, day));
    writer.seal().unwrap();
    (0..20).for_each(|_| writer.maintain(START + 5 * Day::MILLIS + 60_000).unwrap());
    let days: Vec<String> = std::fs::read_dir(&path)
        .unwrap()
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .filter(|it| it.starts_with("day=2026"))
        .collect();
    assert_eq!(days.len(), 4, "{days:?}");
    assert!(
        path.join("day=2026-01-05")
            .read_dir()
            .unwrap()
            .all(|it| { it.unwrap().file_name().to_str().unwrap().starts_with("part-") })
    );
}
