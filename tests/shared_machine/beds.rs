//! Root cleans up test beds where somebody else has a say.

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid, chownat, mkdirat, openat};

use super::{Base, assert_refused};
use crate::support::attacker::{ATTACKER, Attacker};
use crate::support::command::{Outcome, binary, copy_program};

/// The attack: a bed of the attacker's own, which stays locked for ever.
#[test]
fn root_does_not_wait_for_ever_for_a_bed_that_its_owner_keeps_locked() {
    let Some(base) = Base::new() else { return };
    let theirs = bed_of_attacker(&base);
    let holder = keep_locked(&theirs);
    let outcome = base.testbed(&theirs, "down");
    let error = outcome.stderr.lines().last().unwrap();
    assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
    assert!(error.contains(".default.lock: it is held by process "), "{error}");
    assert!(!error.contains("process 1;"), "the attacker's word is not taken: {error}");
    assert!(error.contains("hint: see what it is with ps -p "), "{error}");
    drop(holder);
    assert_eq!(base.testbed(&theirs, "down").status, Some(0));
    assert_eq!(fs::read_dir(&theirs).unwrap().count(), 0);
}

/// The attack: root works with the rights of the bed's owner, who sends signals to whatever has these.
#[test]
fn the_owner_of_a_bed_cannot_stop_roots_down() {
    let Some(base) = Base::new() else { return };
    let (theirs, notes) = (bed_of_attacker(&base), base.directory("notes", ATTACKER, 0o755));
    let holder = keep_locked(&theirs);
    let mut down = binary();
    down.args(["testbed", "--base"]).arg(&theirs).arg("down");
    let mut down = down.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let threads = loop {
        assert_eq!(down.try_wait().unwrap(), None, "it waits for the lock");
        let threads = threads_with_users(down.id());
        if threads.iter().any(|(_, user)| *user == ATTACKER) {
            break threads;
        }
        std::thread::yield_now();
    };
    // To a thread's number kill(2) asks for rights over that thread.
    let attacks = threads.iter().map(|(thread, _)| {
        format!("kill -0 {thread} && touch signalled; kill -STOP {thread} && kill -CONT {thread} && touch stopped;")
    });
    Attacker::does(&notes, &format!("{} kill -0 $$", attacks.collect::<String>()));
    drop(holder);
    assert!(down.wait().unwrap().success());
    assert_eq!(fs::read_dir(&notes).unwrap().count(), 0, "a signal arrived");
    assert_eq!(fs::read_dir(&theirs).unwrap().count(), 0);
}

/// Returns the threads of a process, each with the user whose files it works on (the fourth in proc_pid_status(5)).
fn threads_with_users(process: u32) -> Vec<(String, u32)> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten();
    let user = |thread: fs::DirEntry| {
        let status = fs::read_to_string(thread.path().join("status")).ok()?;
        let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
        let user = users.split_whitespace().nth(3)?.parse().ok()?;
        Some((thread.file_name().to_str()?.to_owned(), user))
    };
    threads.filter_map(user).collect()
}

/// Returns the base directory of a bed that the attacker made.
fn bed_of_attacker(base: &Base) -> PathBuf {
    let theirs = base.directory("theirs", ATTACKER, 0o755);
    // Where everyone can start it.
    let plimsoll = base.folder.path().join("plimsoll");
    copy_program(binary().get_program(), &plimsoll);
    fs::set_permissions(&plimsoll, fs::Permissions::from_mode(0o755)).unwrap();
    let up = "testbed --base . up --kind directory --targets 1 --size 16MiB";
    Attacker::does(&theirs, &format!("{} {up}", plimsoll.display()));
    theirs
}

/// Returns once it is locked.
fn keep_locked(theirs: &Path) -> Attacker {
    let holder =
        Attacker::repeats(theirs, "echo 1 > .default.lock; flock .default.lock sleep 1000");
    while !fs::read_to_string("/proc/locks").unwrap().contains(&inode(theirs)) {
        std::thread::yield_now();
    }
    holder
}

fn inode(base: &Path) -> String {
    use std::os::unix::fs::MetadataExt;
    format!(":{} ", fs::metadata(base.join(".default.lock")).unwrap().ino())
}

/// The attack: directories in directories, more of them than a stack, a path or the open files of a process can be.
#[test]
fn a_deep_tree_of_its_owner_does_not_end_roots_down() {
    let Some(base) = Base::new() else { return };
    let theirs = bed_of_attacker(&base);
    let mut deepest: OwnedFd = File::open(theirs.join("default/t0")).unwrap().into();
    for _ in 0..30_000 {
        mkdirat(&deepest, "a", Mode::RWXU).unwrap();
        let (user, group) = (Uid::from_raw(ATTACKER), Gid::from_raw(ATTACKER));
        chownat(&deepest, "a", Some(user), Some(group), AtFlags::empty()).unwrap();
        deepest = openat(&deepest, "a", OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    drop(deepest);
    let script = "ulimit -n 256; exec timeout 600 \"$0\" testbed --base \"$1\" down";
    let mut down = Command::new("sh");
    down.args(["-c", script]).arg(binary().get_program()).arg(&theirs).env("NO_COLOR", "1");
    let outcome: Outcome = down.output().unwrap().into();
    let left = fs::read_dir(&theirs).unwrap().count();
    // What removes the folder cannot go that deep either.
    Command::new("rm").arg("-rf").arg(&theirs).status().unwrap();
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_eq!(left, 0);
}

/// The attack: a file of the victim's is given the name of the lock.
#[test]
fn a_file_that_was_given_the_name_of_a_lock_is_neither_emptied_nor_removed() {
    let Some(base) = Base::new() else { return };
    let open = base.directory("open", 0, 0o777);
    fs::write(open.join("precious"), "1234567\n").unwrap();
    Attacker::does(&open, "mv precious .default.lock");
    assert_refused(&base.testbed(&open, "down"), "everyone can write to");
    assert_eq!(fs::read_to_string(open.join(".default.lock")).unwrap(), "1234567\n");
    // Where nobody else has a say any more, and the file stays.
    fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(open.join(".default.lock"), "thesis").unwrap();
    assert_refused(&base.testbed(&open, "down"), "something else than a lock");
    assert_eq!(fs::read_to_string(open.join(".default.lock")).unwrap(), "thesis");
}

/// The attack: whoever makes a directory of a name that can be guessed owns the bed in it, and plants links in its targets.
#[test]
fn targets_of_anothers_bed_are_not_handed_on() {
    let Some(base) = Base::new() else { return };
    let theirs = bed_of_attacker(&base);
    let precious = base.folder.path().join("precious");
    fs::write(&precious, "thesis").unwrap();
    let plant = format!("ln -s {} default/t0/out.dat", precious.display());
    Attacker::does(&theirs, &plant);
    let run = |arguments: &str| -> Outcome {
        let mut command = binary();
        command.args(arguments.split_whitespace()).arg("--base").arg(&theirs);
        command.current_dir(base.folder.path()).output().unwrap().into()
    };
    let script = base.folder.path().join("checkpoint");
    fs::write(&script, "echo checkpoint > $PLIMSOLL_TARGETS/out.dat\n").unwrap();
    let outcome = base.testbed(&theirs, &format!("run -- sh {}", script.display()));
    let words = format!("{} belongs to user {ATTACKER}", theirs.display());
    assert_refused(&outcome, &words);
    for command in [
        "bench target --testbed default --burst 1MiB --rounds 1 -o out",
        "route bench --testbed default --policy static --writers 1 --blocks 1 --block-size 4KiB --rounds 1",
    ] {
        assert_refused(&run(command), &words);
    }
    assert_eq!(fs::read_to_string(&precious).unwrap(), "thesis");
    // A site can be described all the same.
    let site = run("site init -o -");
    assert_eq!(site.status, Some(0), "{}", site.stderr);
    assert!(!site.stdout.contains(theirs.to_str().unwrap()), "{}", site.stdout);
    assert!(site.stderr.contains(&words), "{}", site.stderr);
    let listed = base.testbed(&theirs, "list");
    assert!(listed.stdout.contains("of user 65533; complete"), "{}", listed.stdout);
    assert_eq!(base.testbed(&theirs, "down").status, Some(0));
    // What root made, in a place that is nobody else's, others may use.
    let ours = base.directory("ours", 0, 0o755);
    let up = base.testbed(&ours, "up --targets 1 --size 16MiB --kind directory");
    assert_eq!(up.status, Some(0), "{}", up.stderr);
    // Where this one was built, others may not come.
    let program = ours.join("../plimsoll");
    copy_program(binary().get_program(), &program);
    let mut command = Command::new(program);
    command.args(["testbed", "--base"]).arg(&ours).args(["run", "--", "true"]);
    let outcome: Outcome = command.uid(ATTACKER).gid(ATTACKER).output().unwrap().into();
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_eq!(base.testbed(&ours, "down").status, Some(0));
}
