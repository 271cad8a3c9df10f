//! What is outside of the mount is reached as without `stow run`: by the same system calls.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::Stowed;
use crate::everyday::strace::has_strace;
use crate::support::command::Outcome;
use crate::support::recording::python;

/// Does these calls so many times, after one time that finds out whatever is found out once.
const LOOP: &str = "
import os, sys
os.chdir(sys.argv[1])
o = os.open('o', os.O_CREAT | os.O_RDWR, 0o600)
def calls():
    CALLS
for i in range(1 + int(sys.argv[2])): calls()";

/// Calls with names, and with a descriptor that was used before.
const KNOWN: &str = "os.pwrite(o, b'x', 0); os.write(o, b'x'); os.fstat(o); os.pread(o, 1, 0); os.lseek(o, 0, 0); os.read(o, 1); os.fsync(o); os.ftruncate(o, 5)
    os.mknod('f', 0o600); os.stat('f'); os.lstat('f'); os.access('f', os.R_OK); os.chmod('f', 0o644); os.utime('f', (1, 1)); os.truncate('f', 0); os.statvfs('f')
    os.rename('f', 'g'); os.link('g', 'h'); os.symlink('g', 'l'); os.readlink('l'); os.unlink('l'); os.unlink('h'); os.unlink('g')
    os.mkdir('d'); os.rmdir('d'); os.getcwd()";

/// A new descriptor, of which it is asked once which file it is of.
const NEW: &str = "n = os.open('o', os.O_RDONLY); os.read(n, 1); os.read(n, 1); os.close(n)";

const TIMES: i64 = 20;

/// What Python's memory does is not of interest here.
const OF_MEMORY: [&str; 5] = ["brk", "mmap", "munmap", "mremap", "madvise"];

/// System calls of a program by their names.
fn counts(trace: &Path) -> BTreeMap<String, i64> {
    let mut counts = BTreeMap::new();
    for line in fs::read_to_string(trace).unwrap().lines() {
        let Some((name, _)) = line.split_once('(') else { continue };
        if name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_')
            && !OF_MEMORY.contains(&name)
        {
            *counts.entry(name.to_string()).or_default() += 1;
        }
    }
    counts
}

#[test]
fn calls_outside_of_the_mount_make_no_other_system_calls() {
    if !has_strace() {
        return;
    }
    let stowed = Stowed::new();
    let folder = stowed.storage.folder.path();
    let (outside, trace) = (folder.join("outside"), folder.join("trace"));
    fs::create_dir(&outside).unwrap();
    let added = |calls: &str, is_stowed: bool| {
        let script = LOOP.replace("CALLS", calls);
        let [few, many] = [0, TIMES].map(|times| {
            let mut command = match is_stowed {
                true => stowed.command(&[]),
                false => Command::new("env"),
            };
            command.arg("strace").arg("-o").arg(&trace).args([python(), "-c", &script]);
            let outcome: Outcome =
                command.arg(&outside).arg(times.to_string()).output().unwrap().into();
            assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
            counts(&trace)
        });
        let count = |of: &BTreeMap<String, i64>, name: &str| of.get(name).copied().unwrap_or(0);
        let mut added: BTreeMap<String, i64> =
            many.iter().map(|(name, all)| (name.clone(), all - count(&few, name))).collect();
        added.retain(|_, it| *it != 0);
        added
    };
    let plain = added(KNOWN, false);
    assert!(plain.values().sum::<i64>() >= TIMES * 25, "{plain:?}");
    assert_eq!(added(KNOWN, true), plain);
    let mut plain = added(NEW, false);
    plain.extend(["fstat", "readlinkat"].map(|it| (it.to_string(), TIMES)));
    assert_eq!(added(NEW, true), plain);
}
