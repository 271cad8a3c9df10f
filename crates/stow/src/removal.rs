//! Removes a container: what is known to be its own, through its open directories, and nothing by a path.
//!
//! The modules `container`, `creation`, `first_sync`, `gone`, `home`, `promotion`, `reading_lock`, `removal`, `replacement`, `standing` and `waiting` use each other: they are one type, told in eleven parts.

use std::ffi::OsString;
use std::io;

use plimsoll_guarded::{Directory, Refusal};
use rustix::fs::FileType;
use rustix::io::Errno;

use crate::container::{ANCHOR, MANIFEST, Way};
use crate::error::Attempt;
use crate::home::require_noted;
use crate::index::INDEX;
use crate::lock::{MANIFEST_LOCK, READERS_LOCK, SIZE_LOCK, SMALL_LOCK, WRITERS_LOCK};
use crate::log_place::LogPlace;
use crate::manifest::ListedLog;
use crate::marker::MARKER;
use crate::noted::Standing;
use crate::promotion::remove_unlisted;
use crate::replacement::FLAT;
use crate::seat::is_of_seat;
use crate::small;
use crate::standing::standing_to_change;
use crate::state::SharedState;
use crate::states::STATE;
use crate::{Container, StowError, TornContainer};

/// All files that a container can have, in the order in which they go: as long as it is told by its marker, it can be removed again.
const FILES: [&str; 13] = [
    ".index.tmp",
    INDEX,
    FLAT,
    ANCHOR,
    SIZE_LOCK,
    READERS_LOCK,
    MANIFEST_LOCK,
    MANIFEST,
    ".state.tmp",
    STATE,
    WRITERS_LOCK,
    SMALL_LOCK,
    MARKER,
];

/// Keeps all others from writing to a container, as long as it lives.
pub struct Alone(Kept);

/// What is held.
enum Kept {
    Shared(#[expect(dead_code, reason = "it is held")] SharedState),
    Marker(small::Held),
}

impl Alone {
    /// Returns the marker of a small container.
    pub(crate) fn marker(&self) -> Option<&small::Held> {
        match &self.0 {
            Kept::Marker(held) => Some(held),
            Kept::Shared(_) => None,
        }
    }
}

impl Container {
    /// Keeps all others from writing to it.
    ///
    /// # Errors
    /// If somebody writes, or if it is not this user's.
    pub fn hold_alone(&self) -> Result<Alone, StowError> {
        if self.small_log()?.is_some() {
            self.require_changeable()?;
            if let Some(held) = small::hold_alone(self)? {
                return Ok(Alone(Kept::Marker(held)));
            }
            self.note_small(false);
        }
        let state = self.join()?;
        match state.is_alone().attempt("lock", self.path())? {
            true => Ok(Alone(Kept::Shared(state))),
            false => Err(StowError::Busy { path: self.path().into() }),
        }
    }

    /// Makes sure that its name still leads to it.
    ///
    /// # Errors
    /// If it is a link, or something else is there.
    pub fn require_in_place(&self) -> Result<(), StowError> {
        let Way::Named { parent, name } = self.way() else {
            return Err(Errno::INVAL).attempt("find the name of", self.path());
        };
        let is_there = match parent.kind_of(name) {
            Ok(FileType::Symlink) => Err(Refusal::Symlink.into()),
            _ => parent.require_same_directory(name, self.directory()),
        };
        is_there.attempt("replace or remove", self.path())
    }

    /// Removes the container and all its logs. Returns the logs that are left: they could not be reached, or it cannot be told whether they are
    /// another container's. Of a copy, the logs are another container's and stay.
    ///
    /// # Errors
    /// If somebody writes to it, if something is in it that is not its own, or if something cannot be removed.
    pub fn remove(&self) -> Result<Vec<ListedLog>, StowError> {
        self.require_in_place()?;
        if self.is_half_removed() {
            empty(self.directory());
            self.remove_directory()?;
            return Ok(Vec::new());
        }
        match self.hold_alone() {
            // A power failure has taken the state of one that was never synced. Its logs are those that `plimsoll stow check --targets` finds.
            Err(StowError::Damaged { .. }) if self.is_unsynced() => {
                TornContainer::open(self.path())?.remove()?;
                Ok(Vec::new())
            }
            alone => self.discard(&alone?),
        }
    }

    /// Does the same for whoever holds it, also if its name leads elsewhere by now: that name stays.
    ///
    /// # Errors
    /// As [`Container::remove`].
    pub fn discard(&self, _: &Alone) -> Result<Vec<ListedLog>, StowError> {
        let names = self.directory().names().attempt("list", self.path())?;
        if let Some(name) = names.iter().find(|name| !is_known(name)) {
            let path = self.path().join(name);
            return Err(Refusal::NotOfContainer).attempt("remove", path);
        }
        // Somebody may have been killed who had begun to make a large container of a small one: that one's logs go as well.
        let is_small = self.may_be_small();
        self.note_small(is_small && !names.iter().any(|it| it == MANIFEST));
        if is_small && self.logs().is_err() {
            self.note_small(true);
        }
        let (own, kept) = match standing_to_change(self)? {
            Standing::Original => (self.logs()?, Vec::new()),
            Standing::Copy(_) => (Vec::new(), Vec::new()),
            // They may be another one's, which was moved.
            Standing::Unknown(_) | Standing::Unnoted => (Vec::new(), self.logs()?),
        };
        let mut left = self.remove_logs(own)?;
        left.extend(kept);
        if is_small {
            remove_unlisted(self);
            // Nothing of it is in logs. Whoever removed them before may have been killed, so that the list of them stayed.
            let is_gone = |cause: io::Error| cause.kind() == io::ErrorKind::NotFound;
            left.retain(|it| !LogPlace::open(&it.path, self.id()).is_err_and(is_gone));
        }
        empty(self.directory());
        self.remove_directory()?;
        Ok(left)
    }

    /// Removes logs where they are noted to be this container's; returns the others.
    pub(crate) fn remove_logs(&self, own: Vec<ListedLog>) -> Result<Vec<ListedLog>, StowError> {
        let mut left = Vec::new();
        for listed in own {
            match self.log_in_place(&listed) {
                // What was looked at may have been another directory.
                Ok((place, _)) if require_noted(self, &place).is_err() => left.push(listed),
                Ok((place, log)) => place.remove(&log).attempt("remove", log.path())?,
                Err(_) if self.is_unsynced() && self.remove_blank(&listed).is_ok() => {}
                Err(_) => left.push(listed),
            }
        }
        Ok(left)
    }

    /// Returns whether somebody was killed who removed it: its logs went before the list of them.
    fn is_half_removed(&self) -> bool {
        let is_gone = |name: &str| {
            let kind = self.directory().kind_of(name);
            kind.is_err_and(|cause| cause.kind() == io::ErrorKind::NotFound)
        };
        is_gone(ANCHOR) && is_gone(MANIFEST)
    }

    fn remove_directory(&self) -> Result<(), StowError> {
        let Way::Named { parent, name } = self.way() else {
            return Err(Errno::INVAL).attempt("remove", self.path());
        };
        let removed = parent.remove_held_directory(name, self.directory());
        removed.attempt("remove", self.path())
    }

    /// Removes what a power failure left of a log of which nothing was ever durable.
    fn remove_blank(&self, listed: &ListedLog) -> io::Result<()> {
        let place = LogPlace::open(&listed.path, self.id())?;
        place.remove_unlisted(listed.number)?;
        place.remove_if_empty()
    }
}

/// Returns whether a file of this name is a container's.
pub fn is_known(name: &OsString) -> bool {
    FILES.iter().any(|it| name == it) || name.to_str().is_some_and(is_of_seat)
}

/// Removes the files of a container. What cannot be removed is told by the directory, which then stays.
pub fn empty(directory: &Directory) {
    let names = directory.names().unwrap_or_default();
    for name in names.iter().filter(|it| it.to_str().is_some_and(is_of_seat)) {
        let _ = directory.remove_file_if_there(name);
    }
    for name in FILES {
        let _ = directory.remove_file_if_there(name);
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::Arc;

    use super::*;
    use crate::{Placement, Target, Writer};

    /// Whoever may write to the target hides the logs from those who ask whose they are, and shows them to those who remove them.
    #[test]
    fn logs_are_removed_only_where_they_are_noted_to_be_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let (it, copy) = (folder.path().join("it"), folder.path().join("copy"));
        let targets = [Target { name: "t0".into(), path: folder.path().into() }];
        let original = Arc::new(Container::create(&it, &targets).unwrap());
        let mut writer = Writer::open(original.clone(), Placement::Striped).unwrap();
        writer.write_at(b"precious", 0).unwrap();
        writer.close().unwrap();
        assert!(Command::new("cp").arg("-rp").args([&it, &copy]).status().unwrap().success());
        let logs = original.logs().unwrap();
        let copy = Container::open(&copy, &[]).unwrap();
        assert_eq!(copy.remove_logs(logs.clone()).unwrap(), logs);
        assert_eq!(original.remove_logs(logs).unwrap(), []);
    }
}
