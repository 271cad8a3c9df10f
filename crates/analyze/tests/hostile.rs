//! Stores that were made by hand: what they cost follows the data that is there, and moments at the ends of time are no trouble.

use std::fs;
use std::path::Path;

use plimsoll_analyze::{
    Analysis, AnalyzeError, Frame, Options, Partial, PartialFile, Wanted, Whole, summarize,
};
use plimsoll_history::Store;

const DAY: u64 = 86_400_000;

/// Writes a store that is one write-ahead file (crates/history/src/log.rs): series by kind, name and measure; rows by end, length, series and value.
fn forge(path: &Path, series: &[(&str, String, &str)], rows: &[(u64, u64, u64, u64)]) {
    let mut content = Vec::new();
    let text = |out: &mut Vec<u8>, text: &str| {
        number(out, text.len() as u64);
        out.extend(text.as_bytes());
    };
    for (kind, name, measure) in series {
        content.push(1);
        for it in [kind, "", "fs", name.as_str(), "", "server", measure] {
            text(&mut content, it);
        }
        number(&mut content, 0);
    }
    for (end, length, series, value) in rows {
        content.push(2);
        for it in [*end, *length, 1, *series, *value] {
            number(&mut content, it);
        }
    }
    let mut log = b"PLIMHIST".to_vec();
    log.extend(1u32.to_le_bytes());
    log.extend(0u64.to_le_bytes());
    log.extend(crc32c::crc32c(&log).to_le_bytes());
    let length = (content.len() as u32).to_le_bytes();
    log.extend(length);
    log.extend(crc32c::crc32c_append(crc32c::crc32c(&length), &content).to_le_bytes());
    log.extend(content);
    fs::create_dir(path).unwrap();
    fs::write(path.join("_plimsoll-history"), "plimsoll history 1\nSamples\n").unwrap();
    fs::write(path.join(".log-0"), log).unwrap();
}

fn number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn whole(path: &Path, parts: usize) -> (Frame, Whole) {
    let store = Store::open(path).unwrap();
    let frame = Frame::of(&store, &Options::default()).unwrap();
    let part = |number| summarize(&store, &frame, frame.part(number, parts), 1).unwrap();
    let all = (0..parts).map(part).fold(Partial::default(), |all, it| all.join(it, &frame));
    let all = all.whole(&frame);
    (frame, all)
}

/// One row on each of many days, each of another of many targets.
fn scattered(path: &Path, targets: u64, days: u64) {
    let series: Vec<_> =
        (0..targets).map(|it| ("ost", format!("O{it}"), "written_bytes")).collect();
    let row = |day: u64| (DAY * (day + 1) + 60_000, 60_000, day % targets, 1000);
    forge(path, &series, &(0..days).map(row).collect::<Vec<_>>());
}

#[test]
fn many_days_and_targets_with_few_samples_take_what_the_samples_take() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    scattered(&path, 150, 300);
    let (frame, all) = whole(&path, 1);
    assert_eq!((frame.targets.len(), frame.days.len()), (150, 300));
    assert!(all.days.iter().all(|day| day.minutes.len() == 1 && day.targets == 1));
    assert!(all.targets.iter().all(|it| it.hours.len() == 2 && it.known == [0, 2]));
    let analysis = Analysis::of(&frame, &all);
    assert_eq!(analysis.system.directions[1].bytes, 300_000);
    assert_eq!(analysis.cleaning.samples, 300);
    let store = Store::open(&path).unwrap();
    let wanted = Wanted { costs: None, jobs: true };
    let part = PartialFile::read(&store, "s", &frame, (0, 1), &wanted, 1).unwrap().to_bytes();
    // For each row a minute, an hour and the sums of its target.
    assert!(part.len() < 300 * 1000, "{}", part.len());
}

#[test]
fn more_than_is_analysed_at_once_is_said_before_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |name: &str, targets: u64, days: u64| {
        let path = folder.path().join(name);
        scattered(&path, targets, days);
        Frame::of(&Store::open(&path).unwrap(), &Options::default()).unwrap_err()
    };
    assert!(matches!(refused("long", 1, 10_001), AnalyzeError::TooLong { days: 10_001 }));
    let much = refused("much", 2_100, 2_100);
    assert!(matches!(much, AnalyzeError::TooMuchAtOnce { days: 2_100, targets: 2_100 }), "{much}");
}

#[test]
fn the_ends_of_time_and_of_numbers_are_no_trouble() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let series = [
        ("ost", "a", "written_bytes"),
        ("ost", "b", "read_bytes"),
        ("mdt", "m", "opens"),
        ("server", "s", "cpu_busy_time"),
        ("server", "s", "cpu_time"),
        ("server", "t", "cpu_load"),
    ];
    let moments = [
        0,
        1,
        59_999,
        60_000,
        DAY,
        253_402_300_800_000,
        1 << 63,
        u64::MAX,
        u64::MAX - 1,
        DAY << 32,
        (DAY << 32) - 1,
    ];
    let mut rows = Vec::new();
    for end in moments {
        for length in [0, 1, 60_000, 60_001, u64::from(u32::MAX)] {
            rows.extend((0..series.len() as u64).map(|number| (end, length, number, u64::MAX)));
        }
    }
    forge(&path, &series.map(|(kind, name, measure)| (kind, name.to_string(), measure)), &rows);
    let (frame, all) = whole(&path, 1);
    let analysis = Analysis::of(&frame, &all);
    // Nothing moves that much in a minute; what is in no minute stays in the total.
    assert!(analysis.cleaning.over_limit > 0);
    assert!(analysis.system.directions.iter().all(|it| it.bytes % u128::from(u64::MAX) == 0));
    assert!(whole(&path, 3).1 == all);
}
