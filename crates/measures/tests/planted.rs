//! Directories in which somebody planted links and pipes: nothing elsewhere is changed, nothing is
//! waited for.

mod common;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;

use common::instance;
use plimsoll_guarded::Readers;
use plimsoll_measures::{
    ENVIRONMENT, FILES, INSTANCES, JOURNAL, Journal, MeasuresError, PAIRS, PLAN, Results, SUMMARY,
};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};
use tempfile::TempDir;

const PLAN_TEXT: &str = "version = 1\n";

fn begin(directory: &Path) -> Result<Journal, MeasuresError> {
    Journal::create(directory, "planted", PLAN_TEXT, &json!({}))
}

/// An experiment of one instance, and a file elsewhere that is not to be changed.
fn with_precious_file(complete: bool) -> (TempDir, std::path::PathBuf, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let (results, precious) = (folder.path().join("results"), folder.path().join("precious"));
    fs::write(&precious, "thesis").unwrap();
    let mut journal = begin(&results).unwrap();
    journal.append(&instance(0, 2)).unwrap();
    if complete {
        journal.finish(true, Value::Null).unwrap();
    }
    (folder, results, precious)
}

#[track_caller]
fn assert_unharmed(precious: &Path) {
    assert_eq!(fs::read_to_string(precious).unwrap(), "thesis");
}

#[test]
fn links_under_temporary_names_are_replaced_and_not_written_through() {
    let (_folder, results, precious) = with_precious_file(false);
    for name in [PAIRS, INSTANCES, SUMMARY] {
        symlink(&precious, results.join(format!(".{name}.tmp"))).unwrap();
    }
    let (journal, _) = Journal::resume(&results).unwrap();
    journal.finish(true, Value::Null).unwrap();
    assert_unharmed(&precious);
    let read = Results::open(&results).unwrap();
    assert!(read.complete && read.warnings.is_empty(), "{:?}", read.warnings);
    assert_eq!(fs::read_dir(&results).unwrap().count(), 6, "nothing temporary is left");
}

#[test]
fn what_comes_from_a_private_plan_is_private_in_a_directory_that_is_everybodys_to_read() {
    let folder = tempfile::tempdir().unwrap();
    let modes_for = |readers: Readers, name: &str| {
        let results = folder.path().join(name);
        fs::create_dir(&results).unwrap();
        fs::set_permissions(&results, fs::Permissions::from_mode(0o755)).unwrap();
        let begun = Journal::create_for(readers, &results, "private", PLAN_TEXT, &json!({}));
        begun.unwrap().append(&instance(0, 2)).unwrap();
        let (journal, _) = Journal::resume(&results).unwrap();
        journal.finish(true, Value::Null).unwrap();
        let mode = |name: &str| fs::metadata(results.join(name)).unwrap().mode() & 0o777;
        FILES.map(mode)
    };
    assert_eq!(modes_for(Readers::Everyone, "public"), [0o644; 6]);
    assert_eq!(modes_for(Readers::OwnerAlone, "private"), [0o600; 6]);
}

#[test]
fn what_a_killed_process_left_half_written_is_replaced() {
    let (_folder, results, _) = with_precious_file(false);
    for name in [PAIRS, INSTANCES, SUMMARY] {
        fs::write(results.join(format!(".{name}.tmp")), "half").unwrap();
    }
    let (journal, _) = Journal::resume(&results).unwrap();
    journal.finish(true, Value::Null).unwrap();
    assert!(Results::open(&results).unwrap().complete);
}

#[test]
fn a_journal_that_leads_elsewhere_is_not_continued() {
    let (folder, results, _) = with_precious_file(false);
    let (journal, elsewhere) = (results.join(JOURNAL), folder.path().join("elsewhere"));
    fs::rename(&journal, &elsewhere).unwrap();
    // A torn line would be cut off.
    let mut text = fs::read(&elsewhere).unwrap();
    text.extend_from_slice(b"torn");
    fs::write(&elsewhere, &text).unwrap();
    symlink(&elsewhere, &journal).unwrap();
    let error = Journal::resume(&results).unwrap_err().to_string();
    assert!(error.ends_with("it is a symlink"), "{error}");
    fs::remove_file(&journal).unwrap();
    fs::hard_link(&elsewhere, &journal).unwrap();
    let error = Journal::resume(&results).unwrap_err().to_string();
    assert!(error.contains("2 names"), "{error}");
    assert_eq!(fs::read(&elsewhere).unwrap(), text);
}

#[test]
fn a_directory_that_others_can_write_to_is_refused_before_anything_is_written() {
    let (folder, results, _) = with_precious_file(false);
    let fresh = folder.path().join("fresh");
    fs::create_dir(&fresh).unwrap();
    let refused = |words: &str| {
        for error in [
            begin(&fresh).unwrap_err(),
            Journal::refuse_existing(&fresh).unwrap_err(),
            Journal::resume(&results).unwrap_err(),
        ] {
            let error = error.to_string();
            assert!(error.contains(words) && error.contains("hint: "), "{error}");
        }
        assert_eq!(fs::read_dir(&fresh).unwrap().count(), 0);
    };
    for directory in [&fresh, &results] {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o777)).unwrap();
    }
    refused("others can write to it (mode 777)");
    for directory in [&fresh, &results] {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
    }
    if rustix::process::geteuid().is_root() {
        for directory in [&fresh, &results] {
            chown(directory, Some(65_533), None).unwrap();
        }
        refused("it belongs to user 65533");
        for directory in [&fresh, &results] {
            chown(directory, Some(0), None).unwrap();
        }
    }
    begin(&fresh).unwrap();
    Journal::resume(&results).unwrap();
}

/// Would wait for ever if one of them were opened as a file is.
#[test]
fn pipes_in_the_place_of_files_are_not_waited_for() {
    for name in [PLAN, ENVIRONMENT, JOURNAL, PAIRS, INSTANCES, SUMMARY] {
        for complete in [false, true] {
            let (_folder, results, _) = with_precious_file(complete);
            let path = results.join(name);
            let _ = fs::remove_file(&path);
            mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
            Results::is_results(&results);
            let read = Results::open(&results);
            match name {
                PLAN => assert!(read.unwrap_err().to_string().contains("not a regular file")),
                // The rest tells what can be told, or why not.
                _ => drop(read.map(|it| it.instances().map(|all| all.for_each(drop)))),
            }
            let resumed = Journal::resume(&results);
            assert!(name != JOURNAL || resumed.is_err());
        }
    }
}

#[test]
fn results_that_are_only_read_may_be_links_to_files() {
    let (folder, results, _) = with_precious_file(true);
    let linked = folder.path().join("linked");
    fs::create_dir(&linked).unwrap();
    for name in [PLAN, ENVIRONMENT, JOURNAL, PAIRS, INSTANCES, SUMMARY] {
        symlink(results.join(name), linked.join(name)).unwrap();
    }
    let read = Results::open(&linked).unwrap();
    assert!(read.complete && read.warnings.is_empty(), "{:?}", read.warnings);
    assert_eq!(read.instances().unwrap().count(), 1);
}

/// Whoever may write beside the results can move them away and put others in their place.
#[test]
fn results_that_are_exchanged_while_they_are_written_end_where_they_began() {
    let folder = tempfile::tempdir().unwrap();
    let (results, moved) = (folder.path().join("results"), folder.path().join("moved"));
    let other = folder.path().join("other");
    let mut others = begin(&other).unwrap();
    others.append(&common::instance(0, 1)).unwrap();
    drop(others);
    let before = fs::read_dir(&other).unwrap().count();
    let mut journal = begin(&results).unwrap();
    for number in 0..3 {
        journal.append(&common::instance(number, 2)).unwrap();
    }
    fs::rename(&results, &moved).unwrap();
    symlink(&other, &results).unwrap();
    let ended = journal.finish(true, json!({})).unwrap();
    assert_eq!(fs::read_dir(&other).unwrap().count(), before, "nothing was written there");
    for path in [moved, ended.path_by_descriptor()] {
        let finished = Results::open(&path).unwrap();
        assert!(finished.complete && finished.warnings.is_empty(), "{:?}", finished.warnings);
        assert_eq!(finished.instances().unwrap().count(), 3);
    }
}

/// Whoever can read a file can lock it, and never let go.
#[test]
fn readers_that_lock_a_journal_keep_nobody_from_going_on() {
    let (_folder, results, _) = with_precious_file(false);
    let theirs = fs::File::open(results.join(JOURNAL)).unwrap();
    theirs.lock().unwrap();
    let (journal, resumed) = Journal::resume(&results).unwrap();
    assert_eq!(resumed.instances, 1);
    assert!(matches!(Journal::resume(&results), Err(MeasuresError::Busy { .. })));
    let mode = fs::metadata(results.join(".lock")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "nobody else can lock it");
    journal.finish(true, Value::Null).unwrap();
    assert_eq!(fs::read_dir(&results).unwrap().count(), 6, "the lock is gone");
}
