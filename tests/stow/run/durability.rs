//! A file is durable once it was synced, as a plain one is, and what a power failure leaves of others is told.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::Stowed;
use crate::support::command::{Outcome, binary};
use crate::support::recording::python;

#[test]
fn a_file_is_made_durable_by_its_first_sync() {
    let stowed = Stowed::new();
    let script = "f = open('f', 'w'); f.write('x'); f.flush(); g = open('g', 'w'); g.write('x'); os.fsync(g)";
    stowed.shell_on_targets(&format!("{} -c \"import os; {script}\"", python()));
    let is_durable = |name: &str| {
        let marker = stowed.at(name).join("plimsoll-container");
        marker.metadata().unwrap().permissions().mode() & 0o200 != 0
    };
    assert!(!is_durable("f") && is_durable("g"));
    assert_eq!(stowed.shell("cat f g; sync f; rm g; ls"), "xxf\n");
    assert!(is_durable("f"));
}

#[test]
fn what_was_never_durable_is_told_and_can_be_removed() {
    let stowed = Stowed::new();
    stowed.shell("echo x > f; echo x > g");
    for name in ["f", "g"] {
        let marker = stowed.at(name).join("plimsoll-container");
        fs::remove_file(&marker).unwrap();
        fs::write(&marker, "").unwrap();
    }
    let read = stowed.run(&["cat", "f"]);
    assert_eq!(read.status, Some(1));
    assert!(read.stderr.contains("Input/output error"), "{}", read.stderr);
    let stow = |command: &str| -> Outcome {
        binary().args(["stow", command]).arg(stowed.at("g")).output().unwrap().into()
    };
    let told = stow("check").stderr;
    assert!(told.contains("never made durable") && told.contains("stow rm"), "{told}");
    assert_eq!(stow("rm").status, Some(0));
    assert_eq!(stowed.shell("rm f; ls -A"), "");
    assert_eq!(stowed.names(), [""; 0]);
}
