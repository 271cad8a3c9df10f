//! What `plimsoll stow mount --share` shows to others, who may also rename what is below the directory.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::support::attacker::{ATTACKER, Attacker};
use crate::support::command::{Outcome, binary};
use crate::support::recording::{has, python};
use crate::support::storage::Storage;
use crate::support::view::View;

/// A third user.
const OTHER: u32 = ATTACKER - 1;

/// Reads a file or lists a directory again and again, and tells what it saw.
const LOOKS: &str = "
import os, sys, time
end, seen, looks = time.time() + float(sys.argv[1]), set(), 0
while time.time() < end:
    for path in sys.argv[2:]:
        try:
            if path.endswith('/'):
                seen.update(os.listdir(path))
            else:
                with open(path) as file: seen.add(file.read())
            looks += 1
        except OSError: pass
print(looks, *sorted(seen))
";

/// Opens a file or a directory until that fails, tells why, and waits for the end of its input.
const HOARDS: &str = "
import os, sys
held, why = [], None
while not why:
    try: held.append(os.open(sys.argv[1], os.O_RDONLY))
    except OSError as error: why = error.errno
print(len(held), why, flush=True)
sys.stdin.read()
";

/// A directory of everybody's, which is to be shown to all.
struct Shown {
    storage: Storage,
}

impl Shown {
    /// `None`, and says so, where nobody else can be played.
    fn new() -> Option<Self> {
        if !Attacker::can_be_had() || !has(&[python(), "prlimit"]) {
            return None;
        }
        let shown = Shown { storage: Storage::with_targets(1) };
        set_mode(shown.path(), 0o755);
        shown.make("data", 0, 0o777);
        Some(shown)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.storage.folder.path().join(name)
    }

    fn path(&self) -> &Path {
        self.storage.folder.path()
    }

    fn write(&self, name: &str, text: &str, owner: u32, mode: u32) {
        fs::write(self.at(name), text).unwrap();
        chown(self.at(name), Some(owner), Some(owner)).unwrap();
        set_mode(&self.at(name), mode);
    }

    fn make(&self, name: &str, owner: u32, mode: u32) {
        fs::create_dir(self.at(name)).unwrap();
        chown(self.at(name), Some(owner), Some(owner)).unwrap();
        set_mode(&self.at(name), mode);
    }

    /// Makes a container of ours that holds this text; its anchor gets these rights.
    fn store(&self, name: &str, text: &str, mode: u32) {
        fs::write(self.at("text"), text).unwrap();
        let mut command = binary();
        command.args(["stow", "cp", "text", name, "--targets", "ost0"]).current_dir(self.path());
        let stored: Outcome = command.output().unwrap().into();
        assert_eq!(stored.status, Some(0), "{}", stored.stderr);
        set_mode(&self.at(name).join("anchor"), mode);
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Another user who runs a script; whatever takes that long hangs.
fn script(user: u32, script: &str) -> Command {
    let mut command = Command::new("timeout");
    command.args(["60", python(), "-c", script]).uid(user).gid(user).current_dir("/");
    command.env_clear().env("PATH", "/usr/bin:/bin").stdin(Stdio::null());
    command
}

fn looks(user: u32, seconds: &str, paths: &[PathBuf]) -> (u64, String) {
    let mut command = script(user, LOOKS);
    let outcome: Outcome = command.arg(seconds).args(paths).output().unwrap().into();
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let (count, seen) = outcome.stdout.split_once(' ').unwrap_or((&outcome.stdout, ""));
    (count.trim().parse().unwrap(), seen.to_string())
}

/// The attack: what others may read and what they may not change places, between the kernel's check and the opening.
#[test]
fn whatever_changes_places_others_read_only_what_they_may() {
    let Some(shown) = Shown::new() else { return };
    shown.write("data/open", "words\n", ATTACKER, 0o644);
    shown.write("data/closed", "SECRET\n", 0, 0o600);
    shown.make("data/open-folder", ATTACKER, 0o755);
    shown.write("data/open-folder/file", "words\n", ATTACKER, 0o644);
    shown.make("data/closed-folder", 0, 0o700);
    shown.write("data/closed-folder/file", "SECRET\n", 0, 0o644);
    shown.write("data/closed-folder/SECRET-name", "", 0, 0o644);
    shown.store("data/open-box", "words\n", 0o644);
    shown.store("data/closed-box", "SECRET\n", 0o600);
    let Some(view) = View::of(shown.path(), "data", &["--share"]) else { return };
    let every = |names: &[&str]| names.iter().map(|it| view.at(it)).collect::<Vec<_>>();
    for (what, paths) in [
        ("", every(&["open", "closed"])),
        ("-folder", every(&["open-folder/file", "closed-folder/file", "open-folder/"])),
        ("-box", every(&["open-box", "closed-box"])),
    ] {
        let (open, closed) = (format!("data/open{what}"), format!("data/closed{what}"));
        let is_over = AtomicBool::new(false);
        let exchange =
            || renameat_with(CWD, shown.at(&open), CWD, shown.at(&closed), RenameFlags::EXCHANGE);
        let (count, seen) = std::thread::scope(|scope| {
            let exchanging = scope.spawn(|| {
                let mut times = 0_u64;
                while !is_over.load(Ordering::Relaxed) {
                    exchange().unwrap();
                    times += 1;
                }
                // As they were at first.
                if times % 2 == 1 {
                    exchange().unwrap();
                }
            });
            let looked = looks(ATTACKER, "3", &paths);
            is_over.store(true, Ordering::Relaxed);
            exchanging.join().unwrap();
            looked
        });
        eprintln!("{open}: {count} looks");
        assert!(count > 0, "{open} was never read");
        assert!(!seen.contains("SECRET"), "{open}: {seen}");
        // What was renamed is found again.
        assert_eq!(looks(ATTACKER, "0.1", &paths[1..2]).0, 0, "{closed}");
        let (count, seen) = looks(ATTACKER, "0.1", &paths[..1]);
        assert!(count > 0 && seen.trim() == "words", "{open}: {seen}");
    }
    // Rights that were taken away count at the next opening, whatever the kernel has cached.
    for (name, anchor) in [("open", "data/open"), ("open-box", "data/open-box/anchor")] {
        assert!(looks(OTHER, "0.1", &every(&[name])).0 > 0);
        set_mode(&shown.at(anchor), 0o600);
        assert_eq!(looks(OTHER, "0.1", &every(&[name])).0, 0, "{name}");
    }
}

/// The attack: copies of a private container, with rights for all, while the attacker hides what is beside its logs and says whose they are. There are more copies than are kept open.
#[test]
fn copies_show_nothing_while_notes_are_hidden() {
    let Some(shown) = Shown::new() else { return };
    shown.make("private", 0, 0o700);
    shown.store("private/box", "SECRET\n", 0o644);
    chown(shown.at("ost0"), Some(ATTACKER), None).unwrap();
    let names: Vec<String> = (0..20).map(|number| format!("copy{number}")).collect();
    for name in &names {
        let copy = shown.at("data").join(name);
        let copied =
            Command::new("cp").arg("-r").arg(shown.at("private/box")).arg(&copy).status().unwrap();
        assert!(copied.success());
        set_mode(&copy, 0o755);
    }
    let Some(view) = View::of(shown.path(), "data", &["--share"]) else { return };
    let _hides = Attacker::repeats(
        &shown.at("ost0"),
        "for name in plimsoll-stow-*; do mv $name hidden; mv hidden $name; done",
    );
    let paths: Vec<PathBuf> = names.iter().map(|it| view.at(it)).collect();
    let (_, seen) = looks(ATTACKER, "3", &paths);
    assert!(!seen.contains("SECRET"), "{seen}");
}

/// The attack: one who may read takes all that the server has.
#[test]
fn one_user_cannot_take_all_descriptors() {
    let Some(shown) = Shown::new() else { return };
    shown.write("data/open", "words\n", 0, 0o644);
    shown.make("data/folder", 0, 0o755);
    let mut command = Command::new("prlimit");
    command.arg("--nofile=512:512").arg(binary().get_program());
    let Some(view) = View::by(command, shown.path(), "data", &["--share"]) else { return };
    let enfile = rustix::io::Errno::NFILE.raw_os_error();
    let mut hoarders = Vec::new();
    for (path, most) in [(view.at("open"), 128), (view.at("folder"), 16)] {
        let mut command = script(ATTACKER, HOARDS);
        let pipes = command.arg(path).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut hoarder = pipes.spawn().unwrap();
        let mut line = String::new();
        let output = hoarder.stdout.take().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).unwrap();
        assert_eq!(line.trim(), format!("{most} {enfile}"));
        hoarders.push(hoarder);
    }
    for user in [0, OTHER] {
        let paths = [view.at("open"), view.at("folder/")];
        let (count, seen) = looks(user, "0.1", &paths);
        assert!(count > 0 && seen.trim() == "words", "{user}: {seen}");
    }
    for hoarder in &mut hoarders {
        drop(hoarder.stdin.take());
        hoarder.wait().unwrap();
    }
    assert!(
        looks(ATTACKER, "0.1", &[view.at("open")]).0 > 0,
        "what was closed can be opened again"
    );
}

/// The attack: a file of somebody else as the anchor of a container shows its bytes as theirs.
#[test]
fn nothing_is_shown_as_a_file_of_somebody_who_did_not_write_it() {
    let Some(shown) = Shown::new() else { return };
    shown.store("data/box", "words\n", 0o644);
    shown.store("data/link", "words\n", 0o644);
    let Some(view) = View::of(shown.path(), "data", &["--share"]) else { return };
    assert_eq!(fs::read_to_string(view.at("box")).unwrap(), "words\n");
    chown(shown.at("data/box/anchor"), Some(ATTACKER), None).unwrap();
    fs::remove_file(shown.at("data/link/anchor")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", shown.at("data/link/anchor")).unwrap();
    let eio = rustix::io::Errno::IO.raw_os_error();
    for name in ["box", "link"] {
        assert_eq!(fs::metadata(view.at(name)).unwrap_err().raw_os_error(), Some(eio), "{name}");
        assert_eq!(File::open(view.at(name)).unwrap_err().raw_os_error(), Some(eio), "{name}");
    }
    chown(shown.at("data/box/anchor"), Some(0), None).unwrap();
    assert_eq!(fs::read_to_string(view.at("box")).unwrap(), "words\n");
}
