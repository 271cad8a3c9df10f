//! What `plimsoll stow mount` is asked to show, and where, in directories of another user.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::support::attacker::{ATTACKER, Attacker};
use crate::support::command::{Outcome, binary};
use crate::support::recording::has;
use crate::support::storage::Storage;
use crate::support::view::View;

/// A user that every Linux has: fusermount3 mounts for those who have a name.
const VICTIM: u32 = 1;

/// A directory of root's with one of the victim's and one of the attacker's.
struct Place {
    storage: Storage,
}

impl Place {
    /// `None`, and says so, where nobody else can be played or nothing mounted.
    fn new() -> Option<Self> {
        if !Attacker::can_be_had() {
            return None;
        }
        if !Path::new("/dev/fuse").exists() {
            eprintln!("SKIPPED: mounting needs /dev/fuse");
            return None;
        }
        let place = Place { storage: Storage::with_targets(0) };
        fs::set_permissions(place.at("."), fs::Permissions::from_mode(0o755)).unwrap();
        place.make("theirs", ATTACKER, 0o777);
        Some(place)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.storage.folder.path().join(name)
    }

    fn make(&self, name: &str, owner: u32, mode: u32) {
        fs::create_dir(self.at(name)).unwrap();
        chown(self.at(name), Some(owner), Some(owner)).unwrap();
        fs::set_permissions(self.at(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Mounts as this user, which ends by itself if it is refused.
    fn mount(&self, user: u32, arguments: &[&str]) -> Outcome {
        let mut command = Command::new("timeout");
        command.arg("60").arg(binary().get_program()).args(["stow", "mount"]).args(arguments);
        command.current_dir(self.at(".")).env("HOME", "/").uid(user).gid(user);
        command.stdin(Stdio::null()).output().unwrap().into()
    }

    #[track_caller]
    fn assert_refused(&self, user: u32, arguments: &[&str], words: &str) {
        let outcome = self.mount(user, arguments);
        assert_eq!(outcome.status, Some(2), "{arguments:?}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{arguments:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(words), "{arguments:?}: {}", outcome.stderr);
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let folder = self.storage.folder.path().to_str().unwrap();
        assert!(!mounts.contains(folder), "{arguments:?}: {mounts}");
    }
}

/// The attack: a link of the attacker's as the mount point, to a private directory of the victim's, and directories above it that the attacker can exchange.
#[test]
fn nothing_of_the_victims_is_mounted_over() {
    let Some(place) = Place::new() else { return };
    place.make("home", VICTIM, 0o700);
    place.make("home/data", VICTIM, 0o755);
    place.make("home/precious", VICTIM, 0o700);
    fs::write(place.at("home/precious/thesis"), "").unwrap();
    place.make("sticky", 0, 0o1777);
    place.make("theirs/point", VICTIM, 0o700);
    place.make("roots", 0, 0o777);
    let precious = place.at("home/precious");
    for folder in ["theirs", "sticky"] {
        Attacker::does(&place.at(folder), &format!("ln -s {} link", precious.display()));
    }
    let words = format!("symlink of user {ATTACKER}");
    place.assert_refused(VICTIM, &["home/data", "sticky/link"], &words);
    let words = format!("belongs to user {ATTACKER}");
    place.assert_refused(VICTIM, &["home/data", "theirs/link"], &words);
    place.assert_refused(VICTIM, &["home/data", "theirs/point"], &words);
    place.assert_refused(VICTIM, &["home/data", "home/precious"], "it is not empty");
    place.assert_refused(VICTIM, &["home/data", "roots"], "everyone can write to");
    place.assert_refused(VICTIM, &["home/data", "/usr"], "it belongs to user 0");
}

/// No attack: where nobody else can exchange anything, a user mounts, and the mount goes at the end.
#[test]
fn a_user_mounts_on_an_empty_directory_of_theirs() {
    let Some(place) = Place::new() else { return };
    if !has(&["fusermount3"]) {
        return;
    }
    // Where udev does not run, only root may.
    let is_open = |device: fs::Metadata| device.permissions().mode() & 0o006 == 0o006;
    if !fs::metadata("/dev/fuse").is_ok_and(is_open) {
        eprintln!("SKIPPED: users may not open /dev/fuse here");
        return;
    }
    place.make("home", VICTIM, 0o755);
    place.make("home/data", VICTIM, 0o755);
    place.make("home/view", VICTIM, 0o755);
    for signal in [Signal::TERM, Signal::KILL] {
        let mut command = Command::new(binary().get_program());
        command.env("HOME", "/").uid(VICTIM).gid(VICTIM);
        let Some(mut view) = View::by(command, &place.at("home"), "data", &[]) else { return };
        view.signal(signal);
        let _ = view.server.wait();
        view.wait_until_gone();
    }
}

/// The attack: a link of the attacker's as the directory to show, to one that is readable and behind a closed one.
#[test]
fn nothing_is_shown_that_only_the_victim_can_reach() {
    let Some(place) = Place::new() else { return };
    place.make("closed", 0, 0o700);
    place.make("closed/open", 0, 0o755);
    place.make("view", 0, 0o755);
    let open = place.at("closed/open");
    Attacker::does(&place.at("theirs"), &format!("ln -s {} data", open.display()));
    let words = format!("cannot open theirs/data: it is a symlink of user {ATTACKER}");
    place.assert_refused(0, &["theirs/data", "view"], &words);
}
