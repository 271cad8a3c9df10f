//! Root cleans up test beds where somebody else has a say.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{Base, assert_refused};
use crate::support::attacker::{ATTACKER, Attacker};
use crate::support::command::binary;

/// The attack: a bed of the attacker's own, which stays locked for ever.
#[test]
fn root_does_not_wait_for_ever_for_a_bed_that_its_owner_keeps_locked() {
    let Some(base) = Base::new() else { return };
    let theirs = base.directory("theirs", ATTACKER, 0o755);
    // Where everyone can start it.
    let plimsoll = base.folder.path().join("plimsoll");
    fs::copy(binary().get_program(), &plimsoll).unwrap();
    fs::set_permissions(&plimsoll, fs::Permissions::from_mode(0o755)).unwrap();
    let up = "testbed --base . up --kind directory --targets 1 --size 16MiB";
    Attacker::does(&theirs, &format!("{} {up}", plimsoll.display()));
    let holder =
        Attacker::repeats(&theirs, "echo 1 > .default.lock; flock .default.lock sleep 1000");
    while !fs::read_to_string("/proc/locks").unwrap().contains(&inode(&theirs)) {
        std::thread::yield_now();
    }
    let outcome = base.testbed(&theirs, "down");
    let error = outcome.stderr.lines().last().unwrap();
    assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
    assert!(error.contains(".default.lock: it is held by process "), "{error}");
    assert!(!error.contains("process 1;"), "the attacker's word is not taken: {error}");
    assert!(error.contains("hint: see what it is with ps -p "), "{error}");
    drop(holder);
    assert_eq!(base.testbed(&theirs, "down").status, Some(0));
    assert_eq!(fs::read_dir(&theirs).unwrap().count(), 0);
}

fn inode(base: &std::path::Path) -> String {
    use std::os::unix::fs::MetadataExt;
    format!(":{} ", fs::metadata(base.join(".default.lock")).unwrap().ino())
}

/// The attack: a file of the victim's is given the name of the lock.
#[test]
fn a_file_that_was_given_the_name_of_a_lock_is_neither_emptied_nor_removed() {
    let Some(base) = Base::new() else { return };
    let open = base.directory("open", 0, 0o777);
    fs::write(open.join("precious"), "1234567\n").unwrap();
    Attacker::does(&open, "mv precious .default.lock");
    assert_refused(&base.testbed(&open, "down"), "everyone can write to");
    assert_eq!(fs::read_to_string(open.join(".default.lock")).unwrap(), "1234567\n");
    // Where nobody else has a say any more, and the file stays.
    fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(open.join(".default.lock"), "thesis").unwrap();
    assert_refused(&base.testbed(&open, "down"), "something else than a lock");
    assert_eq!(fs::read_to_string(open.join(".default.lock")).unwrap(), "thesis");
}
