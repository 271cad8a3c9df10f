//! Files that are plain ones until they need more room than a small file has, in a library that was built with the feature `growing`.

use std::fs;

use super::Stowed;
use crate::support::command::{Outcome, binary};
use crate::support::recording::{program, python};

/// The limit in these tests, and a write beyond it.
const SMALL: u64 = 16 << 10;

fn mark(stowed: &Stowed, name: &str) -> Option<Vec<u8>> {
    let mut value = [0; 8];
    let read = rustix::fs::getxattr(stowed.at(name), "user.plimsoll.grows", &mut value[..]);
    read.ok().map(|length| value[..length].to_vec())
}

#[track_caller]
fn assert_whole(stowed: &Stowed, name: &str) {
    let check: Outcome =
        binary().args(["stow", "check"]).arg(stowed.at(name)).output().unwrap().into();
    assert_eq!((check.status, check.stderr.as_str()), (Some(0), ""), "{}", check.stdout);
}

#[test]
#[ignore = "needs a library with the feature `growing`, which is not shipped yet"]
fn a_small_file_is_a_plain_one_until_it_grows() {
    let stowed = Stowed::new();
    stowed.shell("head -c 16384 /dev/zero > f; printf 1234 > g; chmod 640 g; > empty");
    for name in ["f", "g", "empty"] {
        assert!(stowed.at(name).is_file() && mark(&stowed, name).is_some(), "{name}");
    }
    assert_eq!(fs::read(stowed.at("g")).unwrap(), b"1234");
    assert_eq!(stowed.shell("printf 5 >> g; truncate -s 3 g; printf 7 >> g; cat g"), "1237");
    stowed.shell("printf x >> f");
    assert!(stowed.at("f/plimsoll-container").is_file() && stowed.at("g").is_file());
    assert_eq!(mark(&stowed, "f/anchor"), None);
    assert_eq!(fs::metadata(stowed.at("f/anchor")).unwrap().len(), 0);
    assert_eq!(stowed.cat("f"), [vec![0; 16384], b"x".to_vec()].concat());
    assert_whole(&stowed, "f");
    // What was there before, or is not wanted, stays plain.
    fs::write(stowed.at("old"), "old").unwrap();
    stowed.shell("head -c 100000 /dev/zero >> old");
    assert!(stowed.at("old").is_file());
    stowed.shell("rm *");
    assert_eq!(stowed.names(), [""; 0]);
    stowed.storage.assert_nothing_left();
}

/// Descriptors stay what they are: position, flags, locks, those of other processes, and those that were inherited.
#[test]
#[ignore = "needs a library with the feature `growing`, which is not shipped yet"]
fn whoever_has_it_open_goes_on() {
    let stowed = Stowed::new();
    let script = "
import fcntl, os
f = os.open('f', os.O_CREAT | os.O_RDWR); reader = os.open('f', os.O_RDONLY); appends = os.open('f', os.O_WRONLY | os.O_APPEND)
copy = os.dup(f)
os.write(f, b'a' * 10000); os.lseek(reader, 9990, 0)
fcntl.lockf(f, fcntl.LOCK_EX, 10, 0)
fcntl.flock(reader, fcntl.LOCK_SH)
children, to, back = [], os.pipe(), os.pipe()
for turn in range(3):
    if os.fork() == 0:
        own = os.open('f', os.O_RDWR)
        os.write(back[1], b'.'); os.read(to[0], 1)
        os.pwrite(own, b'%d' % turn, 50000 + turn); os.pwrite(f, b'%d' % turn, 60000 + turn)
        assert os.pread(own, 10, 0) == b'a' * 10 and os.fstat(f).st_size == 100003
        assert os.read(own, 4) == b'aaaa' and os.lseek(own, 0, os.SEEK_END) == 100003
        os._exit(0)
for turn in range(3): os.read(back[0], 1)
assert os.pwrite(copy, b'b' * 3, 100000) == 3
for turn in range(3): os.write(to[1], b'.')
for turn in range(3): assert os.wait()[1] == 0
assert os.read(reader, 20) == b'a' * 10 + bytes(10), 'beyond what was there'
os.write(f, b'c'); assert os.lseek(f, 0, os.SEEK_CUR) == 10001
os.write(appends, b'end')
if os.fork() == 0:
    try: fcntl.lockf(os.open('f', os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 0)
    except OSError: os._exit(7)
    os._exit(0)
assert os.waitstatus_to_exitcode(os.wait()[1]) == 7
print(os.pread(f, 3, 50000), os.pread(f, 3, 60000), os.pread(reader, 10, 100000), os.pread(f, 2, 9999))";
    assert_eq!(stowed.python(script), "b'012' b'012' b'bbbend' b'ac'\n");
    assert!(stowed.at("f/anchor").is_file());
    assert_whole(&stowed, "f");
}

/// As ranks do: all open it, and write at places of their own from the first byte on.
#[test]
#[ignore = "needs a library with the feature `growing`, which is not shipped yet"]
fn processes_that_write_it_together_lose_nothing() {
    let stowed = Stowed::new();
    let script = "
import os
def record(process, turn): return bytes([1 + process * 40 + turn % 40]) * 700
for process in range(6):
    if os.fork() == 0:
        f = os.open('f', os.O_CREAT | os.O_RDWR)
        lines = os.open('lines', os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        for turn in range(200):
            assert os.pwrite(f, record(process, turn), (turn * 6 + process) * 700) == 700
            os.write(lines, b'%d %d\\n' % (process, turn))
        os._exit(0)
for process in range(6): assert os.wait()[1] == 0
whole = b''.join(record(process, turn) for turn in range(200) for process in range(6))
assert open('f', 'rb').read() == whole
assert sorted(open('lines').read().split('\\n')[:-1]) == sorted('%d %d' % (p, t) for p in range(6) for t in range(200))
print('same')";
    for _ in 0..5 {
        assert_eq!(stowed.python(script), "same\n");
        assert!(stowed.at("f/anchor").is_file());
        assert_whole(&stowed, "f");
        stowed.shell("rm f lines; ls -A");
    }
    assert_eq!(stowed.names(), [""; 0]);
    stowed.storage.assert_nothing_left();
}

/// What the kernel shows by itself stays as it is.
#[test]
#[ignore = "needs a library with the feature `growing`, which is not shipped yet"]
fn what_is_mapped_or_has_two_names_stays_plain() {
    let stowed = Stowed::new();
    let script = "
import mmap, os
f = os.open('f', os.O_CREAT | os.O_RDWR); os.write(f, b'a' * 5000)
m = mmap.mmap(f, 5000); m[0] = 66
os.write(f, b'c' * 100000); m[1] = 67
print(os.pread(f, 3, 0), os.fstat(f).st_size)
g = os.open('g', os.O_CREAT | os.O_RDWR); os.link('g', 'h'); os.write(g, b'd' * 100000)
print(os.fstat(g).st_nlink, os.stat('h').st_size)
i = os.open('i', os.O_CREAT | os.O_RDWR); os.unlink('i'); os.write(i, b'e' * 100000); print(len(os.pread(i, 200000, 0)))";
    assert_eq!(stowed.python(script), "b'BCa' 105000\n2 100000\n100000\n");
    assert!(stowed.at("f").is_file() && stowed.at("g").is_file() && mark(&stowed, "f").is_none());
    assert_eq!(stowed.names(), ["f", "g", "h"]);
}

/// Killed behind the last write that returned, and within any other.
#[test]
#[ignore = "needs a library with the feature `growing`, which is not shipped yet"]
fn what_was_written_is_there_after_a_kill() {
    let stowed = Stowed::new();
    for writes in [3, 255, 256, 257, 300, 900] {
        let script = format!(
            "import os, signal
f = os.open('f', os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
for i in range({writes}): os.write(f, b'%063d\\n' % i)
os.kill(os.getpid(), signal.SIGKILL)"
        );
        let outcome = stowed.run(&[python(), "-c", &script]);
        assert_eq!(outcome.status.unwrap_or(137), 137, "{}", outcome.stderr);
        let lines: String = (0..writes).map(|it| format!("{it:063}\n")).collect();
        assert_eq!(stowed.output(&["cat", "f"]), lines);
        assert_eq!(stowed.at("f").is_dir(), 64 * writes > SMALL as i32);
        stowed.shell("rm f");
    }
    assert_eq!(stowed.names(), [""; 0]);
    stowed.storage.assert_nothing_left();
}

/// At each system call by which a file becomes a container: what was written is there for who comes next, by its name and by a descriptor that was open before, and nothing of it is left in the mount.
#[test]
#[ignore = "needs a library with the feature `growing`, which is not shipped yet"]
fn a_kill_at_any_step_of_growing_loses_nothing() {
    if !crate::everyday::strace::has_strace() {
        return;
    }
    let script = "
import os, sys, time
f = os.open('f', os.O_CREAT | os.O_RDWR); os.write(f, b'before ' * 1000)
print('ready', flush=True); sys.stdin.readline()
os.pwrite(f, b'after', 50000)";
    for call in
        ["mkdirat", "fchmodat", "renameat2", "renameat", "fsetxattr", "fremovexattr", "ftruncate"]
    {
        for nth in 1..4 {
            let stowed = Stowed::new();
            let inject = format!("--inject={call}:signal=SIGKILL:when={nth}");
            let mut command = stowed.command(&[]);
            // Another process has it open meanwhile, and writes afterwards.
            let shell = format!(
                "coproc W {{ strace -f -o /dev/null -e trace={call} {inject} {} -c \"{script}\" 2>&1; }}; read -u ${{W[0]}} ready; \
                 [ \"$ready\" = ready ] || {{ echo early; exit; }}; exec 7<>f; echo go >&${{W[1]}}; wait; dd bs=7 count=1 status=none <&7; stat -c %s f; head -c 7 f; printf X | dd of=f bs=1 seek=60000 conv=notrunc status=none; \
                 printf Y >&7; cat f | tr -d '\\0' | cut -c 1-20",
                python()
            );
            let outcome: Outcome = command.args(["bash", "-c", &shell]).output().unwrap().into();
            if outcome.stdout == "early\n" {
                continue;
            }
            let told = format!("{call} {nth}: {}{}", outcome.stdout, outcome.stderr);
            assert!(
                outcome.stdout.starts_with("before 7000\nbefore before Y")
                    || outcome.stdout.starts_with("before 50005\nbefore before Y"),
                "{told}"
            );
            let whole = stowed.output(&["cat", "f"]).into_bytes();
            assert_eq!((whole.len(), whole[60_000], whole[7]), (60_001, b'X', b'Y'), "{told}");
            // What was made just now goes after a minute.
            let names = || -> Vec<String> {
                let is_new = |it: &String| it.starts_with(".plimsoll-stow-new-");
                stowed.names().into_iter().filter(|it| !is_new(it)).collect()
            };
            assert_eq!(names(), ["f"], "{told}");
            stowed.shell("rm f");
            assert_eq!(names(), [""; 0], "{told}");
        }
    }
}

/// What was durable before it grew stays so, and what is made durable afterwards is found with it.
#[test]
#[ignore = "needs a library with the feature `growing`, which is not shipped yet"]
fn what_was_synced_is_synced_as_a_container() {
    let stowed = Stowed::new();
    stowed.python(
        "import os
f = os.open('f', os.O_CREAT | os.O_RDWR); os.write(f, b'a' * 100); os.fsync(f); os.write(f, b'b' * 100000)",
    );
    let marker = fs::metadata(stowed.at("f/plimsoll-container")).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&marker.permissions()) & 0o777, 0o600);
    stowed.shell("head -c 100000 /dev/zero > g");
    let marker = fs::metadata(stowed.at("g/plimsoll-container")).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&marker.permissions()) & 0o777, 0o400);
}

/// Threads, forks, small stacks and handlers, in a directory where files grow.
#[test]
#[ignore = "needs a library with the feature `growing`, which is not shipped yet"]
fn hostile_programs_write_the_same() {
    let traps = program("traps.c", "cc", &[]);
    let traps = traps.to_str().unwrap();
    for (name, count) in [
        ("threads", "1000"),
        ("crowd", "2000"),
        ("forks", "300"),
        ("vforks", "30"),
        ("close_all", "300"),
        ("small_stacks", "5"),
    ] {
        let stowed = Stowed::new();
        let plain = stowed.storage.folder.path().join("plain");
        let ordinary = std::process::Command::new(traps).arg(name).arg(&plain).arg(count).status();
        let outcome = stowed.run(&[traps, name, "out", count]);
        assert_eq!(outcome.status, ordinary.unwrap().code(), "{name}: {}", outcome.stderr);
        let same = stowed.run(&["cmp", "out", plain.to_str().unwrap()]);
        assert_eq!(same.status, Some(0), "{name}: {}", same.stdout);
    }
}
