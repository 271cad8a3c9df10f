//! What is done to a name that is exchanged meanwhile, or that cannot be held, is never done to the directory of a container.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::{Child, Command, Stdio};

use super::Stowed;
use crate::support::attacker::{ATTACKER, Attacker};
use crate::support::command::Outcome;
use crate::support::recording::{has, python};

/// What changes a file by its name.
const CHANGES: &str = "
import os
changes = {
    'chmod': lambda: os.chmod('x', 0o777),
    'chown': lambda: os.chown('x', os.getuid(), os.getgid()),
    'utime': lambda: os.utime('x', (1e9, 1e9)),
    'setxattr': lambda: os.setxattr('x', 'user.plimsoll', b'1'),
    'removexattr': lambda: os.removexattr('x', 'user.plimsoll'),
}
def tell(name, change):
    try: change()
    except OSError as error: print(name, os.strerror(error.errno))
    else: print(name, 'done')
";

/// Each change, with what it gave.
fn each(told: &str) -> String {
    let names = ["chmod", "chown", "utime", "setxattr", "removexattr"];
    names.iter().map(|name| format!("{name} {told}\n")).collect()
}

#[track_caller]
fn assert_untouched(stowed: &Stowed, name: &str) {
    let facts = fs::metadata(stowed.at(name)).unwrap();
    assert_eq!(facts.permissions().mode() & 0o7777, 0o700, "rights of the container");
    assert_ne!(facts.mtime(), 1_000_000_000, "times of the container");
    let mut attribute = [0; 8];
    let found = rustix::fs::getxattr(stowed.at(name), "user.plimsoll", &mut attribute);
    assert!(found.is_err(), "an attribute of the container");
}

#[test]
fn without_descriptors_no_container_is_changed() {
    let stowed = Stowed::new();
    stowed.shell("echo precious > x");
    let script = "
held = []
try:
    while True: held.append(os.open('/dev/null', os.O_RDONLY))
except OSError: pass
for it in changes.items(): tell(*it)
";
    let script = format!("{CHANGES}{script}");
    let mut command = stowed.command(&[]);
    command.args(["prlimit", "--nofile=64:64", python(), "-c", &script]);
    let output = command.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), each("Too many open files"));
    assert_untouched(&stowed, "x");
    assert_eq!(stowed.output(&["cat", "x"]), "precious\n");
}

#[test]
fn links_of_others_change_no_container() {
    if !Attacker::can_be_had() {
        return;
    }
    let stowed = Stowed::new();
    stowed.shell("echo precious > mine; echo plain > ../plain");
    let script = format!("{CHANGES}\nfor it in changes.items(): tell(*it)");
    for (target, told) in [("mine", "Permission denied"), ("../plain", "done")] {
        symlink(target, stowed.at("x")).unwrap();
        std::os::unix::fs::lchown(stowed.at("x"), Some(ATTACKER), None).unwrap();
        let found = stowed.python(&script).replace("Operation not supported", told);
        assert_eq!(found.replace("No data available", told), each(told), "{target}");
        fs::remove_file(stowed.at("x")).unwrap();
    }
    assert_untouched(&stowed, "mine");
    assert_eq!(fs::metadata(stowed.at("../plain")).unwrap().mtime(), 1_000_000_000);
}

/// Exchanges two names again and again, until it is dropped.
pub(super) struct Exchange(Child);

impl Exchange {
    pub(super) fn of(stowed: &Stowed, names: [&str; 2]) -> Self {
        let script = "
import ctypes, signal, sys
signal.alarm(60)
exchange = ctypes.CDLL(None).renameat2
one, other = (name.encode() for name in sys.argv[1:])
while True: exchange(-100, one, -100, other, 2)";
        let mut command = Command::new(python());
        command.args(["-c", script]).args(names).current_dir(stowed.at(""));
        Exchange(command.stdin(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn what_is_exchanged_while_it_is_changed_is_no_container() {
    let stowed = Stowed::new();
    stowed.shell("echo precious > y; mkdir x");
    let exchange = Exchange::of(&stowed, ["x", "y"]);
    let script = "
import time
end, inside = time.time() + 2, 0
here = os.getcwd()
def enter():
    os.chdir('x')
    try: return os.path.lexists('plimsoll-container')
    finally: os.chdir(here)
def look():
    global inside
    inside += 'plimsoll-container' in os.listdir('x')
    inside += enter()
while time.time() < end:
    for change in [*changes.values(), look]:
        try: change()
        except OSError: pass
print(inside)";
    assert_eq!(stowed.python(&format!("{CHANGES}{script}")), "0\n", "looked into a container");
    drop(exchange);
    let of = ["x", "y"].into_iter().find(|name| stowed.at(name).join("anchor").exists());
    assert_untouched(&stowed, of.unwrap());
}

/// Whoever may rename a directory, as in one that a group shares, can give its name to another one.
#[test]
fn who_works_in_a_directory_comes_into_no_other_one() {
    for options in [&[][..], &["--small", "0B"]] {
        let stowed = Stowed::new();
        stowed.shell(
            "mkdir one two; for d in one two; do echo $d > $d/data; ln -s data $d/link; done",
        );
        let exchange = Exchange::of(&stowed, ["one", "two"]);
        let script = "
import os, time
os.chdir('one')
here, end, made = open('data').read(), time.time() + 3, 0
while time.time() < end:
    for flags in (os.O_RDONLY, os.O_RDWR):
        link = os.open('link', flags)
        read = os.read(link, 10).decode()
        assert read == here, (read, here)
        if flags == os.O_RDWR: os.pwrite(link, here.encode(), 0)
        os.close(link)
    os.close(os.open(f'new-{made % 50}', os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    made += 1
    if made % 50 == 0:
        new = [it for it in os.listdir('.') if it.startswith('new-')]
        assert len(new) == 50, len(new)
        for it in new: os.remove(it)
assert made > 20, made
print(open('data').read() == here)";
        let mut command = stowed.command(options);
        let outcome: Outcome = command.args([python(), "-c", script]).output().unwrap().into();
        assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("True\n", ""));
        drop(exchange);
    }
}

/// What is replaced comes to where the other file was for a moment; those who could not come to it before must not see it there.
#[test]
fn what_is_replaced_in_a_closed_directory_is_not_shown_in_an_open_one() {
    if !has(&["strace"]) {
        return;
    }
    for (modes, others) in [
        ([0o700, 0o755], 0),
        // Who may only pass must know the name.
        ([0o755, 0o711], 0),
        ([0o755, 0o755], 0o044),
    ] {
        assert_eq!(shown_while_replaced(modes), others, "{modes:?}");
    }
}

/// What others may do with a plain file of mode 0644 in directories of these modes, of which one is in the other, while a file of an open directory takes its place.
fn shown_while_replaced(modes: [u32; 2]) -> u32 {
    let stowed = Stowed::new();
    for (directory, mode) in [("above", modes[0]), ("above/in", modes[1]), ("open", 0o755)] {
        fs::create_dir(stowed.at(directory)).unwrap();
        fs::set_permissions(stowed.at(directory), fs::Permissions::from_mode(mode)).unwrap();
    }
    let secret = stowed.at("above/in/secret");
    fs::write(&secret, "secret").unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o644)).unwrap();
    let number = fs::metadata(&secret).unwrap().ino();
    stowed.shell("echo new > open/new");
    let mut renaming = stowed
        .command(&["--except", "*secret*"])
        .args(["strace", "-f", "-qq", "-o", "/dev/null"])
        .args(["--inject=renameat2:delay_exit=300000", python(), "-c"])
        .arg("import os; os.rename('open/new', 'above/in/secret')")
        .spawn()
        .unwrap();
    let mut shown = None;
    while renaming.try_wait().unwrap().is_none() {
        for entry in fs::read_dir(stowed.at("open")).unwrap().flatten() {
            if let Some(facts) = entry.metadata().ok().filter(|it| it.ino() == number) {
                shown = Some(shown.unwrap_or(0) | facts.mode() & 0o077);
            }
        }
    }
    assert!(renaming.wait().unwrap().success());
    assert_eq!(stowed.shell("cat above/in/secret; ls open"), "new\n");
    shown.expect("it was there for a moment")
}
