//! `plimsoll stow run`: unmodified programs whose files are containers.

mod astray;
mod away;
mod building;
mod durability;
mod everyday_tools;
mod exchanged;
mod formats;
mod held;
mod hostile;
mod like_plain;
mod limits;
mod masks;
mod names;
mod one_kernel;
mod outside;
mod ran;
mod read_again;
mod recorded;
mod shared;
mod small;
mod squatted;
mod standing;
mod targets;
mod window;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use plimsoll_trace::Op;

use crate::support::command::{Outcome, binary};
use crate::support::recording::{
    assert_nothing_lost, calls, library, processes, program, python, record,
};
use crate::support::storage::Storage;

/// A mount and two targets, and programs run in the mount.
struct Stowed {
    storage: Storage,
}

impl Stowed {
    fn new() -> Self {
        let storage = Storage::with_targets(2);
        fs::create_dir(storage.folder.path().join("mount")).unwrap();
        Stowed { storage }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.storage.folder.path().join("mount").join(name)
    }

    /// `plimsoll stow run OPTIONS -- `, to which a command is added, in the mount. Ended after a minute.
    fn command(&self, options: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", "60"]).arg(binary().get_program());
        command.args(["stow", "run", "--mount"]).arg(self.at("")).arg("--targets");
        command.args(&self.storage.targets).args(options).args(["--quiet", "--"]);
        command.current_dir(self.at("")).env("PLIMSOLL_LIBRARY", library()).env("NO_COLOR", "1");
        command.stdin(Stdio::null());
        command
    }

    fn run(&self, command: &[&str]) -> Outcome {
        self.command(&[]).args(command).output().unwrap().into()
    }

    /// What a shell printed that keeps small files on targets, too.
    #[track_caller]
    fn shell_on_targets(&self, script: &str) -> String {
        let mut command = self.command(&["--small", "0B"]);
        let outcome: Outcome = command.args(["bash", "-c", script]).output().unwrap().into();
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{script}");
        outcome.stdout
    }

    /// What a command printed that did its work and did not complain.
    #[track_caller]
    fn output(&self, command: &[&str]) -> String {
        let outcome = self.run(command);
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{command:?}");
        outcome.stdout
    }

    #[track_caller]
    fn shell(&self, script: &str) -> String {
        self.output(&["bash", "-c", script])
    }

    #[track_caller]
    fn python(&self, script: &str) -> String {
        self.output(&[python(), "-c", script])
    }

    /// What `plimsoll stow cat` says is in a container.
    #[track_caller]
    fn cat(&self, name: &str) -> Vec<u8> {
        let output = binary().args(["stow", "cat"]).arg(self.at(name)).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    /// What is really in the mount.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.at("")).unwrap();
        let mut names: Vec<String> =
            entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[test]
fn what_dd_wrote_is_a_container_that_other_programs_read_as_a_file() {
    let stowed = Stowed::new();
    let source = stowed.storage.folder.path().join("source");
    let bytes: Vec<u8> = (0..3_000_000_u64).map(|it| (it * it / 7 + it) as u8).collect();
    fs::write(&source, &bytes).unwrap();
    let source = source.to_str().unwrap();
    let outcome = stowed.run(&["dd", &format!("if={source}"), "of=x", "bs=100k"]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(stowed.at("x/plimsoll-container").is_file());
    assert_eq!(stowed.cat("x"), bytes);
    assert_eq!(stowed.output(&["cmp", "x", source]), "");
    assert_eq!(stowed.output(&["stat", "-c", "%s %F", "x"]), "3000000 regular file\n");
    // Both targets have a part of it.
    let logs = |target: &PathBuf| fs::read_dir(target).unwrap().count();
    assert_eq!(stowed.storage.targets.iter().map(logs).collect::<Vec<usize>>(), [1, 1]);
    let status = binary().args(["stow", "check"]).arg(stowed.at("x")).status().unwrap();
    assert!(status.success());
}

#[test]
fn shells_redirect_append_and_share_a_position() {
    let stowed = Stowed::new();
    assert_eq!(stowed.shell("echo one > f; echo two >> f; cat < f"), "one\ntwo\n");
    // Processes that share a descriptor, at the same time: nothing is lost.
    let script = "for i in $(seq 40); do (echo line $i) & done > all; wait; sort -u all | wc -l; wc -l < all";
    assert_eq!(stowed.shell(script), "40\n40\n");
    // Processes that append to one file, each by a descriptor of its own.
    let script = "for i in 1 2 3 4; do (for j in $(seq 50); do echo $i $j; done >> ends) & done; wait; sort -u ends | wc -l; wc -l < ends";
    assert_eq!(stowed.shell(script), "200\n200\n");
    assert_eq!(
        stowed.shell(
            "{ read a; read b; echo $b $a; } < f; exec 7<>f; read -u7 x; echo three >&7; cat f"
        ),
        "two one\none\nthree\n"
    );
    assert_eq!(stowed.cat("f"), b"one\nthree\n");
    assert_eq!(stowed.shell("ls none 2> error; wc -l < error; exec > out; echo kept"), "1\n");
    assert_eq!(stowed.cat("out"), b"kept\n");
}

#[test]
fn names_are_those_of_regular_files_and_are_given_and_taken_as_such() {
    let stowed = Stowed::new();
    let script = "mkdir d; echo 1 > d/a; echo 22 > b; ln -s b l; ls -l d | tail -1 | cut -c1-10; \
        find . -type f | sort; find . -type d | sort; cat l; test -f b && test ! -d b && echo file; \
        mv b d/a; cat d/a; ls; chmod 640 d/a; touch -d @1000 d/a; stat -c '%a %Y %s' d/a; rm -r d; ls -A";
    let told = "-rw-r--r--\n./b\n./d/a\n.\n./d\n22\nfile\n22\nd\nl\n640 1000 3\nl\n";
    let outcome: Outcome = stowed
        .command(&[])
        .args(["bash", "-c", &format!("umask 022; {script}")])
        .output()
        .unwrap()
        .into();
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), (told, ""));
    assert_eq!(stowed.names(), ["l"]);
    stowed.storage.assert_nothing_left();
}

#[test]
fn a_file_that_is_removed_stays_until_its_last_holder_is_gone() {
    let stowed = Stowed::new();
    let script = "
import os
f = open('f', 'w+'); f.write('still here'); f.flush(); os.unlink('f')
assert os.listdir('.') == [] and not os.path.exists('f')
f.seek(0); assert f.read() == 'still here'
open('f', 'w').write('another')
if os.fork() == 0:
    f.seek(6); print(f.read(), end=' ', flush=True); os._exit(0)
os.wait()
f.seek(0); print(f.read(), open('f').read()); f.close(); os.unlink('f')
g = open('g', 'w'); g.write('x'); g.flush(); os.unlink('g'); os.kill(os.getpid(), 9)";
    let outcome = stowed.run(&[python(), "-c", script]);
    assert_eq!(
        (outcome.stdout.as_str(), outcome.stderr.as_str()),
        ("here still here another\n", "")
    );
    assert_eq!(stowed.names(), [""; 0]);
    stowed.storage.assert_nothing_left();
}

/// Who may write to the directory can give a container of another such a name.
#[test]
fn only_what_its_owner_removed_is_discarded() {
    let stowed = Stowed::new();
    stowed.shell("echo precious > x");
    let hidden = ".plimsoll-stow-gone-0123456789abcdef";
    fs::rename(stowed.at("x"), stowed.at(hidden)).unwrap();
    stowed.output(&["true"]);
    fs::rename(stowed.at(hidden), stowed.at("x")).unwrap();
    assert_eq!(stowed.output(&["cat", "x"]), "precious\n");
}

#[test]
fn a_kill_loses_nothing_that_returned() {
    let stowed = Stowed::new();
    let script = "
import os, sys
f = os.open('f', os.O_CREAT | os.O_WRONLY)
for i in range(1000000):
    os.write(f, b'%07d\\n' % i); sys.stdout.write('%d\\n' % i); sys.stdout.flush()";
    let mut command = stowed.command(&[]);
    let mut child = command.args([python(), "-c", script]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut last = 0;
    for _ in 0..3000 {
        last = lines.next().unwrap().unwrap().parse::<u64>().unwrap();
    }
    // The writer itself, which is the youngest of the group.
    let python = format!("pgrep -f -P $(pgrep -P {}) | head -1", child.id());
    let found = Command::new("bash").args(["-c", &python]).output().unwrap();
    let writer = String::from_utf8(found.stdout).unwrap().trim().to_string();
    assert!(Command::new("kill").args(["-9", &writer]).status().unwrap().success(), "{writer}");
    for line in lines.map_while(Result::ok) {
        last = line.parse().unwrap();
    }
    child.wait().unwrap();
    let bytes = stowed.cat("f");
    let written: Vec<&str> = str::from_utf8(&bytes).unwrap().lines().collect();
    assert!(written.len() as u64 > last, "{} of {last}", written.len());
    let is_right = |(number, line): (usize, &&str)| line.parse() == Ok(number);
    assert!(written.iter().enumerate().all(is_right));
}

#[test]
fn by_variables_alone_and_only_what_is_wanted() {
    let stowed = Stowed::new();
    let targets: Vec<&str> = stowed.storage.targets.iter().map(|it| it.to_str().unwrap()).collect();
    let mut command = Command::new("bash");
    command.args(["-c", "echo 1 > a.h5; env -i bash -c 'echo 2 > b.h5'; echo 3 > log; cat *"]);
    command.current_dir(stowed.at("")).env("LD_PRELOAD", library());
    command.env("PLIMSOLL_STOW_MOUNT", stowed.at("")).env("PLIMSOLL_STOW_ONLY", "*.h5");
    let outcome: Outcome =
        command.env("PLIMSOLL_STOW_TARGETS", targets.join(",")).output().unwrap().into();
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("1\n2\n3\n", ""));
    assert!(stowed.at("a.h5").is_dir() && stowed.at("b.h5").is_dir() && stowed.at("log").is_file());
    let mut command = stowed.command(&["--except", "*.txt", "--policy", "static"]);
    let status = command.args(["bash", "-c", "echo > x.txt; echo > y"]).status().unwrap();
    assert!(status.success() && stowed.at("x.txt").is_file() && stowed.at("y").is_dir());
}

#[test]
fn every_kind_of_call_is_served() {
    let served = program("served.c", "cc", &[]);
    for group in [
        "streams",
        "transfers",
        "refused_transfers",
        "refused_blocks",
        "directories",
        "attributes",
        "closes",
    ] {
        let stowed = Stowed::new();
        stowed.output(&[served.to_str().unwrap(), group]);
        let hidden = stowed.names().into_iter().find(|it| it.starts_with(".plimsoll"));
        assert_eq!(hidden, None, "{group}");
    }
}

#[test]
fn a_program_is_recorded_as_it_sees_its_files() {
    let stowed = Stowed::new();
    let rec = stowed.storage.folder.path().join("rec");
    let mut command = record(&rec);
    command.args(["--layers", "mpi,stdio,posix", "--"]).arg(binary().get_program());
    command.args(["stow", "run", "--mount"]).arg(stowed.at("")).arg("--targets");
    command.args(&stowed.storage.targets).args(["--quiet", "--"]);
    command.args(["dd", "if=/dev/zero", "bs=10000", "count=7", "status=none"]);
    let outcome: Outcome = command
        .arg(format!("of={}", stowed.at("x").display()))
        .env("PLIMSOLL_LIBRARY", library())
        .output()
        .unwrap()
        .into();
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    let mut recorded = processes(&rec);
    recorded.retain(|it| it.program.contains("dd"));
    assert_eq!(calls(&recorded, Op::Write, "mount/x"), (7, 70000));
    let names = recorded.iter().flat_map(|it| it.files.values());
    let of_ours: Vec<&String> = names.filter(|it| it.contains("plimsoll-stow")).collect();
    assert_eq!(of_ours, [""; 0], "the library's own files are not the program's");
    assert_nothing_lost(&recorded);
    assert_eq!(stowed.cat("x"), vec![0; 70000]);
}
