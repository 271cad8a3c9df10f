//! Containers that are durable once they were synced, and what a power failure leaves of one that was not.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plimsoll_stow::{
    Container, Id, Placement, Problem, Reader, StowError, TornContainer, Writer, check,
};
use support::{create_unsynced, targets};

/// Makes a container that holds something and was not synced.
fn unsynced(folder: &Path) -> (Arc<Container>, PathBuf) {
    let targets = targets(folder, 2);
    targets.iter().for_each(|it| fs::create_dir_all(&it.path).unwrap());
    let path = folder.join("it");
    let container = Arc::new(create_unsynced(&path, &targets).unwrap());
    let mut writer = Writer::open(container.clone(), Placement::Striped).unwrap();
    writer.write_at(b"something", 5).unwrap();
    (container, path)
}

fn logs(folder: &Path) -> usize {
    let of = |target: &plimsoll_stow::Target| fs::read_dir(&target.path).unwrap().count();
    targets(folder, 2).iter().map(of).sum()
}

#[test]
fn a_container_is_unsynced_until_it_is_synced_once() {
    let folder = tempfile::tempdir().unwrap();
    let (container, path) = unsynced(folder.path());
    assert!(container.is_unsynced());
    let mut bytes = [0; 9];
    assert_eq!(Reader::open(container.clone()).unwrap().read_at(&mut bytes, 5).unwrap(), 9);
    assert_eq!(&bytes, b"something");
    let (mut one, mut two) = (
        Writer::open(container.clone(), Placement::Static).unwrap(),
        Writer::open(container.clone(), Placement::Static).unwrap(),
    );
    one.sync().unwrap();
    assert!(!container.is_unsynced());
    two.write_at(b"else", 9).unwrap();
    two.sync().unwrap();
    let mode = path.join("plimsoll-container").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let durable = folder.path().join("durable");
    assert!(!Container::create(&durable, &targets(folder.path(), 2)).unwrap().is_unsynced());
}

#[test]
fn what_a_power_failure_left_of_it_is_told_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    for left in [0, 40] {
        let (container, path) = unsynced(folder.path());
        drop(container);
        let marker = path.join("plimsoll-container");
        fs::remove_file(&marker).unwrap();
        fs::write(&marker, vec![0; left]).unwrap();
        let error = Container::open(&path, &[]).unwrap_err();
        assert!(matches!(error, StowError::Torn { .. }), "{error}");
        assert!(error.to_string().contains("never made durable"), "{error}");
        fs::write(path.join("mine"), "precious").unwrap();
        assert!(TornContainer::open(&path).is_err(), "something is in it that is not its own");
        fs::remove_file(path.join("mine")).unwrap();
        TornContainer::open(&path).unwrap().remove().unwrap();
        assert!(!path.exists());
    }
    assert!(TornContainer::open(folder.path()).is_err());
}

/// Of the marker everything has reached the disk, and of the state nothing but its length.
#[test]
fn one_whose_state_is_zeros_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    for synced in [false, true] {
        let (container, path) = unsynced(folder.path());
        if synced {
            Writer::open(container.clone(), Placement::Static).unwrap().sync().unwrap();
        }
        drop(container);
        let state = path.join("state");
        let length = fs::metadata(&state).unwrap().len();
        assert!(length > 0);
        fs::write(&state, vec![0; length as usize]).unwrap();
        let removed = Container::open(&path, &targets(folder.path(), 2)).unwrap().remove();
        if synced {
            // What was durable once is not taken for the leftovers of a power failure.
            assert!(matches!(removed, Err(StowError::Damaged { .. })), "{removed:?}");
            assert!(TornContainer::open(&path).is_err() && path.join("anchor").exists());
        } else {
            assert_eq!(removed.unwrap().len(), 0);
            assert!(!path.exists());
        }
    }
}

#[test]
fn logs_of_which_nothing_is_left_are_told_and_go_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let (container, path) = unsynced(folder.path());
    let log = targets(folder.path(), 2)
        .iter()
        .flat_map(|it| fs::read_dir(&it.path).unwrap())
        .map(|it| it.unwrap().path().join("log-0000"))
        .next()
        .unwrap();
    fs::write(&log, []).unwrap();
    drop(container);
    let container = Container::open(&path, &targets(folder.path(), 2)).unwrap();
    let container = container.seen_from(Id::from_bytes([7; 16]));
    let problems = check(&Reader::open(Arc::new(container)).unwrap(), &mut |_| {}).unwrap();
    let is_told = |it: &Problem| matches!(it, Problem::MissingLog { why, .. } if why.contains("ever made durable"));
    assert!(problems.iter().any(is_told), "{problems:?}");
    let left = Container::open(&path, &targets(folder.path(), 2)).unwrap().remove().unwrap();
    assert_eq!((left.len(), path.exists(), logs(folder.path())), (0, false, 0));
}
