//! What kills leave of containers that were made or removed: the next one to look discards it, and nothing else.

mod support;

use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use plimsoll_guarded::Directory;
use plimsoll_stow::{
    Container, HOLDS_FROM, Placement, Target, Writer, discard_all_gone, gone_name, is_gone,
    mark_gone, unmark_left,
};
use rustix::fs::{FlockOperation, flock};
use support::{container, targets};

/// In the order in which they go.
const REMOVED: [&str; 8] = [
    "index",
    "anchor",
    "lock",
    "lock-readers",
    "lock-manifest",
    "manifest",
    "state",
    "lock-writers",
];
/// In the order in which they are made.
const MADE: [&str; 6] =
    ["plimsoll-container", "lock", "anchor", "manifest", "lock-readers", "state"];

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn discard(folder: &Path, targets: &[Target]) {
    discard_all_gone(Directory::open(folder).unwrap(), true, targets);
}

/// Has a directory be as it is for two minutes.
fn age(path: &Path) {
    let before = SystemTime::now() - Duration::from_secs(120);
    fs::File::open(path).unwrap().set_modified(before).unwrap();
}

/// Does to a directory what its owner does who removes it; returns its new name.
fn remove(path: &Path) -> PathBuf {
    let directory = fs::File::open(path).unwrap();
    mark_gone(&directory, true).unwrap();
    let gone = path.with_file_name(gone_name(&directory).unwrap());
    fs::rename(path, &gone).unwrap();
    gone
}

/// A container of which this many files are gone, with its logs, under this name.
fn half_removed(folder: &Path, name: &str, gone: usize) {
    let container = container(folder, 2);
    let mut writer = Writer::open(container.clone(), Placement::Striped).unwrap();
    writer.write_at(&[1; 5000], 0).unwrap();
    writer.close().unwrap();
    for target in ["t0", "t1"] {
        fs::remove_dir_all(folder.join(target)).unwrap();
        fs::create_dir(folder.join(target)).unwrap();
    }
    for file in &REMOVED[..gone] {
        let _ = fs::remove_file(container.path().join(file));
    }
    fs::rename(container.path(), folder.join(name)).unwrap();
}

#[test]
fn a_removal_that_was_killed_is_brought_to_an_end() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let hidden = ".plimsoll-stow-gone-1";
    for gone in 2..=REMOVED.len() {
        half_removed(folder.path(), hidden, gone);
        discard(folder.path(), &targets(folder.path(), 2));
        assert!(names(folder.path()).contains(&hidden.to_string()), "its owner did not remove it");
        remove(&folder.path().join(hidden));
        discard(folder.path(), &targets(folder.path(), 2));
        assert_eq!(names(folder.path()), ["t0", "t1"], "{gone} files are gone");
        // By hand.
        half_removed(folder.path(), "it", gone);
        let it = Container::open(&folder.path().join("it"), &targets(folder.path(), 2)).unwrap();
        it.remove().unwrap();
        assert_eq!(names(folder.path()), ["t0", "t1"], "{gone} files are gone");
    }
    fs::create_dir(folder.path().join(hidden)).unwrap();
    discard(folder.path(), &[]);
    assert_eq!(names(folder.path()).len(), 3, "another one's directory");
    remove(&folder.path().join(hidden));
    discard(folder.path(), &[]);
    assert_eq!(names(folder.path()), ["t0", "t1"]);
}

/// `cp -r` copies names, modes and times, and so does whoever restores a backup.
#[test]
fn a_copy_of_what_was_removed_is_not_taken_for_removed() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let container = container(folder.path(), 2);
    let mut writer = Writer::open(container.clone(), Placement::Striped).unwrap();
    writer.write_at(&[1; 5000], 0).unwrap();
    writer.close().unwrap();
    let gone = remove(container.path());
    // Nothing of it goes while somebody has it open.
    let copies = folder.path().join("copies");
    fs::create_dir(&copies).unwrap();
    let copied = Command::new("cp").arg("-a").arg(&gone).arg(&copies).status().unwrap();
    assert!(copied.success());
    let copy = copies.join(gone.file_name().unwrap());
    assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o7777, 0o1700);
    discard(&copies, &targets(folder.path(), 2));
    assert_eq!(names(&copies).len(), 1);
    assert_eq!(Container::open(&copy, &[]).unwrap().logs().unwrap().len(), 1);
    // An archive that somebody else made says what its maker likes, also that it was removed.
    let forged = copies.join(".plimsoll-stow-gone-1");
    fs::rename(&copy, &forged).unwrap();
    discard(&copies, &targets(folder.path(), 2));
    assert!(forged.exists());
    discard(folder.path(), &targets(folder.path(), 2));
    assert!(!gone.exists() && forged.exists());
}

/// Whoever removes a container marks it, then gives it another name.
#[test]
fn a_mark_is_taken_back_where_a_container_keeps_its_name() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let directory = fs::File::open(folder.path()).unwrap();
    mark_gone(&directory, true).unwrap();
    assert_eq!(unmark_left(&directory, || false), Ok(false));
    assert_eq!(is_gone(&directory), Ok(true));
    // It has lost its name meanwhile.
    let looks = std::cell::Cell::new(0);
    assert_eq!(unmark_left(&directory, || looks.replace(1) == 0), Ok(false));
    assert_eq!(is_gone(&directory), Ok(true));
    assert_eq!(unmark_left(&directory, || true), Ok(true));
    assert_eq!(is_gone(&directory), Ok(false));
}

#[test]
fn what_was_not_finished_goes_when_nobody_makes_it_any_more() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let (made, hidden) = (folder.path().join("made"), folder.path().join(".plimsoll-stow-new-1"));
    let unfinished = |count: usize| {
        drop(Container::create(&made, &[]).unwrap());
        for file in &MADE[count..] {
            fs::remove_file(made.join(file)).unwrap();
        }
        fs::rename(&made, &hidden).unwrap();
        discard(folder.path(), &[]);
        assert!(hidden.exists(), "it may just be made");
        age(&hidden);
    };
    for count in 0..=MADE.len() {
        unfinished(count);
        assert_eq!(names(&hidden).len(), count);
        if count > 1 {
            let lock = fs::File::open(hidden.join("lock")).unwrap();
            flock(&lock, FlockOperation::LockExclusive).unwrap();
            discard(folder.path(), &[]);
            assert!(hidden.exists(), "{count}: somebody makes it");
        }
        discard(folder.path(), &[]);
        assert!(!hidden.exists(), "{count} files");
    }
    // Whoever was killed who discarded it removed the lock before the rest.
    unfinished(MADE.len());
    fs::remove_file(hidden.join("lock")).unwrap();
    age(&hidden);
    discard(folder.path(), &[]);
    assert!(!hidden.exists());
}

/// A program has the file open that it has just made, and written nothing to yet.
#[test]
fn an_empty_file_that_somebody_has_open_is_never_taken_for_an_unfinished_one() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let (small, hidden) = (folder.path().join("small"), folder.path().join(".plimsoll-stow-new-1"));
    drop(support::small::make(&small, &[]));
    fs::rename(small, &hidden).unwrap();
    age(&hidden);
    let anchor = fs::File::options().write(true).open(hidden.join("anchor")).unwrap();
    let lock = libc::flock {
        l_type: libc::F_WRLCK as i16,
        l_whence: libc::SEEK_SET as i16,
        l_start: HOLDS_FROM,
        l_len: 1,
        l_pid: 0,
    };
    // SAFETY: an open file, and a lock that the kernel reads.
    assert_eq!(unsafe { libc::fcntl(anchor.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) }, 0);
    discard(folder.path(), &[]);
    assert!(hidden.exists(), "somebody has it open");
    drop(anchor);
    discard(folder.path(), &[]);
    assert!(!hidden.exists());
}

/// Whoever may write to the directory can give such a name to any container.
#[test]
fn a_container_with_something_in_it_is_never_taken_for_an_unfinished_one() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let container = container(folder.path(), 2);
    let mut writer = Writer::open(container.clone(), Placement::Striped).unwrap();
    writer.write_at(&[1; 5000], 0).unwrap();
    writer.close().unwrap();
    let hidden = folder.path().join(".plimsoll-stow-new-1");
    fs::rename(container.path(), &hidden).unwrap();
    age(&hidden);
    discard(folder.path(), &targets(folder.path(), 2));
    assert_eq!(Container::open(&hidden, &[]).unwrap().logs().unwrap().len(), 1);
    // One that has its bytes in its marker.
    let small = folder.path().join("small");
    let (made, mut writer) = support::small::make(&small, &[]);
    writer.write_at(&made, b"a thesis", 0).unwrap();
    let hidden = folder.path().join(".plimsoll-stow-new-3");
    fs::rename(small, &hidden).unwrap();
    age(&hidden);
    discard(folder.path(), &[]);
    assert_eq!(support::small::read(&support::small::open(&hidden, &[])), b"a thesis");
    fs::create_dir(folder.path().join(".plimsoll-stow-new-2")).unwrap();
    fs::write(folder.path().join(".plimsoll-stow-new-2/precious"), "").unwrap();
    age(&folder.path().join(".plimsoll-stow-new-2"));
    discard(folder.path(), &[]);
    assert!(folder.path().join(".plimsoll-stow-new-2/precious").exists());
}
