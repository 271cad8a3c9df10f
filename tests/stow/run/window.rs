//! The policy `window` inside of programs: where segments go, and that nothing a program does gets in its way.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::Stowed;
use crate::support::bed::Bed;
use crate::support::busy_machine::measured_until_right;
use crate::support::command::{Outcome, binary};
use crate::support::recording::{library, python};

/// Three targets with limits, the last one slow, and a mount beside them.
struct Uneven {
    bed: Bed,
}

impl Uneven {
    fn up() -> Option<Self> {
        let bed = Bed::up(3, "64MiB")?;
        for limit in ["t0 24MiB/s", "t1 24MiB/s", "t2 1MiB/s"] {
            bed.testbed(&format!("slow {limit}"));
        }
        let uneven = Uneven { bed };
        fs::create_dir(uneven.mount()).unwrap();
        Some(uneven)
    }

    fn mount(&self) -> PathBuf {
        self.bed.folder.path().join("mount")
    }

    fn run(&self, options: &[&str], script: &str) -> Outcome {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", "100"]).arg(binary().get_program());
        command.args(["stow", "run", "--testbed", "default", "--base"]).arg(self.bed.folder.path());
        command.arg("--mount").arg(self.mount()).args(options).args(["--", python(), "-c", script]);
        command.current_dir(self.mount()).env("PLIMSOLL_LIBRARY", library());
        command.output().unwrap().into()
    }
}

/// Three processes write a file of 36 MB in turns.
const IN_TURNS: &str = "
import os
children = []
for rank in range(3):
    child = os.fork()
    if child == 0:
        f = os.open('x', os.O_CREAT | os.O_WRONLY)
        for i in range(300): os.pwrite(f, bytes([rank * 80 + i % 80]) * 40000, (i * 3 + rank) * 40000)
        os.fsync(f); os._exit(0)
    children.append(child)
assert all(os.waitpid(child, 0)[1] == 0 for child in children)
f = os.open('x', os.O_RDONLY)
for i in range(900):
    assert os.pread(f, 40000, i * 40000) == bytes([i % 3 * 80 + i // 3 % 80]) * 40000, i";

fn held_by(container: &Path) -> Vec<u64> {
    let mut command = binary();
    let outcome: Outcome =
        command.args(["stow", "info", "--json"]).arg(container).output().unwrap().into();
    let document: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let targets = document["result"]["targets"].as_array().unwrap().iter();
    targets.map(|it| it["bytes"].as_u64().unwrap()).collect()
}

#[test]
fn a_slow_target_gets_little_of_what_several_processes_write() {
    let Some(bed) = Uneven::up() else { return };
    for options in [&[][..], &["--buffer", "0B"]] {
        measured_until_right(|| {
            let outcome = bed.run(options, IN_TURNS);
            assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
            let held = held_by(&bed.mount().join("x"));
            fs::remove_dir_all(bed.mount().join("x")).unwrap();
            let all: u64 = held.iter().sum();
            assert_eq!(all, 36_000_000);
            // Its fair share by speed is a fiftieth; each process may begin there.
            if held[2] >= all / 6 {
                return Err(format!("{options:?}: the slow target has {held:?}"));
            }
            // The run says the same, and how fast that was.
            let line = &outcome.stderr;
            assert!(line.starts_with("plimsoll: wrote 34.3 MiB to 3 targets in "), "{line}");
            // What a limit lets pass at once may make a short run faster than it.
            let is_told = line.contains(" of what they take together;")
                || line.contains(", more than they take");
            assert!(is_told && line.contains("; t0 "), "{line}");
            let little = line.split_once("; less than half of an equal share went to ");
            // What slot pages take counts there, too.
            if !little.is_some_and(|(_, names)| names.contains("t2")) {
                return Err(format!("{options:?}: {held:?}, and {line}"));
            }
            Ok(())
        });
    }
}

/// What a process shares with others about the targets.
fn memory_of(process: u32) -> PathBuf {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
    let line = maps.lines().find(|it| it.contains("/dev/shm/plimsoll-"));
    let at = line.unwrap_or_else(|| panic!("it shares nothing: {maps}")).find("/dev/shm").unwrap();
    PathBuf::from(&line.unwrap()[at..])
}

#[test]
fn a_process_that_is_killed_keeps_nobody_waiting_and_loses_nothing_that_returned() {
    let stowed = Stowed::new();
    let script = "
import os, sys, time
if (victim := os.fork()) == 0:
    f = os.open('f', os.O_CREAT | os.O_WRONLY)
    for i in range(1000000):
        os.pwrite(f, b'%07d\\n' % i * 5000, i % 1000 * 40000); print(i, flush=True)
os.wait()
f = os.open('f', os.O_WRONLY)
for i in range(100): os.pwrite(f, b'another\\n' * 5000, (1000 + i) * 40000)
time.sleep(60)";
    let mut command = stowed.command(&[]);
    let mut child = command.args([python(), "-c", script]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut last = 0;
    for _ in 0..150 {
        last = lines.next().unwrap().unwrap().parse::<usize>().unwrap();
    }
    // Of `timeout`: `stow run`, the parent, and the one that writes.
    let child_of = |parent: u32| -> u32 {
        let text = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap();
        text.trim().parse().unwrap()
    };
    let parent = child_of(child_of(child.id()));
    let kill = |process: u32| {
        let status = Command::new("kill").args(["-9", &process.to_string()]).status().unwrap();
        assert!(status.success());
    };
    let victim = child_of(parent);
    let memory = memory_of(victim);
    assert!(memory.exists());
    kill(victim);
    // Until the parent has written, too.
    let size = || fs::read_dir(stowed.at("f")).map(|_| stowed.cat("f").len()).unwrap_or(0);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while size() < 1100 * 40000 {
        assert!(std::time::Instant::now() < deadline, "the other one waits");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    kill(parent);
    for line in lines.map_while(Result::ok) {
        last = line.parse().unwrap();
    }
    child.wait().unwrap();
    let bytes = stowed.cat("f");
    for at in 0..1000 {
        let record = &bytes[at * 40000..(at + 1) * 40000];
        let is_of = |number: usize| record == format!("{number:07}\n").repeat(5000).as_bytes();
        // The last one that was written there returned, or is the one during which it was killed.
        let returned = (at..=last).step_by(1000).last();
        let is_right = match returned {
            Some(number) => is_of(number) || (number + 1000 == last + 1 && is_of(last + 1)),
            None => record.iter().all(|it| *it == 0) || (at == last + 1 && is_of(at)),
        };
        assert!(is_right, "record {at} of {last}");
    }
    assert!(bytes[1000 * 40000..] == b"another\n".repeat(100 * 5000)[..]);
    assert!(!memory.exists(), "{memory:?} is left");
}

#[test]
fn threads_forks_handlers_and_programs_that_close_everything_write_what_they_mean() {
    let stowed = Stowed::new();
    let script = "
import os, signal, threading, sys
BLOCK = 300000
def block(number): return bytes([number % 251]) * BLOCK
def fill(name, numbers):
    f = os.open(name, os.O_CREAT | os.O_WRONLY)
    for number in numbers: os.pwrite(f, block(number), number * BLOCK)
    os.close(f)
def check(name, count):
    with open(name, 'rb') as f:
        for number in range(count): assert f.read(BLOCK) == block(number), (name, number)
        assert f.read() == b''
# Threads: a file of each, and one of all, while others fork and write, too.
threads = [threading.Thread(target=fill, args=(f't{i}', range(12))) for i in range(3)]
threads += [threading.Thread(target=fill, args=('all', range(i, 40, 4))) for i in range(3)]
[it.start() for it in threads]
children = []
for i in range(4):
    child = os.fork()
    if child == 0: fill('all', range(3 + 4 * i, 40, 16)); fill(f'c{i}', range(12)); os._exit(0)
    children.append(child)
[it.join() for it in threads]
assert all(os.waitpid(child, 0)[1] == 0 for child in children)
check('all', 40)
for name in ['t0', 't1', 't2', 'c0', 'c1', 'c2', 'c3']: check(name, 12)
# A handler that writes whenever it is called.
ticks = os.open('ticks', os.O_CREAT | os.O_WRONLY); count = 0
def handler(*_):
    global count
    os.write(ticks, block(count)); count += 1
    signal.setitimer(signal.ITIMER_REAL, 0.002)
signal.signal(signal.SIGALRM, handler); handler()
for i in range(20): fill('interrupted', range(12))
signal.signal(signal.SIGALRM, signal.SIG_IGN); check('interrupted', 12); check('ticks', count)
# Everything is closed that the program does not know.
f = os.open('f', os.O_CREAT | os.O_WRONLY)
for number in range(8): os.pwrite(f, block(number), number * BLOCK)
for fd in range(3, 5000):
    if fd != f:
        try: os.close(fd)
        except OSError: pass
for number in range(8, 16): os.pwrite(f, block(number), number * BLOCK)
check('f', 16)
# What is not closed when another program takes its place is there.
g = os.open('g', os.O_CREAT | os.O_WRONLY)
for number in range(8): os.write(g, block(number))
os.dup2(g, 1)
os.execvp('bash', ['bash', '-c', 'head -c 300000 /dev/zero | tr \"\\\\0\" \"\\\\10\"'])";
    assert_eq!(stowed.python(script), "");
    let whole: Vec<u8> = (0..9_u8).flat_map(|it| vec![it; 300_000]).collect();
    assert!(stowed.cat("g") == whole);
}
