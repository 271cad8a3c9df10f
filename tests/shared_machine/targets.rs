//! What is taken for a target, and leads elsewhere.

use std::fs;
use std::os::unix::fs::{chown, symlink};

use super::Shared;
use crate::support::attacker::{ATTACKER, Attacker};

/// The attack: what the victim takes for a target is a link to a directory of the victim's own.
#[test]
fn links_of_somebody_else_lead_to_no_target() {
    let Some(shared) = Shared::new() else { return };
    let at = |name: &str| shared.storage.folder.path().join(name);
    let left_behind = at("private/.plimsoll-work-dead");
    fs::create_dir_all(&left_behind).unwrap();
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    fs::write(left_behind.join("owner"), format!("{host}\nsecret\n")).unwrap();
    // Kernels may refuse such links in sticky directories by themselves (proc_sys_fs(5)).
    fs::create_dir(at("theirs")).unwrap();
    chown(at("theirs"), Some(ATTACKER), None).unwrap();
    Attacker::does(&at("theirs"), "ln -s ../private way");
    let bench = "bench target --burst 1MiB --transfer 64KiB --rounds 2 --rounds-max 2 --pause 1ms";
    let outcome = shared.run(&format!("{bench} -o out --targets theirs/way"));
    assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("symlink of user 65533"), "{}", outcome.stderr);
    assert!(left_behind.join("owner").exists(), "nothing is removed there either");
    let calibrate = "calibrate --span 4MiB --sizes 4KiB,64KiB,256KiB --seconds 0.05 --only write";
    let outcome = shared.run(&format!("{calibrate} --target theirs/way"));
    assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("symlink of user 65533"), "{}", outcome.stderr);
    assert!(left_behind.join("owner").exists(), "nothing is removed there either");
    symlink("private", at("own")).unwrap();
    let outcome = shared.run(&format!("{bench} -o out2 --targets own"));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(!left_behind.exists(), "one's own links are followed");
}
