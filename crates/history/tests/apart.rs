//! One thread appends while another keeps the store.

mod support;

use std::cell::{Cell, RefCell};
use std::fs;
use std::path::Path;

use plimsoll_history::{Appender, Settings, Writer};
use support::*;

fn is_replacing(path: &Path) -> bool {
    let mut names = fs::read_dir(path).unwrap().map(|it| it.unwrap().file_name());
    names.any(|name| name.to_str().unwrap().starts_with(".new-"))
}

fn append(appender: &mut Appender, seconds: std::ops::Range<u64>) {
    for second in seconds {
        appender.append(&scrape(2, second)).unwrap();
    }
}

/// A merge of a day takes minutes; a sample is due each second.
#[test]
fn samples_are_appended_while_files_are_merged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    fill(&mut open(&path), 2, 0..80, 5);
    assert_eq!(first_day(&path).len(), 16);
    let (appender, mut keeper) = Writer::open_apart(&path, Settings::default()).unwrap();
    let (appender, next) = (RefCell::new(appender), Cell::new(100));
    let append = || {
        assert!(is_replacing(&path), "it is in the middle of a merge");
        appender.borrow_mut().append(&scrape(2, next.get())).unwrap();
        next.set(next.get() + 1);
        // Whatever was appended is found by the next reader, and survives a kill.
        assert_eq!(
            read(&path).keys().map(|key| key.3).max(),
            Some(START + 1000 * (next.get() - 1))
        );
    };
    let first = Cell::new(true);
    keeper
        .maintain(START + 80_000, &|| {
            // It is asked once before there is anything to be given up.
            if !first.replace(false) {
                append();
            }
            false
        })
        .unwrap();
    assert!(next.get() > 105, "{}", next.get());
    assert_eq!(first_day(&path), ["part-0-15.parquet"]);
    let samples = read(&path);
    appender.borrow_mut().close_log();
    keeper.seal().unwrap();
    assert_eq!(first_day(&path), ["part-0-15.parquet", "part-16-16.parquet"]);
    assert_eq!(read(&path), samples);
}

/// Who is asked to end does not have to wait for the end of a merge.
#[test]
fn a_merge_that_is_given_up_leaves_everything_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    fill(&mut open(&path), 2, 0..80, 5);
    let (samples, files) = (read(&path), first_day(&path));
    let (_appender, mut keeper) = Writer::open_apart(&path, Settings::default()).unwrap();
    for asked_most in 0..5 {
        let asked = Cell::new(0);
        let is_over = || asked.replace(asked.get() + 1) >= asked_most;
        keeper.maintain(START + asked_most * 100_000, &is_over).unwrap();
        assert!(!is_replacing(&path));
        assert_eq!((first_day(&path), read(&path)), (files.clone(), samples.clone()));
    }
}

/// The first sample after a start does not have to wait until what was left is sealed.
#[test]
fn what_a_killed_process_left_is_sealed_later_and_counts_as_earlier() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    for from in [0, 20] {
        let (mut killed, _) = Writer::open_apart(&path, Settings::default()).unwrap();
        append(&mut killed, from..from + 10);
    }
    let (mut appender, mut keeper) = Writer::open_apart(&path, Settings::default()).unwrap();
    // The clock was put back while no process ran: 15 to 24 are told again.
    append(&mut appender, 15..25);
    assert_eq!(globbed(&path), Vec::<std::path::PathBuf>::new(), "nothing is sealed yet");
    let samples = read(&path);
    let ends = |measure: &str| -> Vec<u64> {
        let of = samples.keys().filter(|it| it.0 == measure && it.2.ends_with('1'));
        of.map(|it| (it.3 - START) / 1000).collect()
    };
    assert_eq!(ends("read_bytes"), (1..10).chain(16..30).collect::<Vec<_>>());
    keeper.maintain(START + 30_000, &|| false).unwrap();
    assert_eq!((first_day(&path).len(), read(&path)), (2, samples.clone()), "two were left");
    appender.close_log();
    keeper.seal().unwrap();
    assert_eq!(read(&path), samples);
}
