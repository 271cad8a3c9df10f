//! Directories that were made for a bed go with it, and no others.

mod common;

use std::fs;
use std::path::Path;

use common::{TempBed, directory_targets};
use plimsoll_domain::Bytes;
use plimsoll_testbed::{DownOptions, Testbed, TestbedError};

fn up(bed: &Testbed) {
    bed.up(&directory_targets(1), &mut |_| ()).unwrap();
}

fn down(bed: &Testbed) {
    bed.down(DownOptions::default()).unwrap();
}

fn is_empty(path: &Path) -> bool {
    fs::read_dir(path).unwrap().next().is_none()
}

#[test]
fn all_that_was_made_goes() {
    let given = TempBed::new();
    let bed = Testbed::in_base(&given.base().join("one/two/three"), "bed").unwrap();
    up(&bed);
    down(&bed);
    assert!(is_empty(given.base()));
    down(&bed);
    assert!(is_empty(given.base()), "down makes nothing");
}

#[test]
fn the_last_of_several_beds_takes_the_base_along() {
    let given = TempBed::new();
    let base = given.base().join("made");
    let [first, second] = ["a", "b"].map(|name| Testbed::in_base(&base, name).unwrap());
    up(&first);
    up(&second);
    down(&first);
    assert!(second.list().unwrap().exists);
    down(&second);
    assert!(is_empty(given.base()));
}

#[test]
fn what_was_there_before_stays() {
    let given = TempBed::new();
    fs::create_dir_all(given.base().join("given/bed")).unwrap();
    let bed = Testbed::in_base(&given.base().join("given"), "bed").unwrap();
    down(&bed);
    assert!(bed.directory().exists(), "an empty directory is nobody's bed");
    up(&bed);
    down(&bed);
    assert!(bed.directory().exists() && is_empty(&bed.directory()));
    assert_eq!(fs::read_dir(given.base().join("given")).unwrap().count(), 1);
}

#[test]
fn a_failed_up_leaves_no_directory() {
    let given = TempBed::new();
    let bed = Testbed::in_base(&given.base().join("one/two"), "bed").unwrap();
    let mut options = directory_targets(1);
    options.targets = 65;
    assert!(matches!(bed.up(&options, &mut |_| ()), Err(TestbedError::Count { count: 65 })));
    assert!(is_empty(given.base()));
    if common::has_loop_devices() {
        let mut options = common::loop_targets(1);
        options.size = Bytes::new(1 << 60);
        assert!(matches!(bed.up(&options, &mut |_| ()), Err(TestbedError::Space { .. })));
        assert!(is_empty(given.base()));
    }
}

#[test]
fn a_failure_after_the_first_target_leaves_no_directory() {
    let given = TempBed::new();
    let bed = Testbed::in_base(&given.base().join("one/two"), "bed").unwrap();
    let hindered = bed.up(&directory_targets(2), &mut |_| {
        let _ = fs::create_dir(bed.directory().join("t1"));
    });
    assert!(matches!(hindered, Err(TestbedError::File { .. })), "{hindered:?}");
    assert!(is_empty(given.base()));
}
