//! `plimsoll doctor` tells the truth about this machine and about a captured one.

use crate::command::{binary, json};

#[test]
fn says_what_is_found_and_what_to_do() {
    let result = json("doctor");
    let checks = result["checks"].as_array().unwrap();
    for name in [
        "root",
        "loop devices",
        "block limits",
        "Lustre",
        "clock",
        "MPI",
        "FUSE",
        "kernel counters",
        "preload library",
    ] {
        assert!(checks.iter().any(|check| check["name"] == name), "no check of {name}");
    }
    let missing: Vec<_> = checks.iter().filter(|check| check["state"] == "missing").collect();
    assert_eq!(result["missing"], missing.len());
    assert_eq!(result["advice"].as_array().unwrap().len(), missing.len(), "advice for each");
    let root = checks.iter().find(|check| check["name"] == "root").unwrap();
    let is_root = rustix::process::geteuid().is_root();
    assert_eq!(root["state"], if is_root { "ok" } else { "missing" });
}

#[test]
fn a_captured_machine_with_nothing_is_described_not_refused() {
    let empty = tempfile::tempdir().unwrap();
    let output = binary().arg("doctor").arg("--root").arg(empty.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("no /dev/loop-control"), "{text}");
}
