//! Programs that recorders and their like stumble over, below a mount: each writes as in a plain directory.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use super::Stowed;
use crate::support::command::{Outcome, binary};
use crate::support::recording::{program, record};

/// A trap of tests/programs/traps.c below a mount, and what the same wrote in a plain directory.
struct Trapped {
    stowed: Stowed,
    outcome: Outcome,
    plain: PathBuf,
}

impl Trapped {
    fn run(options: &[&str], program: &PathBuf, arguments: &[&str]) -> Self {
        let stowed = Stowed::new();
        let plain = stowed.storage.folder.path().join("plain");
        fs::create_dir(&plain).unwrap();
        let ordinary: Outcome =
            Command::new(program).args(arguments).current_dir(&plain).output().unwrap().into();
        let outcome: Outcome =
            stowed.command(options).arg(program).args(arguments).output().unwrap().into();
        // A kill is 137 where `stow run` waited for it.
        let killed = |status: Option<i32>| status.unwrap_or(137);
        if arguments[0] != "sandbox" {
            let statuses = (killed(outcome.status), killed(ordinary.status));
            assert_eq!(statuses.0, statuses.1, "{arguments:?}: {}", outcome.stderr);
        }
        Trapped { stowed, outcome, plain: plain.join("out") }
    }

    #[track_caller]
    fn assert_same(&self, name: &str) {
        assert!(self.stowed.cat("out") == fs::read(&self.plain).unwrap(), "{name}");
        let check: Outcome =
            binary().args(["stow", "check"]).arg(self.stowed.at("out")).output().unwrap().into();
        assert_eq!(check.status, Some(0), "{name}: {}", check.stderr);
    }
}

fn trapped(name: &str, count: u32) -> Trapped {
    trapped_with(&[], name, count)
}

fn trapped_with(options: &[&str], name: &str, count: u32) -> Trapped {
    Trapped::run(options, &program("traps.c", "cc", &[]), &[name, "out", &count.to_string()])
}

/// A lock that a thread held when another one forked must not stay with the child.
#[test]
fn children_that_are_forked_beside_threads_wait_for_nobody_who_is_gone() {
    let stowed = Stowed::new();
    let app = program("forked_beside.c", "cc", &["-pthread"]);
    for options in [&[][..], &ON_TARGETS] {
        let outcome: Outcome =
            stowed.command(options).arg(&app).arg("600").output().unwrap().into();
        assert_eq!(outcome.status, Some(0), "{options:?}: {}", outcome.stderr);
    }
}

/// Has all files on targets, the small ones too.
const ON_TARGETS: [&str; 2] = ["--small", "0B"];

#[test]
fn programs_with_threads_forks_and_sudden_ends_write_the_same() {
    for (name, count) in [
        ("plain", 3000),
        ("threads", 1000),
        ("crowd", 2000),
        ("forks", 300),
        ("vforks", 30),
        ("exec", 300),
        ("cancels", 100),
        ("close_all", 300),
        ("killed", 300),
        ("quick", 300),
        ("silent", 300),
        ("file_size", 300),
        ("errors", 30),
    ] {
        trapped(name, count).assert_same(name);
        trapped_with(&ON_TARGETS, name, count).assert_same(name);
    }
    let own_getenv = program("own_getenv.c", "cc", &[]);
    Trapped::run(&[], &own_getenv, &["out"]).assert_same("own getenv");
}

/// That of a thread may be of a few pages, and so may that of a handler which tells of a fault.
#[test]
fn a_small_stack_is_large_enough() {
    for (name, count) in [("small_stacks", 5), ("faults", 100)] {
        trapped(name, count).assert_same(name);
    }
}

#[test]
fn handlers_write_while_the_program_writes() {
    let signals = trapped("signals", 20_000);
    assert_ne!(signals.outcome.stdout, "0\n");
    signals.assert_same("signals");
}

/// It outlives what started it, and has no descriptors when it begins to write.
#[test]
fn a_daemon_writes_the_same() {
    let daemon = trapped("daemon", 300);
    let deadline = Instant::now() + Duration::from_secs(30);
    let is_done = |path: PathBuf| path.exists();
    while !is_done(daemon.stowed.at("out.done")) || !is_done(daemon.plain.with_extension("done")) {
        assert!(Instant::now() < deadline, "the daemon is not done");
        std::thread::sleep(Duration::from_millis(20));
    }
    daemon.assert_same("daemon");
}

/// Nothing that was written is lost, and what could not be looked at is told.
#[test]
fn a_sandbox_without_files_is_told_at_the_end() {
    let small = trapped("sandbox", 100);
    assert_eq!((small.outcome.status, small.outcome.stderr.as_str()), (Some(0), ""));
    small.assert_same("a small file in a sandbox");
    let sandbox = trapped_with(&ON_TARGETS, "sandbox", 300);
    let told = &sandbox.outcome.stderr;
    assert!(told.contains("close(fd) == 0: Operation not permitted"), "{told}");
    sandbox.assert_same("sandbox");
}

/// The library begins on a stack of its own where the program has next to none.
#[test]
fn a_program_with_next_to_no_stack_begins() {
    let stowed = Stowed::new();
    assert_eq!(stowed.shell("(ulimit -s 64; exec /bin/echo hello) > out; cat out"), "hello\n");
    let rec = stowed.storage.folder.path().join("rec");
    let mut command = record(&rec);
    command.args(["--", "bash", "-c", "(ulimit -s 64; exec /bin/echo hello)"]);
    let outcome: Outcome = command.output().unwrap().into();
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(0), "hello\n"));
}
