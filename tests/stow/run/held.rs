//! Files that a program holds, or comes for, while they are locked, removed or moved by somebody: whatever it is told is true.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use super::Stowed;
use crate::support::attacker::{ATTACKER, Attacker};
use crate::support::recording::python;

fn set_mode(stowed: &Stowed, name: &str, mode: u32) {
    fs::set_permissions(stowed.at(name), fs::Permissions::from_mode(mode)).unwrap();
}

/// Whoever may read a file locks a part of its anchor, where the library has locks of its own, until it is dropped.
struct Locker(Child);

impl Locker {
    fn of(stowed: &Stowed, name: &str, start: u64, length: u64) -> Self {
        let script = "
import fcntl, signal, struct, sys, time
signal.alarm(120)
file = open(sys.argv[1])
lock = struct.pack('hhqqi4x', fcntl.F_RDLCK, 0, int(sys.argv[2]), int(sys.argv[3]), 0)
fcntl.fcntl(file, fcntl.F_SETLK, lock)
print('locked', flush=True)
time.sleep(120)";
        let mut command = Command::new(python());
        command.args(["-c", script]).arg(stowed.at(name).join("anchor"));
        command.args([start, length].map(|it| it.to_string())).uid(ATTACKER);
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut told = String::new();
        let output = process.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut told).unwrap();
        assert_eq!(told, "locked\n");
        Locker(process)
    }
}

impl Drop for Locker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A file that its owner has opened to everybody.
fn opened_to_all() -> Stowed {
    let stowed = Stowed::new();
    stowed.shell("echo data > x");
    for (name, mode) in [("..", 0o755), (".", 0o755), ("x", 0o755), ("x/anchor", 0o644)] {
        set_mode(&stowed, name, mode);
    }
    stowed
}

const TELL: &str = "
import os
def tell(what):
    try: print(what())
    except OSError as error: print(os.strerror(error.errno))
";

#[test]
fn a_file_that_cannot_be_held_is_not_opened() {
    if !Attacker::can_be_had() {
        return;
    }
    let stowed = opened_to_all();
    let locker = Locker::of(&stowed, "x", 0, 0);
    let script = format!(
        "{TELL}
tell(lambda: open('x').read())
tell(lambda: os.open('x', os.O_WRONLY))
tell(lambda: os.open('x', os.O_RDWR))
tell(lambda: os.open('new', os.O_RDWR | os.O_CREAT) > 2)"
    );
    let refused = "Resource temporarily unavailable\n";
    assert_eq!(stowed.python(&script), format!("data\n\n{refused}{refused}True\n"));
    drop(locker);
    stowed.shell("echo more >> x");
    assert_eq!(stowed.cat("x"), b"data\nmore\n");
}

/// The attack: with a lock of theirs in front of ours, an anchor whose path is too long to be told was taken for a plain file.
#[test]
fn locks_of_others_hide_no_anchor() {
    if !Attacker::can_be_had() {
        return;
    }
    let stowed = opened_to_all();
    stowed.shell("mkdir team; mv x team/x");
    set_mode(&stowed, "team", 0o755);
    // Some of the places, so that there are others.
    let locker = Locker::of(&stowed, "team/x", 1 << 62, 1 << 36);
    let script = format!(
        "{TELL}
fd = os.open('team/x', os.O_RDWR)
at = os.open('.', os.O_RDONLY)
for _ in range(20):
    os.mkdir('d' * 240, dir_fd=at)
    at = os.open('d' * 240, os.O_RDONLY, dir_fd=at)
os.rename('team', 'team', dst_dir_fd=at)
import sys
if os.fork() == 0:
    tell(lambda: os.write(fd, b'astray'))
    sys.stdout.flush()
    os._exit(0)
os.wait()
os.rename('team', 'team', src_dir_fd=at)"
    );
    assert_eq!(stowed.python(&script), "Stale file handle\n");
    drop(locker);
    assert_eq!(fs::metadata(stowed.at("team/x/anchor")).unwrap().len(), 0);
    assert_eq!(stowed.cat("team/x"), b"data\n");
}

/// Whoever removes a file marks it and then gives it another name. A kill in between left a file that nobody could open any more.
#[test]
fn a_removal_that_was_killed_leaves_a_file() {
    let stowed = Stowed::new();
    let script = "cat x; echo more >> x; cat x; rm x; ls";
    for change in ["true", "mv x y; mv y x", "cp x y; mv y x"] {
        stowed.shell("echo data > x");
        set_mode(&stowed, "x", 0o1700);
        let told = stowed.shell(&format!("{change}; {script}"));
        assert_eq!(told, "data\ndata\nmore\n", "{change}");
        assert_eq!(stowed.names(), [""; 0], "{change}");
    }
}

/// A directory that its owner moves out of the mount is not below it any more: names in it are the kernel's, to which containers are directories. What
/// is open stays open.
#[test]
fn what_is_open_in_a_directory_that_is_moved_out_of_the_mount_is_served() {
    let stowed = Stowed::new();
    let script = format!(
        "{TELL}
import subprocess, sys
os.mkdir('team')
fd = os.open('team/x', os.O_CREAT | os.O_RDWR)
other = os.open('team/y', os.O_CREAT | os.O_RDWR)
at = os.open('team', os.O_RDONLY)
os.write(fd, b'before ')
os.rename('team', '../moved')
tell(lambda: os.write(fd, b'after '))
if os.fork() == 0:
    tell(lambda: os.write(other, b'child '))
    sys.stdout.flush()
    os._exit(0)
os.wait()
subprocess.run(['sh', '-c', 'echo executed >&%d' % fd], pass_fds=[fd], check=True)
tell(lambda: os.fsync(fd))
tell(lambda: os.pread(fd, 100, 0))
tell(lambda: os.open('x', os.O_WRONLY, dir_fd=at))
tell(lambda: os.open('x', os.O_RDWR | os.O_CREAT, dir_fd=at))
tell(lambda: os.read(os.open('x', os.O_RDONLY, dir_fd=at), 10))
tell(lambda: os.truncate('../moved/x', 0))
tell(lambda: os.unlink('x', dir_fd=at))"
    );
    let directory = "Is a directory\n".repeat(5);
    let told = format!("6\n6\nNone\nb'before after executed\\n'\n{directory}");
    assert_eq!(stowed.python(&script), told);
    assert_eq!(stowed.cat("../moved/x"), b"before after executed\n");
    assert_eq!(stowed.cat("../moved/y"), b"child ");
    for name in ["x", "y"] {
        let anchor = stowed.at("../moved").join(name).join("anchor");
        assert_eq!(fs::metadata(anchor).unwrap().len(), 0);
    }
}

#[test]
fn memory_that_is_not_there_is_told() {
    let stowed = Stowed::new();
    let script = "
import ctypes, errno, mmap, os
libc = ctypes.CDLL(None, use_errno=True)
fd = os.open('x', os.O_CREAT | os.O_RDWR)
os.write(fd, b'x' * 20000)
page = libc.mmap
page.restype = ctypes.c_void_p
page.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
closed = page(None, 65536, 0, 0x22, -1, 0)
def told(call, address):
    result = call(fd, ctypes.c_void_p(address), ctypes.c_size_t(8192), ctypes.c_long(0))
    return errno.errorcode[ctypes.get_errno()] if result < 0 else result
for address in [None, 8, closed, -4096]:
    print(told(libc.pread, address))
for address in [None, -4096]:
    print(told(libc.pwrite, address))
for call in [libc.open, libc.unlink, libc.mkdir, libc.access]:
    for address in [8, -1]:
        assert call(ctypes.c_void_p(address), 0) == -1
        print(errno.errorcode[ctypes.get_errno()])
print(os.lseek(fd, 100, 0), libc.read(fd, ctypes.c_void_p(closed), ctypes.c_size_t(10)), os.lseek(fd, 0, 1))";
    assert_eq!(stowed.python(script), format!("{}100 -1 100\n", "EFAULT\n".repeat(14)));
}

/// It cannot look at logs by their paths any more, and does not wait for what it cannot see.
#[test]
fn a_program_that_gives_up_its_rights_writes_or_is_told() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: needs root");
        return;
    }
    let stowed = Stowed::new();
    let script = "
import os
f = os.open('file', os.O_CREAT | os.O_RDWR, 0o644)
os.write(f, b'before')
os.setgid(65534); os.setuid(65534)
for size in [6, 300000, 6000000]:
    try: os.write(f, b'x' * size)
    except OSError: pass
print('done')";
    assert_eq!(stowed.python(script), "done\n");
    assert!(stowed.cat("file").starts_with(b"before"));
}
