//! Programs that get the rights of somebody else.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use plimsoll_trace::Op;

use super::{Bed, counts, one, report, unseen};
use crate::support::command::{Outcome, binary, copy_program};
use crate::support::recording::{
    assert_nothing_lost, calls, has, library, processes, program, record, run_recorded,
};

/// The words that make a command another user's; `None` with a word where that is impossible.
fn as_nobody() -> Option<[&'static str; 6]> {
    let words =
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs", "true"];
    if !has(&["setpriv"]) {
        return None;
    }
    let may = Command::new(words[0]).args(&words[1..]).output();
    if !may.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: needs the right to become another user");
        return None;
    }
    Some(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--", "env"])
}

#[test]
fn programs_that_change_their_rights_are_named() {
    let Some(nobody) = as_nobody() else { return };
    let bed = Bed::new(&[("moving", &[]), ("owned", &[]), ("grouped", &[]), ("able", &[])]);
    let set_mode = |name: &str, mode| {
        fs::set_permissions(bed.at(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    set_mode("owned", 0o4755);
    set_mode("grouped", 0o2755);
    let able = Command::new("setcap").arg("cap_net_raw+ep").arg(bed.at("able")).output();
    let has_capabilities = able.is_ok_and(|output| output.status.success());
    if !has_capabilities {
        eprintln!("SKIPPED: programs with capabilities: setcap is missing or refused");
    }
    // Another user needs the program and the library where that user may go.
    copy_program(binary().get_program(), &bed.at("plimsoll"));
    copy_program(library(), &bed.at("libplimsoll.so"));
    let script = "./owned w a; ./grouped w b; ./able w c; ./moving w d; ./owned w e";
    let outcome: Outcome = Command::new(nobody[0])
        .args(&nobody[1..])
        .arg(bed.at("plimsoll"))
        .args(["record", "--quiet", "-o", "rec", "--", "sh", "-c", script])
        .env("PLIMSOLL_LIBRARY", bed.at("libplimsoll.so"))
        .current_dir(&bed.folder)
        .output()
        .unwrap()
        .into();
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    let said = report(&bed.at("rec"));
    let mut expected = one("owned", "set-user-id or set-group-id", 2);
    if has_capabilities {
        expected.extend(one("able", "has file capabilities", 1));
    }
    expected.extend(one("grouped", "set-user-id or set-group-id", 1));
    let mut found = unseen(&said);
    found.sort_by(|a, b| b.2.cmp(&a.2).then(a.0.cmp(&b.0)));
    assert_eq!(found, expected);
    let recorded = processes(&bed.at("rec"));
    assert_eq!(calls(&recorded, Op::Write, "/d"), (1, 1000));
    for file in ["/a", "/b", "/e"] {
        assert_eq!(calls(&recorded, Op::Write, file).0, 0, "{file} was recorded after all");
    }
    // Root stays root: nothing changes, and all is seen.
    let said = bed.record("root", "./owned w f");
    assert_eq!(unseen(&said), Vec::new());
    assert_eq!(calls(&processes(&bed.at("root")), Op::Write, "/f"), (1, 1000));
    // But not with a program of somebody else.
    std::os::unix::fs::chown(bed.at("owned"), Some(65534), Some(65534)).unwrap();
    set_mode("owned", 0o4755);
    let (rec, owned, out) = (bed.at("other"), bed.at("owned"), bed.at("g"));
    let outcome = run_recorded(&rec, &[owned.to_str().unwrap(), "w", out.to_str().unwrap()]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_eq!(unseen(&report(&rec)), one("owned", "set-user-id or set-group-id", 1));
}

#[test]
fn programs_of_a_user_who_may_not_write_to_the_recording_are_named() {
    let Some(nobody) = as_nobody() else { return };
    let bed = Bed::new(&[("moving", &[])]);
    let why = "runs as a user who may not write to the recording (user 65534)";
    // The user needs to reach the library, or that is the reason.
    copy_program(library(), &bed.at("libplimsoll.so"));
    let run = |name: &str, script: &str| {
        let outcome: Outcome = record(&bed.at(name))
            .args(["--", "sh", "-c", script])
            .env("PLIMSOLL_LIBRARY", bed.at("libplimsoll.so"))
            .current_dir(&bed.folder)
            .output()
            .unwrap()
            .into();
        assert_eq!(outcome.status, Some(0), "{name}: {}", outcome.stderr);
        report(&bed.at(name))
    };
    let words = nobody[..5].join(" ");
    let said = run("setpriv", &format!("{words} ./moving w a; ./moving w b"));
    assert_eq!((unseen(&said), counts(&said)), (one("moving", why, 1), (1, 3)));
    if has(&["su"]) {
        let said = run("su", "su nobody -s /bin/sh -c './moving w c'");
        assert_eq!(unseen(&said), one("sh", why, 1));
    }
    // A process that becomes another user goes on in its file; its children cannot have one.
    copy_program(program("unseen.c", "cc", &[]), &bed.at("drops"));
    let said = run("drops.rec", "./drops drops d");
    let recorded = processes(&bed.at("drops.rec"));
    assert_eq!(calls(&recorded, Op::Write, "/d"), (5000, 5000));
    assert_nothing_lost(&recorded);
    let found = unseen(&said);
    assert_eq!((found[0].0.as_str(), found[0].2), ("drops", 2), "{found:?}");
    assert!(found[0].1.starts_with("forked, and could not create a file"), "{found:?}");
    assert!(found[0].1.ends_with("permission denied (EACCES)"), "{found:?}");
    assert_eq!(counts(&said), (2, 4));
}
