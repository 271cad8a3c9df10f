//! Recordings that are spooled elsewhere come home, however the program and the wrapper end.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use plimsoll_trace::Op;
use rustix::process::{Pid, Signal, kill_process};

use super::assert_writes;
use crate::support::command::{Outcome, binary};
use crate::support::recording::{calls, processes, program, record};

#[test]
fn a_spool_is_brought_home_also_after_a_kill() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let out = folder.path().join("out");
    let traps = program("traps.c", "cc", &[]);
    for name in ["plain", "killed"] {
        let (rec, spool) = (folder.path().join(name), folder.path().join(format!("{name}-spool")));
        let outcome: Outcome = record(&rec)
            .arg("--spool")
            .arg(&spool)
            .arg("--")
            .args([traps.to_str().unwrap(), name, out.to_str().unwrap(), "700"])
            .output()
            .unwrap()
            .into();
        assert_eq!(
            outcome.status,
            if name == "plain" { Some(0) } else { None },
            "{}",
            outcome.stderr
        );
        assert_writes(&processes(&rec), 700);
        assert!(!spool.exists() || fs::read_dir(&spool).unwrap().count() == 0, "{name}");
    }
}

/// A batch system ends a job by a signal to the process that it knows, which is the wrapper.
#[test]
fn a_signal_to_the_wrapper_is_the_programs_and_its_recording_comes_home() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let (rec, spool, ready) =
        (folder.path().join("rec"), folder.path().join("spool"), folder.path().join("ready"));
    // A shell's child that is told to end before it has become its program forgets that.
    let with_child = "trap 'kill $!; exit 7' TERM; sh -c \"echo > READY.child; exec sleep 100\" & \
         until [ -e READY.child ]; do sleep 0.01; done; echo $$ > READY; wait";
    for (script, expected) in [("echo $$ > READY; exec sleep 100", None), (with_child, Some(7))] {
        let script = script.replace("READY", ready.to_str().unwrap());
        let _ = fs::remove_file(&ready);
        let mut child = record(&rec)
            .arg("--spool")
            .arg(&spool)
            .args(["--", "sh", "-c", &script])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let pid = loop {
            let text = fs::read_to_string(&ready).unwrap_or_default();
            match text.trim().parse::<i32>() {
                Ok(pid) => break pid,
                Err(_) => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.code(), expected, "{status}");
        assert!(expected.is_some() || status.signal() == Some(15), "143 for a shell: {status}");
        let program = Path::new("/proc").join(pid.to_string());
        assert!(!program.exists(), "the program has ended too");
        assert_eq!(fs::read_dir(&spool).into_iter().flatten().count(), 0, "nothing is left");
        assert!(
            processes(&rec)
                .iter()
                .any(|it| it.program.ends_with("sh") || it.program.ends_with("sleep"))
        );
        fs::remove_dir_all(&rec).unwrap();
    }
}

/// Writes "first", says so, waits for a line, and writes "second".
const IN_TWO_PARTS: [&str; 3] =
    ["sh", "-c", "echo 1 > first; : > ready; read word < go; echo 22 > second"];

/// A program that is being recorded into a spool, by a command that runs what is behind it.
struct Spooled {
    folder: tempfile::TempDir,
    child: Child,
}

impl Spooled {
    /// Begins, and waits until the first part is written.
    fn start(by: &[&str], program: &[&str]) -> Self {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let at = |name: &str| folder.path().join(name);
        assert!(Command::new("mkfifo").arg(at("go")).status().unwrap().success());
        let inner = record(&at("rec"));
        let mut command = Command::new(by[0]);
        command.args(&by[1..]).arg(inner.get_program());
        command.args(inner.get_args()).arg("--spool").arg(at("spool"));
        for (name, value) in inner.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        command.arg("--").args(program).current_dir(folder.path());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        while !at("ready").exists() {
            assert!(child.try_wait().unwrap().is_none(), "it has ended");
            std::thread::sleep(Duration::from_millis(5));
        }
        Self { folder, child }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn collect(&self, more: &[&str]) -> Outcome {
        let mut command = binary();
        command.args(["record", "--collect"]).arg(self.at("rec"));
        command.arg("--spool").arg(self.at("spool")).args(more).output().unwrap().into()
    }

    /// Somebody collects while it runs, and it loses nothing.
    fn assert_left_alone(mut self) {
        let outcomes = [self.collect(&[]), self.collect(&["--ended"])];
        fs::write(self.at("go"), "on\n").unwrap();
        assert!(self.child.wait().unwrap().success());
        for outcome in outcomes {
            assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
            assert!(outcome.stdout.contains("files collected      0"), "{}", outcome.stdout);
        }
        let processes = processes(&self.at("rec"));
        assert_eq!(calls(&processes, Op::Write, "/first"), (1, 2));
        assert_eq!(calls(&processes, Op::Write, "/second"), (1, 3));
    }
}

impl Drop for Spooled {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn can(unshare: &[&str]) -> bool {
    let can = Command::new(unshare[0]).args(&unshare[1..]).arg("true").output();
    let can = can.is_ok_and(|it| it.status.success());
    if !can {
        eprintln!("SKIPPED: needs {}, which root can", unshare.join(" "));
    }
    can
}

const CONTAINER: [&str; 5] = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"];

/// No attack: somebody collects what a crash left, while a program still writes to the same spool: in a container (other process ids), by
/// another clock, or with its first thread ended.
#[test]
fn collecting_takes_nothing_from_a_process_that_still_runs() {
    let other_clock = ["unshare", "--time", "--monotonic", "100000", "--fork", "--kill-child"];
    for by in [&CONTAINER[..], &other_clock] {
        if can(by) {
            Spooled::start(by, &IN_TWO_PARTS).assert_left_alone();
        }
    }
    let program = program("first_ends.c", "cc", &[]);
    Spooled::start(&["env"], &[program.to_str().unwrap()]).assert_left_alone();
}

/// Every container has processes 1, 2, 3: any of them, of anybody, kept what was killed in another one from being collected.
#[test]
fn what_was_killed_in_a_container_is_collected_although_another_has_its_numbers() {
    if !can(&CONTAINER) {
        return;
    }
    let mut spooled = Spooled::start(&CONTAINER, &IN_TWO_PARTS);
    spooled.child.kill().unwrap();
    spooled.child.wait().unwrap();
    let mut other = Command::new(CONTAINER[0]);
    other.args(&CONTAINER[1..]).args(["sh", "-c"]);
    let script = "for number in 2 3 4 5 6 7 8 9; do sleep 1000 & done; : > up; wait";
    let mut other = other.arg(script).current_dir(spooled.folder.path()).spawn().unwrap();
    while !spooled.at("up").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    // The kernel takes a moment to end all that was killed.
    let mut outcome = spooled.collect(&[]);
    for _ in 0..1000 {
        if !outcome.stdout.contains("files collected      0") {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
        outcome = spooled.collect(&[]);
    }
    let _ = other.kill();
    let _ = other.wait();
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(outcome.stdout.contains("files collected      1"), "{}", outcome.stdout);
    assert_eq!(calls(&processes(&spooled.at("rec")), Op::Write, "/first"), (1, 2));
}

/// What a killed process of another recording left in the same spool was taken for this one's.
#[test]
fn a_recording_takes_nothing_of_another_in_the_same_spool() {
    let mut killed = Spooled::start(&["env"], &IN_TWO_PARTS);
    let spool = killed.at("spool");
    let pid = program_of(&spool);
    // The wrapper first, which would bring it home.
    killed.child.kill().unwrap();
    killed.child.wait().unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    let other = killed.at("other");
    let mut command = record(&other);
    command.arg("--spool").arg(&spool).args(["--", "sh", "-c", "echo 333 > third"]);
    assert!(command.current_dir(killed.folder.path()).status().unwrap().success());
    let of_other = processes(&other);
    assert_eq!(calls(&of_other, Op::Write, "/first"), (0, 0));
    assert_eq!(calls(&of_other, Op::Write, "/third"), (1, 4));
    let mut command = binary();
    command.args(["record", "--collect"]).arg(&other).arg("--spool").arg(&spool);
    let outcome: Outcome = command.output().unwrap().into();
    assert!(outcome.stdout.contains("of other recordings  1"), "{}", outcome.stdout);
    // The kernel takes a moment to end it.
    let mut outcome = killed.collect(&[]);
    for _ in 0..1000 {
        if !outcome.stdout.contains("files collected      0") {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
        outcome = killed.collect(&[]);
    }
    assert!(outcome.stdout.contains("files collected      1"), "{}", outcome.stdout);
    assert_eq!(calls(&processes(&killed.at("rec")), Op::Write, "/first"), (1, 2));
}

/// The number of the process whose file is in a spool (HOST-PID-TIME.rec).
fn program_of(spool: &Path) -> i32 {
    let mut names = fs::read_dir(spool).unwrap().map(|it| it.unwrap().file_name());
    let name = names.next().unwrap().into_string().unwrap();
    let (host_and_pid, _) = name.rsplit_once('-').unwrap();
    host_and_pid.rsplit_once('-').unwrap().1.parse().unwrap()
}
