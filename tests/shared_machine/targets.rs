//! What is taken for a target, and leads elsewhere.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};

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

/// The attack: directories that are called as the victim's targets are in the site file, in a working directory of everybody's.
#[test]
fn directories_of_somebody_else_are_not_taken_for_targets_of_that_name() {
    let Some(shared) = Shared::new() else { return };
    let at = |name: &str| shared.storage.folder.path().join(name);
    fs::set_permissions(at("."), fs::Permissions::from_mode(0o1777)).unwrap();
    let target = |name: &str| format!("[[target]]\nname = \"{name}\"\npath = {:?}\n", at(name));
    for name in ["real0", "real1"] {
        fs::create_dir(at(name)).unwrap();
    }
    let site = format!("version = 1\n{}{}", target("real0"), target("real1"))
        .replace("\"real0\"", "\"t0\"")
        .replace("\"real1\"", "\"t1\"");
    fs::write(at("site.toml"), site).unwrap();
    fs::set_permissions(at("site.toml"), fs::Permissions::from_mode(0o600)).unwrap();
    for planted in ["t0,t1", "t0"] {
        fs::create_dir(at(planted)).unwrap();
        chown(at(planted), Some(ATTACKER), None).unwrap();
    }
    let bench = "bench target --burst 1MiB --transfer 64KiB --rounds 2 --rounds-max 2 --pause 1ms";
    let outcome = shared.run(&format!("{bench} -o out --site site.toml --targets t0,t1"));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let plan = fs::read_to_string(at("out/plan.toml")).unwrap();
    assert!(plan.contains("real0") && plan.contains("real1"), "{plan}");
    // Who may not read the site file may not read the names in it elsewhere.
    let mode = fs::metadata(at("out")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700, "{mode:o}");
    let calibrate = "calibrate --span 4MiB --sizes 4KiB,64KiB,256KiB --seconds 0.05 --only write";
    // In this directory anybody may have put the site file, so it is not found, and that is said.
    let outcome = shared.run(&format!("{calibrate} --target t0 --dry-run"));
    let said = "site.toml is not used: everyone can write to ";
    assert!(outcome.stderr.contains(said), "{} {}", outcome.stdout, outcome.stderr);
    fs::set_permissions(at("."), fs::Permissions::from_mode(0o755)).unwrap();
    let outcome = shared.run(&format!("{calibrate} --target t0 --dry-run"));
    assert!(outcome.stdout.contains("real0"), "{} {}", outcome.stdout, outcome.stderr);
}
