//! `stow run` below `record`: the program's calls by the names that it uses, and what its containers did to their logs as a layer of its own.

use serde_json::Value;

use super::Stowed;
use crate::support::command::{Outcome, binary, json};
use crate::support::recording::{assert_nothing_lost, processes, python, record};

const MIB: u64 = 1 << 20;

/// Forks, threads, handlers that write, a descriptor that another program inherits: 12 MiB written to `a`, 4 MiB to `b`, and `a` read.
const PROGRAM: &str = "
import os, signal, subprocess, threading
a = os.open('a', os.O_CREAT | os.O_RDWR)
child = os.fork()
for piece in range(4): os.pwrite(a, b'x' * 1048576, (2 * piece + bool(child)) << 20)
if not child: os._exit(0)
os.wait()
def writes(thread):
    own = os.open('a', os.O_WRONLY)
    for piece in range(2): os.pwrite(own, b'y' * 1048576, (8 + 2 * thread + piece) << 20)
threads = [threading.Thread(target=writes, args=[it]) for it in range(2)]
[it.start() for it in threads]; [it.join() for it in threads]
os.fsync(a)
b = os.open('b', os.O_CREAT | os.O_WRONLY)
signal.signal(signal.SIGALRM, lambda *_: os.pwrite(b, b'z' * 1048576, 3 << 20))
signal.setitimer(signal.ITIMER_REAL, 0.01)
signal.pause()
os.ftruncate(b, 0)
subprocess.run(['dd', 'if=/dev/zero', 'bs=1M', 'count=3', 'status=none'], stdout=b, check=True)
os.pwrite(b, b'z' * 1048576, 3 << 20)
assert os.pread(a, 12 << 20, 0).count(b'y') == 4 << 20";

impl Stowed {
    /// What `report --json` says of a recorded run.
    fn recorded(&self, layers: &str) -> Value {
        let recording = self.storage.folder.path().join(format!("rec-{layers}"));
        let mut command = record(&recording);
        command.args(["--layers", layers, "--"]).arg(binary().get_program());
        command.args(["stow", "run", "--quiet", "--mount"]).arg(self.at("")).arg("--targets");
        command.args(&self.storage.targets).args(["--", python(), "-c", PROGRAM]);
        let outcome: Outcome = command.current_dir(self.at("")).output().unwrap().into();
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
        assert_nothing_lost(&processes(&recording));
        json(&format!("report --top 200 {}", recording.display()))
    }
}

/// Adds a number up over all rows of a table.
fn sum(table: &Value, number: &str) -> u64 {
    table.as_array().unwrap().iter().map(|row| row[number].as_u64().unwrap()).sum()
}

#[test]
fn a_recording_shows_the_programs_calls_and_what_the_logs_did() {
    let stowed = Stowed::new();
    let shown = stowed.recorded("posix,logs");
    let logs = &shown["logs"];
    let targets: Vec<&str> =
        logs.as_array().unwrap().iter().map(|row| row["target"].as_str().unwrap()).collect();
    for target in &stowed.storage.targets {
        assert!(targets.contains(&target.to_str().unwrap()), "{targets:?}");
    }
    // All that the program wrote, and what says where it lies.
    let written = sum(logs, "log_written_bytes");
    assert!((17 * MIB..18 * MIB).contains(&written), "{written}");
    assert!(sum(logs, "log_read_bytes") >= 12 * MIB);
    // The program's own figures are those of its calls.
    let files = shown["files"].as_array().unwrap();
    let of = |name: &str| {
        let path = stowed.at(name);
        let mut rows = files.iter().filter(|row| row["path"].as_str() == path.to_str());
        let row = rows.next().unwrap_or_else(|| panic!("{name}: {files:?}"));
        row["written_bytes"].as_u64().unwrap()
    };
    assert_eq!((of("a"), of("b")), (12 * MIB, 5 * MIB));
    let paths = || files.iter().map(|row| row["path"].as_str().unwrap());
    assert!(!paths().any(|it| it.contains("anchor") || it.contains("/log-")));
}

#[test]
fn a_recording_without_that_layer_has_none_of_it() {
    let stowed = Stowed::new();
    let shown = stowed.recorded("posix");
    assert_eq!(shown["logs"], Value::Null);
    assert!(shown["files"].as_array().unwrap().len() > 1);
}
