//! Recordings held against what the kernel saw, in the same run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use plimsoll_trace::Op;

use crate::support::command::{Outcome, binary};
use crate::support::recording::{
    Process, assert_nothing_lost, calls, has, library, processes, python,
};

/// Calls, and bytes that were moved, by operation.
type Counts = BTreeMap<Op, (u64, u64)>;

/// Operations that are compared: the kernel's name and ours. Not lseek: the recorder asks for the
/// position of descriptors that the program inherited.
const COMPARED: [(&str, Op); 14] = [
    ("open", Op::Open),
    ("creat", Op::Open),
    ("openat", Op::Open),
    ("close", Op::Close),
    ("read", Op::Read),
    ("write", Op::Write),
    ("pread64", Op::Pread),
    ("pwrite64", Op::Pwrite),
    ("readv", Op::Readv),
    ("writev", Op::Writev),
    ("fsync", Op::Fsync),
    ("fdatasync", Op::Fdatasync),
    ("ftruncate", Op::Ftruncate),
    ("fallocate", Op::Fallocate),
];

/// False with a word about it where strace is missing or may not trace.
pub fn has_strace() -> bool {
    if !has(&["strace"]) {
        return false;
    }
    let may = Command::new("strace").args(["-o", "/dev/null", "true"]).output();
    let may = may.is_ok_and(|output| output.status.success());
    if !may {
        eprintln!("SKIPPED: needs the right to trace processes");
    }
    may
}

/// Records a command while strace watches it: one run, so that even a program that never does
/// the same twice must have the same counts in both.
#[track_caller]
pub fn assert_same_as_strace(folder: &Path, command: &[&str], files: &[&str]) {
    let (rec, trace) = (folder.join("strace.rec"), folder.join("trace"));
    let _ = fs::remove_dir_all(&rec);
    // A question mark: not every machine has all of them.
    let names: Vec<String> = COMPARED.iter().map(|(name, _)| format!("?{name}")).collect();
    let outcome: Outcome = Command::new("strace")
        .args(["-f", "-y", "-s", "0", "-e", &format!("trace={},fcntl", names.join(",")), "-o"])
        .arg(&trace)
        .arg(binary().get_program())
        .args(["record", "-o"])
        .arg(&rec)
        .arg("--")
        .args(command)
        .env("PLIMSOLL_LIBRARY", library())
        .stdin(Stdio::null())
        .output()
        .unwrap()
        .into();
    assert_eq!(outcome.status, Some(0), "{command:?}: {}", outcome.stderr);
    let (trace, recorded) = (fs::read_to_string(&trace).unwrap(), processes(&rec));
    assert_nothing_lost(&recorded);
    for file in files {
        let (mut seen, mut found) = (seen_by_strace(&trace, file), in_recording(&recorded, file));
        if calls(&recorded, Op::Fopen, file).0 > 0 {
            // How often a stream reads is the C library's business.
            seen.remove(&Op::Read);
            found.remove(&Op::Read);
        }
        assert!(!seen.is_empty(), "{command:?} does nothing with {file}");
        assert_eq!(found, seen, "{command:?}: {file}");
    }
}

/// Lines are `PID NAME(FD</path>, …) = VALUE`; those that open name the file after the value.
fn seen_by_strace(trace: &str, file: &str) -> Counts {
    let mut counts = Counts::new();
    for line in trace.lines() {
        let Some((_, call)) = line.split_once(' ') else { continue };
        let Some((name, rest)) = call.trim_start().split_once('(') else { continue };
        let value = rest.rsplit_once(" = ").map_or("", |(_, value)| value);
        let is_open = ["open", "creat", "openat"].contains(&name);
        let named = if is_open { value } else { rest.split([',', ')']).next().unwrap() };
        let path = named.split_once('<').map_or("", |(_, path)| path);
        if path.trim_end_matches(" (deleted)").trim_end_matches('>') != file {
            continue;
        }
        let op = match COMPARED.iter().find(|(theirs, _)| *theirs == name) {
            Some((_, op)) => *op,
            None if rest.contains("F_UNLCK") => Op::Unlock,
            None if rest.contains("F_SETLK") => Op::Lock,
            None => continue,
        };
        let count = counts.entry(op).or_default();
        count.0 += 1;
        if op.class().is_data() {
            count.1 += value.trim().parse().unwrap_or(0);
        }
    }
    counts
}

fn in_recording(recorded: &[Process], file: &str) -> Counts {
    let mut counts = Counts::new();
    for op in COMPARED.iter().map(|(_, op)| *op).chain([Op::Lock, Op::Unlock]) {
        counts.insert(op, calls(recorded, op, file));
    }
    // A stream opens and closes its file within the C library.
    for (stream, op) in [(Op::Fopen, Op::Open), (Op::Fclose, Op::Close)] {
        counts.entry(op).or_default().0 += calls(recorded, stream, file).0;
    }
    counts.retain(|_, (calls, _)| *calls > 0);
    counts
}

#[test]
fn counts_are_those_of_strace() {
    if !has_strace() || !has(&["dd", "tar"]) {
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let (input, output) = (at("in"), at("out"));
    fs::write(&input, vec![7u8; 300_001]).unwrap();
    let same =
        |command: &[&str], files: &[&str]| assert_same_as_strace(folder.path(), command, files);

    let of = |path: &str| format!("of={path}");
    same(
        &["dd", &format!("if={input}"), &of(&output), "bs=4096", "conv=fsync"],
        &[&input, &output],
    );
    assert_eq!(fs::read(&output).unwrap(), fs::read(&input).unwrap());
    same(&["tar", "cf", &at("t.tar"), "-C", &at(""), "in"], &[&input, &at("t.tar")]);
    let redirected = format!("dd if={input} bs=999 > {output}; dd bs=1000 < {input} > {output}");
    same(&["sh", "-c", &redirected], &[&input, &output]);
    assert_eq!(fs::read(&output).unwrap(), fs::read(&input).unwrap());

    let script = "
import os, sys
path = sys.argv[1]
one = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
for i in range(100):
    os.write(one, b'x' * (i + 1))
os.pwrite(one, b'y' * 500, 10000)
os.writev(one, [b'a' * 10, b'b' * 20])
os.lseek(one, 0, os.SEEK_SET)
while os.read(one, 1000):
    pass
os.pread(one, 100, 10450)
two = os.dup(one)
os.fsync(one)
os.close(one)
os.ftruncate(two, 5000)
os.fdatasync(two)
os.close(two)
with open(path, 'rb', 0) as file:
    file.readall()
with open(path, 'a') as file:
    for i in range(3000):
        file.write('line %d\\n' % i)
";
    same(&[python(), "-c", script, &output], &[&output]);
}
