//! `plimsoll doctor` tells the truth about this machine and about a captured one.

use crate::support::command::{binary, json};
use crate::support::recording::has;

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
    let absent = checks.iter().filter(|check| check["state"] != "ok").count();
    assert_eq!(result["advice"].as_array().unwrap().len(), absent, "advice for each");
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

/// Several MPIs may be installed, and each has its own libraries: a job needs those of its launcher.
#[test]
fn names_the_mpi_that_mpirun_belongs_to() {
    for mpi in ["openmpi", "mpich"] {
        let launcher = format!("mpirun.{mpi}");
        if !has(&[&launcher]) {
            continue;
        }
        let path = std::env::var("PATH").unwrap();
        let real =
            std::env::split_paths(&path).map(|it| it.join(&launcher)).find(|it| it.is_file());
        let first = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(real.unwrap(), first.path().join("mpirun")).unwrap();
        let output = binary()
            .args(["doctor", "--json"])
            .env("PATH", format!("{}:{path}", first.path().display()))
            .output()
            .unwrap();
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let checks = document["result"]["checks"].as_array().unwrap();
        let found =
            checks.iter().find(|it| it["name"] == "MPI").unwrap()["found"].as_str().unwrap();
        let name = if mpi == "openmpi" { "Open MPI" } else { "MPICH" };
        assert!(found.contains(&format!("mpirun of {name} ")), "{mpi}: {found}");
    }
}
