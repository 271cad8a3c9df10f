//! What `plimsoll stow mount` shows of containers that somebody else has changed.

use std::fs::{self, File};
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};

use crate::support::attacker::{ATTACKER, Attacker};
use crate::support::command::{Outcome, binary};
use crate::support::storage::Storage;
use crate::support::view::View;

/// A directory that is to be shown.
struct Shown {
    storage: Storage,
}

impl Shown {
    /// `None`, and says so, where nobody else can be played.
    fn new() -> Option<Self> {
        if !Attacker::can_be_had() {
            return None;
        }
        let shown = Shown { storage: Storage::with_targets(1) };
        fs::create_dir(shown.at("data")).unwrap();
        Some(shown)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.storage.folder.path().join(name)
    }

    fn path(&self) -> &Path {
        self.storage.folder.path()
    }

    /// Makes a container of ours that holds this text.
    fn store(&self, name: &str, text: &str) {
        fs::write(self.at("text"), text).unwrap();
        let mut command = binary();
        command.args(["stow", "cp", "text", name, "--targets", "ost0"]).current_dir(self.path());
        let stored: Outcome = command.output().unwrap().into();
        assert_eq!(stored.status, Some(0), "{}", stored.stderr);
    }
}

/// The attack: a file of somebody else as the anchor of a container shows its bytes as theirs.
#[test]
fn nothing_is_shown_as_a_file_of_somebody_who_did_not_write_it() {
    let Some(shown) = Shown::new() else { return };
    shown.store("data/box", "words\n");
    shown.store("data/link", "words\n");
    let Some(view) = View::of(shown.path(), "data", &[]) else { return };
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
