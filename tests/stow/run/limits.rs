//! What cannot be done with a container fails, with the number that docs/stow.md says.

use std::fs;
use std::sync::Arc;

use plimsoll_stow::{Container, Placement, Target, Writer};

use super::Stowed;
use crate::support::attacker::{ATTACKER, Attacker};
use crate::support::command::{Outcome, binary};
use crate::support::recording::{library, python};

#[test]
fn what_cannot_be_done_has_the_right_error() {
    let stowed = Stowed::new();
    let script = "
import os, errno, mmap, ctypes, fcntl, struct
open('f', 'w').write('text' * 2000); os.mkdir('d')
def fails(name, call):
    try: call()
    except OSError as e: assert e.errno == getattr(errno, name), (name, e)
    else: assert False, name
fd = os.open('f', os.O_RDWR)
fails('ENODEV', lambda: mmap.mmap(fd, 0))
fails('EOPNOTSUPP', lambda: os.open('.', os.O_TMPFILE | os.O_RDWR))
fails('EPERM', lambda: os.link('f', 'g'))
fails('ENOTDIR', lambda: os.chdir('f'))
fails('ENOTDIR', lambda: os.listdir('f'))
fails('ENOTDIR', lambda: os.rmdir('f'))
fails('ENOTDIR', lambda: os.stat('f/'))
fails('ENOTDIR', lambda: os.open('f', os.O_DIRECTORY))
fails('EEXIST', lambda: os.mkdir('f'))
fails('EISDIR', lambda: os.rename('f', 'd'))
fails('ENOTDIR', lambda: os.rename('d', 'f'))
fails('EBADF', lambda: os.write(os.open('f', os.O_RDONLY), b'x'))
fails('EBADF', lambda: os.read(os.open('f', os.O_WRONLY), 1))
fails('EINVAL', lambda: os.lseek(fd, -1, 0))
fails('EXDEV', lambda: os.rename('f', '../outside'))
fails('EACCES', lambda: os.execv('./f', ['f']))
program = os.open('program', os.O_CREAT | os.O_WRONLY, 0o700)
os.write(program, open('/bin/true', 'rb').read())
fails('ETXTBSY', lambda: os.execv('./program', ['program']))
os.close(program)
assert os.spawnv(os.P_WAIT, './program', ['program']) == 0
past = ctypes.CDLL('libc.so.6', use_errno=True)
assert past.open(b'f', os.O_RDWR) == -1 and ctypes.get_errno() == errno.EISDIR
libc = ctypes.CDLL(None, use_errno=True)
assert libc.syscall(425, 4, ctypes.create_string_buffer(256)) == -1 and ctypes.get_errno() == errno.ENOSYS
for mode in [8, 0x20]:  # collapse, insert
    assert libc.fallocate(fd, mode, ctypes.c_long(0), ctypes.c_long(4096)) == -1 and ctypes.get_errno() == errno.EOPNOTSUPP
fails('EOPNOTSUPP', lambda: fcntl.ioctl(os.open('g', os.O_CREAT | os.O_RDWR), 0x40049409, fd))  # FICLONE
libc.mmap.restype = libc.mremap.restype = ctypes.c_void_p
large = [ctypes.c_size_t(size) for size in (4096, 8192)]
memory = ctypes.c_void_p(libc.mmap(None, large[0], mmap.PROT_READ, mmap.MAP_SHARED, fd, ctypes.c_long(0)))
assert libc.mprotect(memory, large[0], mmap.PROT_READ | mmap.PROT_WRITE) == -1 and ctypes.get_errno() == errno.EACCES
assert libc.mremap(memory, large[0], large[1], 1) == ctypes.c_void_p(-1).value and ctypes.get_errno() == errno.ENOMEM
own = ctypes.c_void_p(libc.mmap(None, large[0], mmap.PROT_READ, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, ctypes.c_long(0)))
assert libc.mremap(own, large[0], large[1], 1) != ctypes.c_void_p(-1).value
room, context = ctypes.create_string_buffer(8), ctypes.c_ulong(0)
assert libc.syscall(206, 1, ctypes.byref(context)) == 0  # io_setup
request = ctypes.create_string_buffer(struct.pack('QIIHhIQQq', 0, 0, 0, 0, 0, fd, ctypes.addressof(room), 8, 0) + bytes(16))
requests = (ctypes.c_void_p * 1)(ctypes.addressof(request))
assert libc.syscall(209, context, ctypes.c_long(1), requests) == -1 and ctypes.get_errno() == errno.EINVAL  # io_submit
libc.fopen.restype = libc.freopen.restype = ctypes.c_void_p
stream = ctypes.c_void_p(libc.fopen(b'/dev/null', b'w'))
assert libc.freopen(b'f', b'w', stream) is None and ctypes.get_errno() == errno.ENOTSUP
stream = ctypes.c_void_p(libc.fopen(b'f', b'r'))
assert libc.fwide(stream, 1) < 0 and libc.fgetwc(stream) == -1
wide = ctypes.create_unicode_buffer(8)
assert libc.fgetws(wide, 8, stream) == 0
print(os.read(fd, 4))";
    assert_eq!(stowed.python(script), "b'text'\n");
}

#[test]
fn wrong_use_is_told() {
    let stowed = Stowed::new();
    let run = |options: &[&str]| -> Outcome {
        let mut command = binary();
        command.args(["stow", "run"]).args(options).args(["--", "true"]);
        command
            .current_dir(stowed.at(""))
            .env("PLIMSOLL_LIBRARY", library())
            .output()
            .unwrap()
            .into()
    };
    for (options, told) in [
        (&["--mount", "none", "--targets", "../ost0"][..], "make the directory first"),
        (&["--mount", ".", "--targets", "../none"][..], "cannot use target"),
        (&["--targets", "../ost0"][..], "--mount"),
        (
            &["--mount", ".", "--targets", "../ost0", "--except", "*T12:*"][..],
            "has a colon, which divides globs",
        ),
    ] {
        let outcome = run(options);
        assert_eq!(outcome.status, Some(2), "{options:?}");
        assert!(outcome.stderr.contains(told), "{}", outcome.stderr);
    }
    let outcome: Outcome =
        stowed.command(&[]).args(["sh", "-c", "exit 7"]).output().unwrap().into();
    assert_eq!(outcome.status, Some(7));
}

/// Without `plimsoll stow run`, nobody has looked at the variables before.
#[test]
fn variables_that_make_no_sense_are_told_once() {
    let stowed = Stowed::new();
    let run = |policy: &str, buffer: &str| -> Outcome {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "sh -c 'seq 1 1000 > x; wc -l < x'"]).current_dir(stowed.at(""));
        let targets = stowed.storage.targets.iter().map(|it| it.to_str().unwrap());
        command.env("PLIMSOLL_STOW_TARGETS", targets.collect::<Vec<_>>().join(","));
        command.env("PLIMSOLL_STOW_MOUNT", stowed.at("")).env("LD_PRELOAD", library());
        command.env("PLIMSOLL_STOW_POLICY", policy).env("PLIMSOLL_STOW_BUFFER", buffer);
        command.output().unwrap().into()
    };
    for (policy, buffer) in [("", ""), ("striped", "0"), ("static", "1MiB"), ("window", "16MiB")] {
        let outcome = run(policy, buffer);
        assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("1000\n", ""), "{policy}");
    }
    let outcome = run("round\u{1b}robin", "much");
    assert_eq!(outcome.stdout, "1000\n");
    assert_eq!(
        outcome.stderr,
        "plimsoll: PLIMSOLL_STOW_POLICY does not count: it is round?robin; hint: window, striped or static\n\
         plimsoll: PLIMSOLL_STOW_BUFFER does not count: it is much; hint: a size, such as 16MiB\n"
    );
    assert!(stowed.at("x/anchor").exists());
}

/// A child that inherits a file and has no descriptors left cannot tell whose it is: it is told so, and nothing goes astray.
#[test]
fn without_descriptors_nothing_is_written_elsewhere() {
    let stowed = Stowed::new();
    let told = stowed.python(
        "import os, resource
fd = os.open('x', os.O_CREAT | os.O_RDWR); os.write(fd, b'before')
if os.fork() == 0:
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    held = []
    try:
        while True: held.append(os.open('/dev/null', os.O_RDONLY))
    except OSError: pass
    try: print('written', os.write(fd, b'astray'))
    except OSError as error: print(os.strerror(error.errno))
    os._exit(0)
os.wait()",
    );
    assert!(["Too many open files\n", "written 6\n"].contains(&told.as_str()), "{told}");
    assert_eq!(
        fs::read(stowed.at("x/anchor")).unwrap(),
        b"",
        "the kernel wrote past the container"
    );
    let expected = if told.starts_with("written") { "beforeastray" } else { "before" };
    assert_eq!(stowed.output(&["cat", "x"]), expected);
}

/// The attack: a container of many records, which takes a program that only looks at it more memory than it may have.
#[test]
fn a_container_that_takes_too_much_memory_is_refused_and_ends_no_program() {
    let stowed = Stowed::new();
    let target = Target { name: "ost0".into(), path: stowed.storage.targets[0].clone() };
    let container = Arc::new(Container::create(&stowed.at("gift"), &[target]).unwrap());
    let mut writer = Writer::open(container, Placement::Striped).unwrap();
    for number in 0..400_000 {
        // Not side by side, so that each is a record of its own.
        writer.write_at(b"x", number * 2).unwrap();
    }
    writer.close().unwrap();
    fs::remove_file(stowed.at("gift/index")).unwrap();
    let looks = |limit: &str| stowed.run(&["sh", "-c", &format!("ulimit -v {limit}; ls -l gift")]);
    let refused = looks("120000");
    assert!(refused.stderr.contains("File too large"), "{:?} {}", refused.status, refused.stderr);
    assert!(refused.status.is_some_and(|it| it < 3), "{:?}", refused.status);
    let shown = looks("unlimited");
    assert!(shown.stdout.contains("799999"), "{} {}", shown.stdout, shown.stderr);
}

/// Programs limit what they themselves may take, as test runners do: addresses that the library only reserves count, too.
#[test]
fn a_program_may_limit_its_own_memory() {
    let stowed = Stowed::new();
    let told = stowed.shell_on_targets(
        "ulimit -v 3000000; head -c 100000 /dev/zero > out; wc -c < out
         python3 -c 'held = bytearray(500 << 20); open(\"more\", \"w\").write(\"it\")'; cat more",
    );
    assert_eq!(told, "100000\nit");
}

/// The calls by number that are older than those which the C library makes.
#[cfg(target_arch = "x86_64")]
#[test]
fn old_calls_by_number_are_on_the_file() {
    let stowed = Stowed::new();
    let script = "
import ctypes, os
call = ctypes.CDLL(None, use_errno=True).syscall
O_STAT, O_FSTAT, O_LSTAT, ACCESS, TRUNCATE, RENAME, MKDIR, RMDIR, CREAT, UNLINK = 4, 5, 6, 21, 76, 82, 83, 84, 85, 87
def sized(number, what):
    status = (ctypes.c_int64 * 18)()
    assert call(number, what, status) == 0
    return status[6]
fd = call(CREAT, b'a', 0o600)
os.write(fd, b'x' * 100000)
print(sized(O_STAT, b'a'), sized(O_LSTAT, b'a'), sized(O_FSTAT, fd), call(ACCESS, b'a', 4))
print(call(TRUNCATE, b'a', ctypes.c_long(5)), os.fstat(fd).st_size, call(RENAME, b'a', b'b'))
print(call(MKDIR, b'd', 0o700), call(RMDIR, b'd'), os.listdir('.'), call(UNLINK, b'b'), os.listdir('.'))";
    assert_eq!(stowed.python(script), "100000 100000 100000 0\n0 5 0\n0 0 ['b'] 0 []\n");
}

/// Where a name may lead is bounded by the kernel, which knows no containers: programs have another way where it does not know the call.
#[cfg(target_arch = "x86_64")]
#[test]
fn calls_that_only_have_a_number_are_on_the_file_or_refused() {
    let stowed = Stowed::new();
    let script = "
import ctypes, errno, os, struct
call = ctypes.CDLL(None, use_errno=True).syscall
OPENAT2, CHMOD, FCHMOD, FCHMODAT, LINK, BENEATH = 437, 90, 91, 268, 86, 8
UTIMENSAT, CHOWN, SETXATTR, REMOVEXATTR = 280, 92, 188, 197
def opened(name, flags, mode, resolve):
    how = struct.pack('QQQ', flags, mode, resolve)
    fd = call(OPENAT2, -100, name, how, len(how))
    return fd if fd >= 0 else errno.errorcode[ctypes.get_errno()]
fd = opened(b'f', os.O_CREAT | os.O_RDWR, 0o640, 0)
print(os.write(fd, b'x' * 100000), os.pread(opened(b'f', os.O_RDONLY, 0, 0), 3, 9))
print(opened(b'f', os.O_RDONLY, 0, BENEATH), opened(b'../mount/f', os.O_RDONLY, 0, BENEATH))
print(os.fstat(opened(b'../outside', os.O_CREAT, 0o600, 0)).st_size, opened(b'../outside', 0, 0, BENEATH))
print(opened(b'f', 1 << 40, 0, 0), opened(b'f', os.O_RDONLY, 0o600, 0), opened(b'f', os.O_CREAT, 0o10000, 0))
print(call(CHMOD, b'f', 0o600), oct(os.stat('f').st_mode), call(FCHMODAT, -100, b'f', 0o644), oct(os.stat('f').st_mode))
print(call(UTIMENSAT, -100, b'f', struct.pack('qqqq', 5, 0, 7, 0), 0), os.stat('f').st_mtime, call(CHOWN, b'f', os.getuid(), -1))
print(call(SETXATTR, b'f', b'user.it', b'word', 4, 0), os.getxattr('f', 'user.it'), call(REMOVEXATTR, b'f', b'user.it'), os.listxattr('f'))
print(call(FCHMOD, fd, 0o604), oct(os.stat('f').st_mode), call(LINK, b'f', b'g'), errno.errorcode[ctypes.get_errno()])";
    let told = "100000 b'xxx'\nENOSYS ENOSYS\n0 EXDEV\nEINVAL EINVAL EINVAL\n0 0o100600 0 0o100644\n0 7.0 0\n0 b'word' 0 []\n0 0o100604 -1 EPERM\n";
    assert_eq!(stowed.python(script), told);
}

/// The attack: a container of many logs, which takes all descriptors of whoever opens it.
#[test]
fn a_container_of_many_logs_leaves_descriptors_to_the_program() {
    let stowed = Stowed::new();
    let target = Target { name: "ost0".into(), path: stowed.storage.targets[0].clone() };
    let container = Arc::new(Container::create(&stowed.at("gift"), &[target]).unwrap());
    // At the same time, so that some have logs of their own.
    let open = || Writer::open(container.clone(), Placement::Striped).unwrap();
    let mut writers: Vec<Writer> = (0..40).map(|_| open()).collect();
    (0..).zip(&mut writers).for_each(|(it, writer)| writer.write_at(b"x", it).unwrap());
    writers.into_iter().for_each(|it| it.close().unwrap());
    assert!(container.logs().unwrap().len() >= 8);
    let script = |most: u32| {
        format!(
            "import os, resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({most}, {most}))
try: print(os.stat('gift').st_size, len(open('gift', 'rb').read()))
except OSError as error: print(os.strerror(error.errno))
print(len(os.listdir('/proc/self/fd')) < {most} // 2)"
        )
    };
    assert_eq!(stowed.python(&script(28)), "Too many open files in system\nTrue\n");
    assert_eq!(stowed.python(&script(400)), "40 40\nTrue\n");
}

/// The attack: a container of some bytes that claims to be a long file, which a program maps.
#[test]
fn a_mapping_of_holes_takes_no_memory() {
    let stowed = Stowed::new();
    let script = "import mmap, os, resource
fd = os.open('f', os.O_CREAT | os.O_RDWR)
os.write(fd, b'first'); os.pwrite(fd, b'between', 1 << 30); os.truncate(fd, 3 << 30)
memory = mmap.mmap(fd, 0, access=mmap.ACCESS_READ)
assert memory[:6] == b'first\\0' and memory[(1 << 30) - 1:(1 << 30) + 8] == b'\\0between\\0'
assert memory[-1] == memory[2 << 30] == 0 and len(memory) == 3 << 30
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 200_000)";
    assert_eq!(stowed.python(script), "True\n");
}

/// What a container needs takes no number of the program's, where the system allows that.
#[test]
fn a_program_with_many_files_open_writes_to_all_of_them() {
    let script = "
import os, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 20000))
files = [os.open(f'f{number}', os.O_CREAT | os.O_RDWR) for number in range(1000)]
for file in files: assert os.write(file, b'x' * 40000) == 40000
for file in files: assert os.pread(file, 50000, 0) == b'x' * 40000
print(resource.getrlimit(resource.RLIMIT_NOFILE))";
    assert_eq!(Stowed::new().python(script), "(1024, 20000)\n");
}

#[test]
fn a_program_without_any_descriptor_left_is_told_so() {
    let script = "
import os, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
files = []
try:
    while True: files.append(os.open(f'f{len(files)}', os.O_CREAT | os.O_RDWR))
except OSError: pass
for file in files:
    try: os.write(file, b'x' * 40000)
    except OSError as error:
        print(error.strerror)
        break";
    assert_eq!(Stowed::new().python(script), "Too many open files\n");
}

/// The logs are the former user's.
#[test]
fn a_program_that_gives_up_root_cannot_use_what_it_has_open() {
    if !Attacker::can_be_had() {
        return;
    }
    let script = format!(
        "
import errno, os
f = os.open('f', os.O_CREAT | os.O_RDWR)
os.write(f, b'x' * 100000)
os.fsync(f)
os.setuid({ATTACKER})
for attempt in [lambda: os.fsync(f), lambda: os.pread(f, 10, 0)]:
    try: print('done', attempt())
    except OSError as error: assert error.errno in [errno.EACCES, errno.EIO], error"
    );
    let outcome = Stowed::new().run(&[python(), "-c", &script]);
    let told = (outcome.status, outcome.stdout.as_str(), outcome.stderr.as_str());
    assert_eq!(told, (Some(0), "", ""));
}
