//! Verified bursts find what is wrong, and say where.

mod common;

use std::fs;
use std::path::Path;

use common::{DISK, burst, directory_in, failure, has_uring, overwrite, queued, reading, run};
use plimsoll_domain::Bytes;
use plimsoll_domain::burst::Caching;
use plimsoll_engine::{Burst, Prepared, Source};

/// Writes, damages the file, and gives what a read of either engine says.
fn said_after(damage: impl Fn(&Path)) -> String {
    let folder = directory_in(DISK);
    let path = folder.path().join("file");
    let written = burst(std::slice::from_ref(&path));
    run(&written).unwrap();
    damage(&path);
    let (said, _) = failure(&reading(&written));
    assert!(said.starts_with(&format!("{} is wrong at byte ", path.display())), "{said}");
    if has_uring(folder.path()) {
        let (by_queue, _) = failure(&queued(&reading(&written), 1));
        assert_eq!(by_queue, said);
        // Deeper queues complete in any order, and each finds something.
        failure(&Burst { caching: Caching::Direct, ..queued(&reading(&written), 16) });
    }
    said.split_once(" is wrong at byte ").unwrap().1.to_owned()
}

#[test]
fn a_flipped_bit() {
    let said = said_after(|path| {
        let byte = fs::read(path).unwrap()[500_000];
        overwrite(path, 500_000, &[byte ^ 4]);
    });
    assert!(said.starts_with("500000: corrupted, the byte is 0x"), "{said}");
}

#[test]
fn blocks_that_changed_places() {
    let said = said_after(|path| {
        let bytes = fs::read(path).unwrap();
        overwrite(path, 40_960, &bytes[4096..8192]);
        overwrite(path, 4096, &bytes[40_960..45_056]);
    });
    assert_eq!(said, "4096: misplaced, the block belongs at byte 40960 of file 0");
}

#[test]
fn a_block_of_the_burst_before() {
    let said = said_after(|path| {
        let new = fs::read(path).unwrap();
        run(&Burst { seed: 10, ..burst(&[path.to_path_buf()]) }).unwrap();
        let old = fs::read(path).unwrap();
        fs::write(path, new).unwrap();
        overwrite(path, 8192, &old[8192..12_288]);
    });
    assert_eq!(said, "8192: stale, the block is of another burst or seed");
}

#[test]
fn a_hole() {
    let said = said_after(|path| overwrite(path, 16_384, &[0; 4096]));
    assert_eq!(said, "16384: zeros, the block was never written or was lost");
}

#[test]
fn data_that_was_not_meant_to_be_verified() {
    let folder = directory_in(DISK);
    let written = Burst { verify: false, ..burst(&[folder.path().join("file")]) };
    run(&written).unwrap();
    let (said, hint) = failure(&Burst { verify: true, ..reading(&written) });
    assert!(said.ends_with("is wrong at byte 0: data of a burst that was not to be verified"));
    assert!(hint.contains("verify"), "{hint}");
}

#[test]
fn a_block_of_another_file_of_the_burst() {
    let folder = directory_in(DISK);
    let paths = [folder.path().join("a"), folder.path().join("b")];
    let written = burst(&paths);
    run(&written).unwrap();
    let second = fs::read(&paths[1]).unwrap();
    overwrite(&paths[0], 4096, &second[..4096]);
    let (said, _) = failure(&reading(&written));
    assert!(said.ends_with("misplaced, the block belongs at byte 0 of file 1"), "{said}");
}

#[test]
fn a_write_is_read_back_after_the_measure() {
    let folder = directory_in(DISK);
    for caching in [Caching::Synced, Caching::Direct] {
        let written = Burst { caching, ..burst(&[folder.path().join("file")]) };
        let mut prepared = Prepared::open(&written, Source::Paths).unwrap();
        prepared.transfer().unwrap();
        overwrite(&written.paths[0], 70_000, b"wrong");
        let error = prepared.finish().unwrap_err().to_string();
        assert!(error.contains("is wrong at byte 70000: corrupted"), "{error}");
    }
}

#[test]
fn pages_that_cannot_leave_are_reported() {
    use rustix::mm::{MapFlags, ProtFlags, mlock, mmap, munmap};
    let folder = directory_in(DISK);
    let written = burst(&[folder.path().join("file")]);
    run(&written).unwrap();
    let file = fs::File::open(&written.paths[0]).unwrap();
    let (length, kind) = (1 << 20, MapFlags::SHARED);
    // SAFETY: a new mapping of an open file, never read from.
    let held = unsafe { mmap(std::ptr::null_mut(), length, ProtFlags::READ, kind, &file, 0) };
    let held = held.unwrap();
    // SAFETY: locks the mapping just made.
    if unsafe { mlock(held, length) }.is_err() {
        println!("SKIPPED: needs to lock memory");
        return;
    }
    let cache = run(&reading(&written)).unwrap().page_cache;
    // SAFETY: mapped above, and not used afterwards.
    unsafe { munmap(held, length) }.unwrap();
    assert_eq!((cache.was_used(), cache.cached), (Some(true), Some(Bytes::new(1 << 20))));
}
