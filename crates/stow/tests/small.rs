//! Small files, which are in their container's marker, and what becomes of them when they grow.

mod support;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use plimsoll_guarded::Directory;
use plimsoll_stats::Random;
use plimsoll_stow::{
    MARKER, News, Placement, Problem, Reader, SmallWriter, Stored, StowError, Target, Writer,
    check, repair, size_in, told_by,
};
use support::small::{Process, ROOM, make, open, read};
use support::{content, targets};

fn names(path: &Path) -> Vec<String> {
    let names = fs::read_dir(path).unwrap();
    let mut names: Vec<_> =
        names.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn log_directories(targets: &[Target]) -> usize {
    targets.iter().map(|it| fs::read_dir(&it.path).unwrap().count()).sum()
}

#[test]
fn a_small_file_is_three_inodes_and_reads_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let (targets, path) = (targets(folder.path(), 2), folder.path().join("it"));
    let (container, mut writer) = make(&path, &targets);
    assert_eq!((read(&container), container.is_unsynced()), (vec![], true));
    assert_eq!(writer.write_at(&container, b"words", 3), Ok(Stored::At(3)));
    assert_eq!(writer.append(&container, b" more"), Ok(Stored::At(8)));
    assert_eq!(writer.truncate(&container, 10), Ok(Stored::At(10)));
    assert_eq!(writer.truncate(&container, 12), Ok(Stored::At(12)));
    let expected = b"\0\0\0words m\0\0";
    assert_eq!(read(&open(&path, &[])), expected);
    assert_eq!(size_in(Directory::open(&path).unwrap()), Some(12));
    assert_eq!(names(&path), ["anchor", "plimsoll-container"]);
    assert_eq!(log_directories(&targets), 0);
    let reader = Reader::open(open(&path, &[])).unwrap();
    assert_eq!(check(&reader, &mut |_| {}).unwrap(), []);
    assert!(reader.is_small() && reader.is_whole());
    assert_eq!(writer.sync(&container), Ok(Stored::At(0)));
    assert!(!container.is_unsynced());
    // Whoever writes keeps it from being removed.
    assert!(open(&path, &targets).remove().is_err());
    drop(writer);
    assert_eq!(open(&path, &targets).remove().unwrap(), []);
    assert!(!path.exists());
}

/// What a plain file would do.
fn change(plain: &mut Vec<u8>, bytes: &[u8], offset: usize) {
    plain.resize(plain.len().max(offset + bytes.len()), 0);
    plain[offset..offset + bytes.len()].copy_from_slice(bytes);
}

#[test]
fn several_writers_of_a_file_that_grows_see_what_a_plain_file_holds() {
    for seed in 0..12 {
        let mut random = Random::new(seed);
        let folder = tempfile::tempdir().unwrap();
        let (targets, path) = (targets(folder.path(), 2), folder.path().join("it"));
        drop(make(&path, &targets));
        let (mut plain, mut is_told) = (Vec::new(), false);
        let mut processes = [(); 3].map(|()| Process::new(&path, &targets));
        for step in 0..80 {
            let process = &mut processes[random.below(3) as usize];
            let bytes = vec![step as u8 + 1; random.below(250) as usize + 1];
            let place = random.below(6000) as usize;
            match random.below(8) {
                0 => {
                    process.truncate(place as u64);
                    plain.resize(place, 0);
                }
                1 => process.sync(),
                2..5 => {
                    process.append(&bytes);
                    plain.extend(&bytes);
                }
                _ => {
                    process.write(&bytes, place as u64);
                    change(&mut plain, &bytes, place);
                }
            }
            let process = &mut processes[random.below(3) as usize];
            process.reader.refresh().unwrap();
            assert_eq!(content(&process.reader), plain, "seed {seed}, step {step}");
            assert_eq!(read(&open(&path, &targets)), plain, "seed {seed}, step {step}");
            let told = told_by(&rustix::fs::stat(path.join(MARKER)).unwrap());
            assert!(told.is_none_or(|it| it == plain.len() as u64), "seed {seed}, step {step}");
            is_told |= told.is_some();
        }
        assert!(is_told, "seed {seed}: the size was never told by times");
        assert!(processes.iter().any(|it| it.large.is_some()), "seed {seed}: it never grew");
        assert!(log_directories(&targets) > 0);
        drop(processes);
        let reader = Reader::open(open(&path, &targets)).unwrap();
        assert_eq!(check(&reader, &mut |_| {}).unwrap(), []);
        drop(reader);
        assert_eq!(open(&path, &targets).remove().unwrap(), []);
        assert_eq!(log_directories(&targets), 0);
    }
}

#[test]
fn a_write_that_was_cut_short_was_never_there() {
    let folder = tempfile::tempdir().unwrap();
    let (targets, path) = (targets(folder.path(), 1), folder.path().join("it"));
    let (container, mut writer) = make(&path, &targets);
    writer.append(&container, b"acknowledged").unwrap();
    let marker = path.join("plimsoll-container");
    let before = fs::metadata(&marker).unwrap().len().next_multiple_of(8);
    writer.append(&container, b" and cut short").unwrap();
    drop(writer);
    let whole = fs::read(&marker).unwrap();
    for left in before as usize..whole.len() {
        fs::write(&marker, &whole[..left]).unwrap();
        let container = open(&path, &targets);
        assert_eq!(read(&container), b"acknowledged", "{left}");
        let mut writer = SmallWriter::open(&container, ROOM).unwrap().unwrap();
        assert_eq!(writer.append(&container, b"!"), Ok(Stored::At(12)));
        assert_eq!(read(&container), b"acknowledged!", "{left}");
    }
}

#[test]
fn damage_is_told_where_it_was_durable_and_dropped_where_it_was_not() {
    let folder = tempfile::tempdir().unwrap();
    let (targets, path) = (targets(folder.path(), 1), folder.path().join("it"));
    let (container, mut writer) = make(&path, &targets);
    writer.append(&container, b"first").unwrap();
    writer.append(&container, b"second").unwrap();
    let marker = path.join("plimsoll-container");
    let bytes = fs::read(&marker).unwrap();
    let at = bytes.windows(5).position(|it| it == b"first").unwrap();
    let file = File::options().write(true).open(&marker).unwrap();
    file.write_at(b"X", at as u64).unwrap();
    // As after a power failure: what came later is whole.
    assert_eq!(read(&open(&path, &[])), b"\0\0\0\0\0second");
    let reader = Reader::open(open(&path, &[])).unwrap();
    let problems = check(&reader, &mut |_| {}).unwrap();
    assert_eq!(problems, [Problem::Dropped { log: 0, range: Some(0..5) }]);
    drop(writer);
    assert_eq!(repair(&open(&path, &targets), reader.troubles()).unwrap(), 1);
    let reader = Reader::open(open(&path, &[])).unwrap();
    assert_eq!(check(&reader, &mut |_| {}).unwrap(), []);
    let mut writer = SmallWriter::open(&container, ROOM).unwrap().unwrap();
    assert_eq!(writer.append(&container, b"third"), Ok(Stored::At(11)));
    writer.sync(&container).unwrap();
    let at = fs::read(&marker).unwrap().windows(6).position(|it| it == b"second").unwrap();
    for damaged in [at, at - 20] {
        let was = fs::read(&marker).unwrap()[damaged];
        file.write_at(&[was ^ 1], damaged as u64).unwrap();
        let reader = Reader::open(open(&path, &[])).unwrap();
        assert!(!reader.is_whole());
        assert!(reader.read_at(&mut [0; 20], 0).is_err());
        // Nothing is added to what cannot be told.
        assert!(Writer::open(open(&path, &targets), Placement::Striped).is_err());
        assert_eq!(names(&path), ["anchor", "plimsoll-container"]);
        file.write_at(&[was], damaged as u64).unwrap();
    }
    file.set_len(at as u64).unwrap();
    assert!(Reader::open(open(&path, &[])).unwrap().read_at(&mut [0; 20], 0).is_err());
}

#[test]
fn a_copy_is_a_file_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let (targets, path) = (targets(folder.path(), 2), folder.path().join("it"));
    let (container, mut writer) = make(&path, &targets);
    writer.append(&container, b"both").unwrap();
    drop(writer);
    let copy = folder.path().join("copy");
    assert!(Command::new("cp").arg("-rp").args([&path, &copy]).status().unwrap().success());
    let fill = |path: &Path, byte: u8| {
        let mut writer = Writer::open(open(path, &targets), Placement::Striped).unwrap();
        writer.append(&[byte; 9000]).unwrap();
        writer.close().unwrap();
    };
    fill(&path, 1);
    fill(&copy, 2);
    let expected = |byte: u8| [b"both".as_slice(), &[byte; 9000]].concat();
    assert_eq!(read(&open(&path, &targets)), expected(1));
    assert_eq!(read(&open(&copy, &targets)), expected(2));
    assert_ne!(open(&path, &[]).id(), open(&copy, &[]).id());
    for path in [&path, &copy] {
        let reader = Reader::open(open(path, &targets)).unwrap();
        assert_eq!(check(&reader, &mut |_| {}).unwrap(), []);
        drop(reader);
        assert_eq!(open(path, &targets).remove().unwrap(), []);
    }
    assert_eq!(log_directories(&targets), 0);
}

#[test]
fn where_no_target_takes_it_it_stays_small() {
    let folder = tempfile::tempdir().unwrap();
    let (mut targets, path) = (targets(folder.path(), 1), folder.path().join("it"));
    let (container, mut writer) = make(&path, &targets);
    writer.append(&container, b"small").unwrap();
    let there = targets[0].path.clone();
    targets[0].path = folder.path().join("nowhere");
    let mut refused = Writer::open(open(&path, &targets), Placement::Striped);
    if let Ok(writer) = &mut refused {
        assert!(writer.write_at(b"x", 0).is_err());
    }
    drop(refused);
    assert_eq!(read(&open(&path, &targets)), b"small");
    assert_eq!(names(&path), ["anchor", "plimsoll-container"]);
    assert_eq!(writer.append(&container, b" still"), Ok(Stored::At(5)));
    drop(writer);
    targets[0].path = there;
    let mut large = Writer::open(open(&path, &targets), Placement::Striped).unwrap();
    large.append(b" no more").unwrap();
    large.close().unwrap();
    assert_eq!(read(&open(&path, &targets)), b"small still no more");
}

#[test]
fn a_state_beside_a_small_file_says_nothing_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let (targets, path) = (targets(folder.path(), 1), folder.path().join("it"));
    let (container, mut writer) = make(&path, &targets);
    // As one leaves it who was killed when he had begun to make it large.
    let large = folder.path().join("large");
    drop(make(&large, &targets));
    let mut other = Writer::open(open(&large, &targets), Placement::Striped).unwrap();
    other.append(&[1; 9000]).unwrap();
    other.close().unwrap();
    fs::copy(large.join("state"), path.join("state")).unwrap();
    assert!(News::of(&container).is_err());
    writer.append(&container, b"one").unwrap();
    let mut reader = Reader::open(container.clone()).unwrap();
    writer.append(&container, b"two").unwrap();
    reader.refresh().unwrap();
    assert_eq!(content(&reader), b"onetwo");
    // Once it is large, they say when there is something new.
    let mut large = Writer::open(container.clone(), Placement::Striped).unwrap();
    let mut news = News::of(&container).unwrap();
    assert!(news.are_there() && !news.are_there());
    large.append(b"three").unwrap();
    assert!(news.are_there() && !news.are_there());
}

/// Shares a lock on all bytes of a file, as whoever may read it can.
/// Two were killed, one after the other: who made a large one of it, and who took that back and had removed its log.
#[test]
fn one_whose_promotion_was_half_taken_back_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let (targets, path) = (targets(folder.path(), 1), folder.path().join("it"));
    drop(make(&path, &targets));
    let mut process = Process::new(&path, &targets);
    process.write(&[7; 2 * ROOM as usize], 0);
    process.sync();
    drop(process);
    // What is changed last, as in "plimsoll container 1".
    File::options().write(true).open(path.join(MARKER)).unwrap().write_all_at(b"2", 19).unwrap();
    for place in fs::read_dir(&targets[0].path).unwrap() {
        fs::remove_dir_all(place.unwrap().path()).unwrap();
    }
    let container = open(&path, &targets);
    assert_eq!(container.remove().unwrap(), [], "no log is left");
    assert!(!path.exists());
}

fn shared_by_a_reader(path: &Path) -> File {
    let file = File::open(path).unwrap();
    let mut all = libc::flock {
        l_type: libc::F_RDLCK as i16,
        l_whence: libc::SEEK_SET as i16,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    // Waits: a process that another test just starts has all descriptors for a moment, and with them their locks.
    // SAFETY: an open file, and a lock that the kernel reads.
    assert_eq!(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLKW, &raw mut all) }, 0);
    file
}

#[test]
fn a_reader_who_locks_the_marker_is_in_nobodys_way() {
    let folder = tempfile::tempdir().unwrap();
    let (targets, path) = (targets(folder.path(), 1), folder.path().join("it"));
    drop(make(&path, &targets));
    let _reader = shared_by_a_reader(&path.join("plimsoll-container"));
    let mut one = Process::new(&path, &targets);
    let mut other = Process::new(&path, &targets);
    one.append(b"small");
    other.append(b" and still");
    one.sync();
    assert_eq!(read(&open(&path, &targets)), b"small and still");
    assert!(matches!(open(&path, &targets).remove(), Err(StowError::Busy { .. })), "writers are");
    drop(other);
    one.write(&[7; 2 * ROOM as usize], 15);
    one.append(b"!");
    assert_eq!(read(&open(&path, &targets)).len(), 16 + 2 * ROOM as usize);
    drop(one);
    assert_eq!(open(&path, &targets).remove().unwrap(), []);
    assert!(!path.exists());
}

#[test]
fn a_small_file_that_a_reader_locks_can_be_removed() {
    let folder = tempfile::tempdir().unwrap();
    let (targets, path) = (targets(folder.path(), 1), folder.path().join("it"));
    drop(make(&path, &targets));
    let _reader = shared_by_a_reader(&path.join("plimsoll-container"));
    let writer = SmallWriter::open(&open(&path, &targets), ROOM).unwrap();
    assert!(matches!(open(&path, &targets).remove(), Err(StowError::Busy { .. })));
    drop(writer);
    assert_eq!(open(&path, &targets).remove().unwrap(), []);
    assert!(!path.exists());
}

#[test]
fn names_of_others_are_left_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let (targets, path) = (targets(folder.path(), 1), folder.path().join("it"));
    drop(make(&path, &targets));
    fs::write(path.join("foreign"), b"").unwrap();
    let parent = Directory::open(folder.path()).unwrap();
    let directory = parent.child(OsStr::new("it")).unwrap();
    assert!(!plimsoll_stow::discard_small(&parent, "it", &directory));
    assert!(open(&path, &targets).remove().is_err());
    fs::remove_file(path.join("foreign")).unwrap();
    assert!(plimsoll_stow::discard_small(&parent, "it", &directory));
    assert!(!path.exists());
}
