//! Bursts that arrive: by both engines, in all patterns, over several files, in parts of files.

mod common;

use std::fs;

use common::{DISK, MEMORY, burst, directory_in, has_uring, queued, reading, run};
use plimsoll_domain::Bytes;
use plimsoll_domain::burst::{Caching, Pattern};
use plimsoll_engine::{Burst, CacheKeptOut};

#[test]
fn both_engines_and_all_patterns_write_the_same_files() {
    let folder = directory_in(DISK);
    if !has_uring(folder.path()) {
        return;
    }
    for (caching, verify) in [
        (Caching::Synced, true),
        (Caching::Synced, false),
        (Caching::Direct, true),
        (Caching::Direct, false),
    ] {
        let mut contents = Vec::new();
        for (index, pattern) in [Pattern::Sequential, Pattern::Random].into_iter().enumerate() {
            for depth in [0, 1, 7, 64, 500] {
                let path = folder.path().join(format!("{index}-{depth}"));
                let plain =
                    Burst { pattern, caching, verify, ..burst(std::slice::from_ref(&path)) };
                let burst = if depth == 0 { plain } else { queued(&plain, depth) };
                let finished = run(&burst).unwrap();
                assert_eq!(finished.bytes, Bytes::new(1 << 20));
                assert_eq!(finished.calls, 64);
                assert_eq!(finished.verified.get(), if verify { 1 << 20 } else { 0 });
                contents.push(fs::read(&path).unwrap());
                assert_eq!(run(&reading(&burst)).unwrap().bytes, Bytes::new(1 << 20));
                fs::remove_file(&path).unwrap();
            }
        }
        assert!(contents.iter().all(|it| it.len() == 1 << 20 && *it == contents[0]));
    }
}

#[test]
fn chunks_are_dealt_over_files_and_any_size_of_read_finds_them_right() {
    let folder = directory_in(DISK);
    let paths: Vec<_> = (0..3).map(|it| folder.path().join(it.to_string())).collect();
    let written = burst(&paths);
    run(&written).unwrap();
    // 16 chunks of 64 KiB in turns: 6, 5 and 5.
    let lengths: Vec<_> = paths.iter().map(|it| fs::metadata(it).unwrap().len() >> 16).collect();
    assert_eq!(lengths, [6, 5, 5]);
    // What lies where does not depend on the sizes of the writer.
    let other_sizes = Burst { transfer: Bytes::new(64 << 10), ..reading(&written) };
    run(&other_sizes).unwrap();
    let one_by_one = Burst {
        chunk: Bytes::new(4 << 10),
        transfer: Bytes::new(2 << 10),
        bytes: Bytes::new(960 << 10),
        pattern: Pattern::Random,
        ..reading(&written)
    };
    run(&one_by_one).unwrap();
}

#[test]
fn processes_of_a_shared_file_keep_to_their_regions() {
    let folder = directory_in(DISK);
    let path = folder.path().join("shared");
    let process = |rank: u64| Burst {
        offset: Bytes::new(rank << 20),
        pattern: Pattern::Random,
        ..burst(std::slice::from_ref(&path))
    };
    std::thread::scope(|scope| {
        for rank in 0..4 {
            scope.spawn(move || run(&process(rank)).unwrap());
        }
    });
    let whole = Burst { bytes: Bytes::new(4 << 20), ..reading(&process(0)) };
    assert_eq!(run(&whole).unwrap().verified, Bytes::new(4 << 20));
}

#[test]
fn the_last_transfer_may_be_shorter_and_sizes_odd() {
    let folder = directory_in(DISK);
    let odd = Burst {
        offset: Bytes::new(12_345),
        bytes: Bytes::new(1_000_003),
        transfer: Bytes::new(7_777),
        pattern: Pattern::Random,
        ..burst(&[folder.path().join("odd")])
    };
    for burst in [odd.clone(), queued(&odd, 5)] {
        if burst.depth > 1 && !has_uring(folder.path()) {
            continue;
        }
        let finished = run(&burst).unwrap();
        assert_eq!((finished.bytes.get(), finished.calls), (1_000_003, 129));
        assert_eq!(run(&reading(&burst)).unwrap().verified.get(), 1_000_003);
        fs::remove_file(&burst.paths[0]).unwrap();
    }
}

#[test]
fn a_span_seeks_over_more_than_it_moves() {
    let folder = directory_in(DISK);
    let whole = burst(&[folder.path().join("big")]);
    run(&whole).unwrap();
    let some = Burst {
        bytes: Bytes::new(64 << 10),
        span: Some(whole.bytes),
        transfer: Bytes::new(4 << 10),
        pattern: Pattern::Random,
        ..reading(&whole)
    };
    let finished = run(&some).unwrap();
    assert_eq!((finished.bytes.get(), finished.calls), (64 << 10, 16));
    // Overwriting some places with the same seed leaves the file right.
    run(&Burst { operation: whole.operation, ..some }).unwrap();
    run(&reading(&whole)).unwrap();
    // A span beyond the end is noticed before anything is read.
    let beyond = Burst { span: Some(Bytes::new(2 << 20)), ..reading(&whole) };
    let error = run(&Burst { pattern: Pattern::Random, ..beyond }).unwrap_err().to_string();
    assert!(error.ends_with("up to byte 2097152: it ends at byte 1048576"), "{error}");
}

#[test]
fn says_how_the_cache_was_kept_out() {
    let folder = directory_in(DISK);
    let synced = burst(&[folder.path().join("file")]);
    let direct = Burst { caching: Caching::Direct, ..synced.clone() };
    for (burst, by) in [
        (synced.clone(), CacheKeptOut::Fsync),
        (reading(&synced), CacheKeptOut::Dropped),
        (direct.clone(), CacheKeptOut::Direct),
        (reading(&direct), CacheKeptOut::Direct),
    ] {
        let cache = run(&burst).unwrap().page_cache;
        assert_eq!(cache.by, by);
        assert_eq!(cache.was_used(), Some(false), "{cache:?}");
    }
}

#[test]
fn files_in_memory_are_said_to_be_in_the_cache() {
    let folder = directory_in(MEMORY);
    let synced = burst(&[folder.path().join("file")]);
    run(&synced).unwrap();
    let cache = run(&reading(&synced)).unwrap().page_cache;
    assert!(cache.in_memory);
    assert_eq!((cache.was_used(), cache.cached), (Some(true), Some(Bytes::new(1 << 20))));
    // Kernels from 6.6 on take O_DIRECT there, and it means nothing.
    match run(&Burst { caching: Caching::Direct, ..reading(&synced) }) {
        Ok(finished) => assert_eq!(finished.page_cache.was_used(), Some(true)),
        Err(error) => assert!(error.hint().unwrap().contains("synced"), "{error}"),
    }
}
