//! Pipes in the place of files that are read.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::support::attacker::Attacker;
use crate::support::command::{Outcome, binary};

/// Everything that reads a file which its user names.
const READERS: [&str; 9] = [
    "simulate ./F",
    "simulate quiet --no-sweep --seeds 1 --site F",
    "score --from-csv F --value a",
    "site check F",
    "site show F",
    "site init --update -o F",
    "bench F -o out",
    "calibrate --target ost0 --site F",
    "model contention --jobs 4 --per-job 160 --site F",
];

/// Runs the program by a shell; whatever takes that long hangs.
fn run(folder: &Path, arguments: &str) -> Outcome {
    let mut command = Command::new("timeout");
    let program = binary().get_program().to_owned();
    command.args(["60", "bash", "-c"]).arg(format!("\"$PLIMSOLL\" {arguments}"));
    command.env("PLIMSOLL", program).env("NO_COLOR", "1").current_dir(folder);
    let outcome: Outcome = command.output().unwrap().into();
    assert_ne!(outcome.status, Some(124), "it hangs: {arguments}");
    outcome
}

/// One error, in these words.
#[track_caller]
fn assert_refused_with(outcome: &Outcome, words: &str) {
    assert_eq!(outcome.status, Some(2), "{} {}", outcome.stdout, outcome.stderr);
    let errors = outcome.stderr.lines().filter(|line| line.starts_with("error: "));
    assert_eq!(errors.count(), 1, "{}", outcome.stderr);
    assert!(outcome.stderr.contains(words), "{}", outcome.stderr);
}

#[test]
fn pipes_that_another_user_plants_are_not_waited_for() {
    if !Attacker::can_be_had() {
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    Attacker::does(folder.path(), "mkfifo -m 666 F");
    // The worst of them: somebody holds the other end, and never writes.
    let holder = Attacker::repeats(folder.path(), "sleep 1000 3<> F");
    for reader in READERS {
        let outcome = run(folder.path(), reader);
        assert_refused_with(&outcome, "it is a pipe of user 65533");
    }
    drop(holder);
    // Links to what is the victim's own, or to a device.
    for (plant, words) in [
        ("rm F; ln -s mine F", "it is a symlink to something that is not a regular file"),
        ("rm F; ln -s /dev/zero F", "it is a symlink to something that is not a regular file"),
    ] {
        let mine = folder.path().join("mine");
        let _ = fs::remove_file(&mine);
        assert!(Command::new("mkfifo").arg(&mine).status().unwrap().success());
        Attacker::does(folder.path(), plant);
        for reader in READERS {
            assert_refused_with(&run(folder.path(), reader), words);
        }
    }
}

#[test]
fn a_pipe_of_ones_own_that_nobody_writes_to_is_told() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    assert!(Command::new("mkfifo").arg(folder.path().join("F")).status().unwrap().success());
    let outcome = run(folder.path(), READERS[2]);
    assert_refused_with(&outcome, "it is a pipe that nobody writes to (start its writer first)");
}

#[test]
fn pipes_that_somebody_writes_to_are_read() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    fs::write(folder.path().join("table.csv"), "a,b\n1,2\n3,4\n").unwrap();
    assert!(Command::new("mkfifo").arg(folder.path().join("pipe")).status().unwrap().success());
    let read = "score --json --value a --from-csv";
    let expected = run(folder.path(), &format!("{read} table.csv"));
    assert_eq!(expected.status, Some(0), "{}", expected.stderr);
    for way in [
        "<(cat table.csv)",
        "<(sleep 0.3; cat table.csv)",
        "/dev/stdin < table.csv",
        "/dev/stdin < <(cat table.csv)",
        "pipe & cat table.csv > pipe; wait",
        "pipe < <(cat table.csv > pipe)",
    ] {
        let outcome = run(folder.path(), &format!("{read} {way}"));
        assert_eq!(outcome.status, Some(0), "{way}: {}", outcome.stderr);
        assert!(outcome.stdout.contains("\"n\": 2"), "{way}: {}", outcome.stdout);
    }
}
