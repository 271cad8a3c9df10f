//! Targets that are full, read-only or gone, under unmodified programs: what can be written elsewhere is, and nothing is lost in silence.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use super::Stowed;
use crate::support::command::{Outcome, binary};
use crate::support::recording::python;
use crate::support::storage::{SmallDisk, changing_mounts};

const POLICIES: [&str; 2] = ["window", "striped"];

impl Stowed {
    fn by_policy(&self, policy: &str, command: &[&str]) -> Outcome {
        self.command(&["--policy", policy]).args(command).output().unwrap().into()
    }

    /// Writes a file beside the mount; returns what is in it.
    fn source(&self) -> Vec<u8> {
        let bytes: Vec<u8> = (0..6_000_000_u64).map(|it| (it * it / 7 + it) as u8).collect();
        fs::write(self.at("../source"), &bytes).unwrap();
        bytes
    }
}

const CP: [&str; 3] = ["cp", "../source", "x"];
const DD: [&str; 6] = ["dd", "if=../source", "of=y", "bs=47k", "conv=fsync", "status=none"];

fn remounted(at: &Path, how: &str) {
    let status = Command::new("mount").args(["-o", &format!("remount,{how}")]).arg(at).status();
    assert!(status.unwrap().success());
}

#[test]
fn what_one_target_refuses_goes_to_the_other() {
    let stowed = Stowed::new();
    let _mounts = changing_mounts();
    let bytes = stowed.source();
    let Some(_disk) = SmallDisk::mount(&stowed.storage.targets[0], "1m") else { return };
    for policy in POLICIES {
        for command in [&CP[..], &DD] {
            let outcome = stowed.by_policy(policy, command);
            assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{command:?}");
        }
        remounted(&stowed.storage.targets[0], "ro");
        assert_eq!(stowed.by_policy(policy, &["cp", "../source", "z"]).stderr, "");
        assert!(["x", "y", "z"].iter().all(|name| stowed.cat(name) == bytes));
        remounted(&stowed.storage.targets[0], "rw");
        assert_eq!(stowed.shell("rm x y z; ls -A"), "");
    }
}

#[test]
fn what_no_target_takes_fails_as_on_a_full_or_read_only_disk() {
    let stowed = Stowed::new();
    let _mounts = changing_mounts();
    let bytes = stowed.source();
    let [one, other] = &stowed.storage.targets[..] else { panic!("two targets") };
    let Some(_one) = SmallDisk::mount(one, "1m") else { return };
    let Some(_other) = SmallDisk::mount(other, "2m") else { return };
    for policy in POLICIES {
        for command in [&CP[..], &DD] {
            let outcome = stowed.by_policy(policy, command);
            assert_eq!(outcome.status, Some(1), "{command:?}");
            assert!(outcome.stderr.contains("No space left on device"), "{}", outcome.stderr);
        }
        let held = stowed.cat("x");
        assert!(held.len() > 1_000_000 && bytes.starts_with(&held), "{}", held.len());
        // When there is room again, it goes on.
        stowed.shell(
            "rm y; truncate -s 0 x; head -c 900000 ../source > x; cmp -n 900000 x ../source; rm x",
        );
        stowed.storage.targets.iter().for_each(|it| remounted(it, "ro"));
        let outcome = stowed.by_policy(policy, &CP);
        assert_eq!(outcome.status, Some(1));
        assert!(outcome.stderr.contains("Read-only file system"), "{}", outcome.stderr);
        stowed.storage.targets.iter().for_each(|it| remounted(it, "rw"));
        assert_eq!(stowed.shell("rm x; ls -A"), "");
    }
}

/// The logs become the copy's before the original goes with those that are its own: this needs room for a note.
/// What a call says it wrote is what the file has: a write of which a part went in is a short one, however it was asked for.
#[test]
fn a_write_that_fills_the_last_target_is_a_short_one() {
    let script = "
import os, sys
for name, flags in [('appended', os.O_APPEND), ('behind', 0)]:
    f = os.open(name, os.O_CREAT | os.O_WRONLY | flags)
    told = 0
    for i in range(400):
        try: told += os.write(f, bytes([65 + i % 26]) * 300_000)
        except OSError as error:
            if i > 40: break
    assert told > 0 and os.fstat(f).st_size == told == os.lseek(f, 0, os.SEEK_CUR), (name, os.fstat(f).st_size, told)
    os.close(f); os.unlink(name)";
    let stowed = Stowed::new();
    let _mounts = changing_mounts();
    let [one, other] = &stowed.storage.targets[..] else { panic!("two targets") };
    let Some(_one) = SmallDisk::mount(one, "1m") else { return };
    let Some(_other) = SmallDisk::mount(other, "2m") else { return };
    for policy in POLICIES {
        let outcome = stowed.by_policy(policy, &[python(), "-c", script]);
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{policy}");
    }
}

#[test]
fn a_copy_does_not_replace_its_original_where_that_cannot_be_noted() {
    let stowed = Stowed::new();
    let _mounts = changing_mounts();
    let [one, other] = &stowed.storage.targets[..] else { panic!("two targets") };
    let Some(_one) = SmallDisk::mount(one, "1m") else { return };
    let Some(_other) = SmallDisk::mount(other, "1m") else { return };
    stowed.shell_on_targets("echo data > precious");
    let mut command = Command::new("cp");
    command.arg("-rp").arg(stowed.at("precious")).arg(stowed.at("copy"));
    assert!(command.status().unwrap().success());
    for target in [one, other] {
        let mut filler = fs::File::create(target.join("filler")).unwrap();
        while filler.write_all(&[1; 4096]).is_ok() {}
    }
    let outcome = stowed.run(&["mv", "copy", "precious"]);
    assert_eq!(outcome.status, Some(1), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("No space left on device"), "{}", outcome.stderr);
    assert_eq!(stowed.output(&["cat", "precious"]), "data\n");
    for target in [one, other] {
        fs::remove_file(target.join("filler")).unwrap();
    }
    stowed.shell("mv copy precious");
    assert_eq!(stowed.output(&["cat", "precious"]), "data\n");
}

/// Where containers themselves lie.
#[test]
fn a_full_mount_makes_no_half_files() {
    let stowed = Stowed::new();
    let _mounts = changing_mounts();
    let Some(_disk) = SmallDisk::mount(&stowed.at(""), "64k") else { return };
    let script = "for i in $(seq 50); do { echo $i > $i; } 2>> ../told || break; done; cat ../told; \
        for j in $(seq $((i - 1))); do [ $(cat $j) = $j ] || echo $j is wrong; done; rm -f *; ls -A";
    let told = stowed.shell(script);
    assert!(told.ends_with("No space left on device\n") && told.lines().count() == 1, "{told}");
    stowed.storage.assert_nothing_left();
}

/// Writes and syncs records while a target goes: a shell command says how. Prints how the writes and syncs before and after ended, what of
/// that can be read, and whether another file can be written.
const WHILE_IT_GOES: &str = "
import os, sys, errno, subprocess
SIZE = 47000
record = lambda i: b'%09d|' % i * (SIZE // 10)
f = os.open('x', os.O_CREAT | os.O_RDWR)
def attempt(call, *arguments):
    try: call(*arguments); return 'fine'
    except OSError as error: return errno.errorcode[error.errno]
def put(first, last):
    ends = {attempt(os.pwrite, f, record(i), i * SIZE) for i in range(first, last)}
    print(*sorted(ends), attempt(os.fsync, f))
put(0, 60)
subprocess.run(sys.argv[1], shell=True, check=True, env={'PATH': os.environ['PATH']})
put(60, 200); put(200, 201)
def read(i):
    try: return 'right' if os.pread(f, SIZE, i * SIZE) == record(i) else 'wrong'
    except OSError as error: return errno.errorcode[error.errno]
print(*sorted({read(i) for i in range(201)}), read(200))
os.close(f)
g = os.open('new', os.O_CREAT | os.O_RDWR)
print(attempt(os.write, g, record(7)), attempt(os.fsync, g), os.pread(g, SIZE, 0) == record(7))";

/// What was synced while the target was there is lost with it, and said to be; no sync promises what can no longer be found.
#[track_caller]
fn assert_told(stowed: &Stowed, policy: &str, goes: &str) {
    let target = &stowed.storage.targets[0];
    let goes = goes.replace("TARGET", target.to_str().unwrap());
    let outcome = stowed.by_policy(policy, &[python(), "-c", WHILE_IT_GOES, &goes]);
    let told = "fine fine\nfine EIO\nfine EIO\nEIO right right\nfine fine True\n";
    assert_eq!(outcome.stdout, told, "{policy}: {}", outcome.stderr);
    let check: Outcome =
        binary().args(["stow", "check"]).arg(stowed.at("x")).output().unwrap().into();
    assert_eq!(check.status, Some(1));
    assert!(check.stdout.contains("on target ost0"), "{}", check.stdout);
}

#[test]
fn a_target_that_vanishes_is_told_by_the_next_sync() {
    for policy in POLICIES {
        assert_told(&Stowed::new(), policy, "rm -r TARGET");
        assert_told(&Stowed::new(), policy, "rm -r TARGET/*");
        let (_mounts, stowed) = (changing_mounts(), Stowed::new());
        let Some(_disk) = SmallDisk::mount(&stowed.storage.targets[0], "64m") else { continue };
        assert_told(&stowed, policy, "umount -l TARGET");
    }
}

/// Two of two.
#[test]
fn without_any_target_writing_is_an_error_of_the_storage() {
    let stowed = Stowed::new();
    for policy in POLICIES {
        let goes = "rm -r ../ost0 ../ost1";
        let outcome = stowed.by_policy(policy, &[python(), "-c", WHILE_IT_GOES, goes]);
        let lines: Vec<&str> = outcome.stdout.lines().collect();
        assert_eq!(lines[0], "fine fine", "{}", outcome.stderr);
        assert!(["EIO EIO", "EIO fine EIO"].contains(&lines[1]), "{}", outcome.stdout);
        assert_eq!(lines[2..], ["EIO EIO", "EIO EIO", "EIO fine False"], "{}", outcome.stdout);
        stowed.storage.targets.iter().for_each(|it| fs::create_dir(it).unwrap());
        stowed.shell("rm x new");
    }
}
