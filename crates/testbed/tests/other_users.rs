//! Beds of other users: root cleans them up with their owner's rights.

mod common;

use std::fs;
use std::os::unix::fs::{MetadataExt, chown, symlink};
use std::path::PathBuf;

use common::{NOBODY, TempBed, as_nobody, can_be_nobody, directory_targets};
use plimsoll_testbed::{DownOptions, Testbed, TestbedError};

/// Tells the child where the bed is, and what to do with it.
const BASE: &str = "PLIMSOLL_TEST_BASE";
const ACTION: &str = "PLIMSOLL_TEST_ACTION";

/// Not a test of its own: what the ordinary user does.
#[test]
fn child_that_is_an_ordinary_user() {
    let Some(base) = std::env::var_os(BASE) else { return };
    let bed = Testbed::in_base(&PathBuf::from(base), "bed").unwrap();
    match std::env::var(ACTION).unwrap().as_str() {
        "up" => drop(bed.up(&directory_targets(2), &mut |_| ()).unwrap()),
        "refused down" => {
            assert!(bed.list().unwrap().exists, "everyone may look");
            let error = bed.down(DownOptions::default()).unwrap_err();
            assert!(matches!(error, TestbedError::NotYours { owner: 0, me: NOBODY, .. }));
            assert!(error.hint().unwrap().contains("user 0 or root can remove it"));
        }
        other => panic!("{other}"),
    }
}

fn nobody_does(bed: &TempBed, base: &std::path::Path, action: &str) {
    chown(bed.base(), Some(NOBODY), Some(NOBODY)).unwrap();
    let status = as_nobody()
        .args(["--exact", "child_that_is_an_ordinary_user"])
        .env(BASE, base)
        .env(ACTION, action)
        .status();
    assert!(status.unwrap().success());
}

#[test]
fn root_cleans_up_for_a_user() {
    if !can_be_nobody() {
        return;
    }
    let given = TempBed::new();
    let base = given.base().join("made");
    nobody_does(&given, &base, "up");
    let bed = Testbed::in_base(&base, "bed").unwrap();
    assert_eq!(bed.directory().metadata().unwrap().uid(), NOBODY);
    fs::write(bed.directory().join("t0/of-root"), "").unwrap();
    assert_eq!(bed.list().unwrap().targets.len(), 2);
    let refused = bed.up(&directory_targets(1), &mut |_| ()).unwrap_err();
    assert!(matches!(refused, TestbedError::NotYours { owner: NOBODY, me: 0, .. }), "{refused}");
    let removed = bed.down(DownOptions::default()).unwrap();
    assert!(removed.was_there && removed.kept.is_empty(), "{removed:?}");
    given.assert_nothing_left();
}

#[test]
fn roots_rights_are_not_lent_to_a_user() {
    if !can_be_nobody() {
        return;
    }
    let given = TempBed::new();
    nobody_does(&given, given.base(), "up");
    // A directory of root's that the user could have moved here from anywhere.
    fs::create_dir_all(given.path("t0/of-root")).unwrap();
    fs::write(given.path("t0/of-root/file"), "precious").unwrap();
    let error = given.bed.down(DownOptions::default()).unwrap_err();
    assert!(error.to_string().contains("cannot remove"), "{error}");
    assert!(given.path("t0/of-root/file").exists());
    fs::remove_dir_all(given.path("t0/of-root")).unwrap();
    given.bed.down(DownOptions::default()).unwrap();
    given.assert_nothing_left();
}

#[test]
fn a_marker_that_another_user_made_is_not_believed() {
    if !can_be_nobody() {
        return;
    }
    let given = TempBed::new();
    given.bed.up(&directory_targets(1), &mut |_| ()).unwrap();
    nobody_does(&given, given.base(), "refused down");
    chown(given.bed.directory(), Some(NOBODY), Some(NOBODY)).unwrap();
    let error = given.bed.down(DownOptions::default()).unwrap_err();
    assert!(matches!(error, TestbedError::NotABed { .. }), "{error}");
    assert!(!given.bed.list().unwrap().exists);
    assert!(given.path("t0").exists());
    chown(given.bed.directory(), Some(0), Some(0)).unwrap();
    chown(given.base(), Some(0), Some(0)).unwrap();
    given.bed.down(DownOptions::default()).unwrap();
}

#[test]
fn a_directory_of_a_user_that_is_no_bed_is_left_alone() {
    if !can_be_nobody() {
        return;
    }
    let given = TempBed::new();
    fs::create_dir_all(given.path("t0")).unwrap();
    chown(given.bed.directory(), Some(NOBODY), Some(NOBODY)).unwrap();
    let removed = given.bed.down(DownOptions::default()).unwrap();
    assert!(!removed.was_there);
    assert_eq!(removed.kept, [given.path("t0")]);
    given.assert_nothing_left_but(&["bed"]);
}

#[test]
fn a_symlink_of_a_user_is_not_followed() {
    if !can_be_nobody() {
        return;
    }
    let (given, other) = (TempBed::new(), TempBed::new());
    nobody_does(&other, other.base(), "up");
    symlink(other.bed.directory(), given.bed.directory()).unwrap();
    let error = given.bed.down(DownOptions::default()).unwrap_err();
    assert!(error.to_string().contains("symlink"), "{error}");
    fs::remove_file(given.bed.directory()).unwrap();
    assert!(other.path("t0").exists());
}
