//! Where others move directories, replace names or lay links, nothing that a program writes goes astray without a word.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use super::Stowed;
use super::exchanged::Exchange;
use crate::support::attacker::{ATTACKER, Attacker};
use crate::support::command::{Outcome, binary};
use crate::support::recording::library;

/// The kernel's writes past a container.
fn bytes_in_anchors(stowed: &Stowed) -> String {
    let mut command = Command::new("find");
    command.arg(stowed.at("")).args(["-name", "anchor", "-size", "+0"]);
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

#[test]
fn a_path_that_is_too_long_to_be_told_is_no_reason_to_write_elsewhere() {
    let stowed = Stowed::new();
    let told = stowed.python(
        "import os
os.mkdir('team')
fd = os.open('team/out', os.O_CREAT | os.O_RDWR)
os.write(fd, b'before')
at = os.open('.', os.O_RDONLY)
for _ in range(20):
    os.mkdir('d' * 240, dir_fd=at)
    at = os.open('d' * 240, os.O_RDONLY, dir_fd=at)
os.rename('team', 'team', dst_dir_fd=at)
if os.fork() == 0:
    try: print('written', os.write(fd, b'astray'), flush=True)
    except OSError as error: print(os.strerror(error.errno), flush=True)
    os._exit(0)
os.wait()
os.rename('team', 'team', src_dir_fd=at)",
    );
    assert_eq!(told, "Stale file handle\n");
    assert_eq!(bytes_in_anchors(&stowed), "");
    assert_eq!(stowed.cat("team/out"), b"before");
}

#[test]
fn without_proc_nothing_is_written_elsewhere() {
    let can_unshare = Command::new("unshare").args(["--mount", "true"]).status();
    if !can_unshare.is_ok_and(|it| it.success()) {
        eprintln!("SKIPPED: needs the right to mount");
        return;
    }
    let stowed = Stowed::new();
    let script = "(mount -t tmpfs none /proc && seq 1 1000) > x; echo $?";
    let outcome = stowed.run(&["unshare", "--mount", "sh", "-c", script]);
    assert_eq!(outcome.stdout, "1\n", "{}", outcome.stderr);
    assert!(outcome.stderr.contains("Stale file handle"), "{}", outcome.stderr);
    assert_eq!(bytes_in_anchors(&stowed), "");
}

#[test]
fn what_a_rename_replaces_does_not_stay_where_the_file_was() {
    let stowed = Stowed::new();
    fs::write(stowed.at("../thesis"), "thesis").unwrap();
    stowed.shell("mkdir private team; echo file > team/r");
    symlink(stowed.at("../thesis"), stowed.at("team/l")).unwrap();
    let exchange = Exchange::of(&stowed, ["team/r", "team/l"]);
    let left = stowed.python(
        "import os, time
end, left = time.time() + 3, 0
while time.time() < end:
    with open('private/r', 'w') as file: file.write('new')
    try: os.rename('private/r', 'team/r')
    except OSError: os.unlink('private/r')
    left += os.path.lexists('private/r')
    if not os.path.lexists('team/l'): break
print(left)",
    );
    drop(exchange);
    assert_eq!(left, "0\n");
    assert_eq!(fs::read(stowed.at("../thesis")).unwrap(), b"thesis");
}

#[test]
fn a_file_that_is_replaced_is_read_as_the_old_or_the_new_one() {
    let stowed = Stowed::new();
    let told = stowed.python(
        "import os, time
with open('f', 'w') as file: file.write('x' * 1000)
end = time.time() + 3
readers = []
for _ in range(2):
    readers.append(os.fork())
    if readers[-1] == 0:
        wrong = set()
        while time.time() < end:
            try:
                with open('f') as file: size = len(file.read())
                if size != 1000: wrong.add(size)
            except OSError as error: wrong.add(os.strerror(error.errno))
        if wrong: print(wrong, flush=True)
        os._exit(0)
while time.time() < end:
    with open('f.tmp', 'w') as file: file.write('x' * 1000)
    os.replace('f.tmp', 'f')
for reader in readers: os.waitpid(reader, 0)",
    );
    assert_eq!(told, "");
}

#[test]
fn a_mount_behind_a_link_of_somebody_else_is_refused() {
    if !Attacker::can_be_had() {
        return;
    }
    let stowed = Stowed::new();
    let link = stowed.storage.folder.path().join("link");
    symlink(stowed.at(""), &link).unwrap();
    std::os::unix::fs::lchown(&link, Some(ATTACKER), None).unwrap();
    let mut command = binary();
    command.args(["stow", "run", "--mount"]).arg(&link).arg("--targets");
    command.args(&stowed.storage.targets).args(["--", "true"]);
    let outcome: Outcome = command.output().unwrap().into();
    assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("cannot use"), "{}", outcome.stderr);
    let mut command = Command::new("sh");
    command.args(["-c", "echo plain > new"]).current_dir(&link);
    command.env("LD_PRELOAD", library()).env("PLIMSOLL_STOW_MOUNT", &link);
    command.env("PLIMSOLL_STOW_TARGETS", &stowed.storage.targets[0]);
    let outcome: Outcome = command.output().unwrap().into();
    assert!(outcome.stderr.contains("behind a link of another user"), "{}", outcome.stderr);
    assert!(stowed.at("new").is_file());
}

/// Where the path of the mount cannot be told, nothing is below it: not everything.
#[test]
fn a_program_that_begins_without_proc_makes_no_containers() {
    let can_unshare = Command::new("unshare").args(["--mount", "true"]).status();
    if !can_unshare.is_ok_and(|it| it.success()) {
        eprintln!("SKIPPED: needs the right to mount");
        return;
    }
    let stowed = Stowed::new();
    let script =
        "mount -t tmpfs none /proc && sh -c 'echo plain > ../outside; echo plain > inside'";
    let outcome = stowed.run(&["unshare", "--mount", "sh", "-c", script]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    for name in ["../outside", "inside"] {
        assert_eq!(fs::read(stowed.at(name)).unwrap(), b"plain\n", "{name}");
    }
}

/// A program that inherits what it writes to begins while its library cannot enter the mount.
#[test]
fn what_is_inherited_is_served_while_the_mount_cannot_be_entered() {
    let stowed = Stowed::new();
    let script = "exec > out 2> errors
chmod 0 \"$ABOVE\"; mv \"$ABOVE/mount\" \"$ABOVE/away\"; ln -s /tmp \"$ABOVE/mount\"
/bin/echo one; (ulimit -n 4; exec /bin/echo two) || echo failed; cd /; /bin/echo three
rm \"$ABOVE/mount\"; mv \"$ABOVE/away\" \"$ABOVE/mount\"; chmod 700 \"$ABOVE\"";
    let mut command = stowed.command(&[]);
    let above = stowed.storage.folder.path();
    let outcome: Outcome =
        command.args(["sh", "-c", script]).env("ABOVE", above).output().unwrap().into();
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let held = stowed.output(&["cat", "out"]);
    // Without descriptors it may be told that it cannot.
    assert!(["one\ntwo\nthree\n", "one\nfailed\nthree\n"].contains(&held.as_str()), "{held}");
    assert_eq!(fs::read(stowed.at("out/anchor")).unwrap(), b"");
}

/// To our own program containers are directories, but what a shell has it print into one is in it.
#[test]
fn what_plimsoll_prints_is_in_the_file() {
    let stowed = Stowed::new();
    let program = binary().get_program().to_str().unwrap().to_string();
    let script = format!(
        "{program} --version > version; {program} stow ls . > listing; cat version listing"
    );
    let told = stowed.output(&["sh", "-c", &script]);
    assert!(told.starts_with("plimsoll ") && told.contains("version"), "{told}");
    assert_eq!(fs::read(stowed.at("version/anchor")).unwrap(), b"");
}

#[test]
fn renaming_a_copy_does_not_make_the_logs_its_own() {
    let stowed = Stowed::new();
    let copy = || {
        let mut command = Command::new("cp");
        command.arg("-rp").arg(stowed.at("precious")).arg(stowed.at("copy"));
        assert!(command.status().unwrap().success());
    };
    stowed.shell("echo data > precious");
    copy();
    stowed.shell("mv copy copy2; rm copy2");
    assert_eq!(stowed.output(&["cat", "precious"]), "data\n");
    copy();
    stowed.shell("mv copy precious");
    assert_eq!(stowed.output(&["cat", "precious"]), "data\n");
    stowed.shell("echo more >> precious; rm precious");
    let left = |target: &std::path::PathBuf| fs::read_dir(target).unwrap().count();
    assert_eq!(stowed.storage.targets.iter().map(left).sum::<usize>(), 0, "logs are gone");
}

/// A program's lock up to the end of a file reaches to where ours are on anchors, and one may look like ours: the path tells that it is a plain file.
#[test]
fn locks_on_plain_files_make_no_anchors_of_them() {
    let stowed = Stowed::new();
    fs::write(stowed.at("../plain"), "plain\n").unwrap();
    let script = "
import fcntl, os, subprocess
held = open('../plain', 'r+')
for lock in [(0, 0), (1, 2**62 + 5)]:
    fcntl.lockf(held, fcntl.LOCK_UN)
    fcntl.lockf(held, fcntl.LOCK_EX, *lock)
    subprocess.run(['cat'], stdin=open('../plain'), check=True)
    subprocess.run(['cat', '../plain'], check=True)";
    assert_eq!(stowed.python(script), "plain\n".repeat(4));
}

/// The attack: who may rename a plain file of the victim's, which is open, makes it look like an anchor whose path is gone, cannot be told, or does not count.
#[test]
fn a_plain_file_stays_one_however_others_name_and_lock_it() {
    if !Attacker::can_be_had() {
        return;
    }
    let lock = "file = open('log')
fcntl.fcntl(file, 37, struct.pack('hhqqi4x', fcntl.F_RDLCK, 0, 2**62 + 5, 1, 0))";
    let beside = "os.mkdir('x'); open('x/plimsoll-container', 'w'); os.rename('log', 'x/anchor')";
    let deep = "at = os.open('.', os.O_RDONLY)
for _ in range(20):
    os.mkdir('d' * 240, dir_fd=at)
    at = os.open('d' * 240, os.O_RDONLY, dir_fd=at)
os.rename('log', 'log', dst_dir_fd=at)";
    let cases = [
        format!("{lock}\nos.rename('log', 'log (deleted)')"),
        format!("{lock}\nos.rename('log', 'anchor (deleted)')"),
        format!("{lock}\n{beside}"),
        beside.to_string(),
        format!("{lock}\n{deep}"),
    ];
    for case in cases {
        let stowed = Stowed::new();
        let above = stowed.storage.folder.path();
        fs::set_permissions(above, fs::Permissions::from_mode(0o755)).unwrap();
        let theirs = above.join("theirs");
        fs::create_dir(&theirs).unwrap();
        std::os::unix::fs::chown(&theirs, Some(ATTACKER), None).unwrap();
        fs::write(theirs.join("log"), "").unwrap();
        let mut log = fs::File::open(theirs.join("log")).unwrap();
        let script = "exec >> ../theirs/log; > ../ready
            until [ -e ../theirs/done ]; do sleep 0.05; done; /bin/echo one; /bin/echo two";
        let attack = format!(
            "exec python3 -c \"import fcntl, os, struct, time\n{case}\nopen('done', 'w')\ntime.sleep(1000)\""
        );
        let outcome = std::thread::scope(|scope| {
            let run = scope.spawn(|| stowed.run(&["sh", "-c", script]));
            while !above.join("ready").exists() && !run.is_finished() {
                std::thread::yield_now();
            }
            let _attacker = Attacker::repeats(&theirs, &attack);
            run.join().unwrap()
        });
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{case}");
        let mut held = String::new();
        log.read_to_string(&mut held).unwrap();
        assert_eq!(held, "one\ntwo\n", "{case}");
    }
}

#[test]
fn a_copy_in_place_of_another_copy_gets_no_logs() {
    let stowed = Stowed::new();
    stowed.shell("echo data > precious");
    for copy in ["c1", "c2"] {
        let mut command = Command::new("cp");
        command.arg("-rp").arg(stowed.at("precious")).arg(stowed.at(copy));
        assert!(command.status().unwrap().success());
    }
    stowed.shell("mv c1 c2; rm c2; echo more >> precious");
    assert_eq!(stowed.output(&["cat", "precious"]), "data\nmore\n");
}
