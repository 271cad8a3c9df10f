//! The size of a small file as its marker's times tell it: as long as nothing else has changed the marker, and not a moment longer.

mod support;

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use plimsoll_stow::{ANCHOR, MARKER, Placement, Reader, Stored, Writer, size_in, told_by};
use rustix::fs::stat;
use support::small::{make, open, read};
use support::targets;

fn told(path: &Path) -> Option<u64> {
    told_by(&stat(path.join(MARKER)).unwrap())
}

#[test]
fn every_change_tells_the_new_size() {
    let folder = tempfile::tempdir().unwrap();
    let (targets, path) = (targets(folder.path(), 1), folder.path().join("it"));
    let (container, mut writer) = make(&path, &targets);
    assert_eq!(told(&path), None, "nobody has said that it is complete");
    writer.write_at(&container, b"words", 3).unwrap();
    assert_eq!(told(&path), Some(8));
    writer.append(&container, b" more").unwrap();
    assert_eq!(told(&path), Some(13));
    writer.truncate(&container, 10).unwrap();
    assert_eq!(told(&path), Some(10));
    writer.sync(&container).unwrap();
    assert_eq!(told(&path), Some(10));
    assert_eq!(read(&container).len(), 10);
    let written = Reader::open(container.clone()).unwrap().last_written().unwrap();
    let nanos = written.duration_since(SystemTime::UNIX_EPOCH).unwrap().subsec_nanos();
    assert_eq!(nanos, 0, "they are not a time");
    let changed = fs::metadata(path.join(MARKER)).unwrap().modified().unwrap();
    let age = SystemTime::now().duration_since(changed).unwrap_or_default();
    assert!(age < Duration::from_secs(60), "who clears up by age must not find an old file");
    // No more than fits is told: it is read.
    writer.truncate(&container, 1 << 40).unwrap();
    assert_eq!(told(&path), None);
    assert_eq!(size_in(plimsoll_guarded::Directory::open(&path).unwrap()), Some(1 << 40));
}

#[test]
fn a_file_that_nobody_wrote_to_is_told_to_be_empty_when_it_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let (targets, path) = (targets(folder.path(), 1), folder.path().join("it"));
    let (container, writer) = make(&path, &targets);
    writer.close(&container);
    assert_eq!(told(&path), Some(0));
    let mut later = plimsoll_stow::SmallWriter::open(&container, 4096).unwrap().unwrap();
    later.append(&container, b"more").unwrap();
    later.close(&container);
    assert_eq!(told(&path), Some(4));
}

/// The attack and the accident: whoever is killed while he writes, damages the marker or restores an older one must not have it tell what is not there.
#[test]
fn whatever_else_changes_the_marker_takes_back_what_it_tells() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 5] = [
        ("killed before the header", |it| {
            OpenOptions::new().append(true).open(it).unwrap().write_all(&[7; 64]).unwrap();
        }),
        ("a byte that was damaged", |it| {
            let file = OpenOptions::new().write(true).open(it).unwrap();
            file.write_all_at(b"!", 165).unwrap();
        }),
        ("cut", |it| OpenOptions::new().write(true).open(it).unwrap().set_len(130).unwrap()),
        ("other times", |it| {
            File::open(it).unwrap().set_modified(SystemTime::now()).unwrap();
        }),
        ("a time of the access alone", |it| {
            let file = File::open(it).unwrap();
            file.set_times(fs::FileTimes::new().set_accessed(SystemTime::now())).unwrap();
        }),
    ];
    for (what, change) in changes {
        let folder = tempfile::tempdir().unwrap();
        let (targets, path) = (targets(folder.path(), 1), folder.path().join("it"));
        let (container, mut writer) = make(&path, &targets);
        writer.write_at(&container, &[1; 100], 0).unwrap();
        assert_eq!(told(&path), Some(100));
        change(&path.join(MARKER));
        assert_eq!(told(&path), None, "{what}");
    }
}

#[test]
fn neither_a_copy_nor_a_file_that_grew_is_told_by_old_times() {
    let folder = tempfile::tempdir().unwrap();
    let (targets, path) = (targets(folder.path(), 1), folder.path().join("it"));
    let (container, mut writer) = make(&path, &targets);
    assert_eq!(writer.write_at(&container, b"words", 0), Ok(Stored::At(0)));
    drop(writer);
    let copy = folder.path().join("copy");
    assert!(Command::new("cp").arg("-a").args([&path, &copy]).status().unwrap().success());
    assert_eq!((told(&path), told(&copy)), (Some(5), None));
    assert_eq!(read(&open(&copy, &targets)), b"words");
    drop(Writer::open(container, Placement::Striped).unwrap());
    assert_eq!(told(&path), None);
    assert!(path.join(ANCHOR).exists());
}

#[test]
fn reading_the_marker_leaves_what_it_tells() {
    let folder = tempfile::tempdir().unwrap();
    let (targets, path) = (targets(folder.path(), 1), folder.path().join("it"));
    let (container, mut writer) = make(&path, &targets);
    writer.write_at(&container, b"words", 0).unwrap();
    let before = stat(path.join(MARKER)).unwrap();
    assert_eq!(read(&open(&path, &targets)), b"words");
    let after = stat(path.join(MARKER)).unwrap();
    if (before.st_atime, before.st_atime_nsec) != (after.st_atime, after.st_atime_nsec) {
        println!("SKIPPED: the file system notes every access (strictatime)");
        return;
    }
    assert_eq!(told(&path), Some(5));
}
