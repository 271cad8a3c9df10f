//! Containers that were not made durable yet.
//!
//! A plain file is not durable when it was made, but once it was synced. A container that takes the place of one
//! ([`Container::create_unsynced`]) is like that: nothing waits for the storage before the first sync, which makes all of it durable, with the
//! names of its logs. Until then its marker is one that is not to be written to, by its mode: so whoever makes a further log knows, on
//! whichever node. From then on, as in all other containers, a log is durable before it is listed.
//!
//! What a power failure leaves of a container that was never synced was acknowledged by nobody. Its marker may be empty
//! ([`StowError::Torn`]), or logs be missing that it lists: it is told, and can be removed.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::Path;

use plimsoll_guarded::{Directory, Refusal, SMALL_BYTES_MAX, read_at_most};
use rustix::fs::{Mode, OFlags, fchmod, fstat};

use crate::container::{MANIFEST, split};
use crate::error::Attempt;
use crate::lock::{self, Hold, LockFile, MANIFEST_LOCK};
use crate::marker::MARKER;
use crate::removal::{empty, is_known};
use crate::small::{Head, RECORDS_FROM};
use crate::state::STATE_BYTES_MAX;
use crate::states::{STATE, StateCopy};
use crate::word::PAGE_BYTES;
use crate::{Container, StowError};

/// The mode of a marker whose container was not made durable yet.
pub const UNSYNCED_MARKER: u32 = 0o400;
/// The bit of the marker's mode that says that it was.
const SYNCED: u32 = 0o200;

/// The first time that a container is made durable. Nobody lists a log meanwhile.
#[must_use]
pub struct FirstSync {
    _listing: LockFile,
}

impl Container {
    /// Returns whether it was never made durable.
    pub fn is_unsynced(&self) -> bool {
        if let Ok(Some(log)) = self.small_log() {
            let mut start = [0; RECORDS_FROM as usize];
            let count = log.read(&mut start, 0).unwrap_or(0);
            return Head::decode(&start[..count]).is_none_or(|it| it.durable == 0);
        }
        let marker = self.directory().facts_of(MARKER);
        marker.is_ok_and(|it| it.st_mode & SYNCED == 0)
    }

    /// Makes the container's own files durable, and all names that lead to it and to its logs, if that was never done.
    ///
    /// # Errors
    /// If the storage fails, or if somebody holds the list of logs for too long.
    pub(crate) fn begin_first_sync(&self) -> Result<Option<FirstSync>, StowError> {
        if !self.is_unsynced() {
            return Ok(None);
        }
        let directory = self.directory();
        let listing = lock::open(directory, MANIFEST_LOCK)?;
        lock::take(&listing, Hold::Alone, self.path())?;
        if !self.is_unsynced() {
            return Ok(None);
        }
        for name in [MARKER, MANIFEST, STATE] {
            let synced = directory.open_file(name, OFlags::RDONLY).and_then(|it| it.sync_all());
            synced.attempt("make durable", self.path().join(name))?;
        }
        for listed in self.logs()? {
            let synced = self.log_in_place(&listed).and_then(|(place, _)| {
                // Without it, nothing says whose the logs are.
                place.sync_note()?;
                place.sync()
            });
            let name = format!("log {} on target {}", listed.number, listed.target);
            synced.attempt("make durable", name)?;
        }
        directory.sync().attempt("make durable", self.path())?;
        sync_above(directory).attempt("make durable", self.path())?;
        Ok(Some(FirstSync { _listing: listing }))
    }

    /// Notes that all of it is durable by now.
    ///
    /// # Errors
    /// If the storage fails: it counts as not durable then.
    pub(crate) fn end_first_sync(&self, _: FirstSync) -> Result<(), StowError> {
        let noted = self.directory().open_own_file(MARKER, OFlags::RDONLY).and_then(|marker| {
            let mode = fstat(&marker)?.st_mode & 0o7777;
            fchmod(&marker, Mode::from_raw_mode(mode | SYNCED))?;
            marker.sync_all()
        });
        noted.attempt("make durable", self.path().join(MARKER))
    }
}

/// Makes the name of a directory durable.
pub(crate) fn sync_above(directory: &Directory) -> io::Result<()> {
    match directory.above_not_mounted() {
        Ok(above) => match above.sync() {
            // It may be entered and not read. Programs that must know of the name sync the directory themselves, as with a plain file.
            Err(cause) if cause.kind() == ErrorKind::PermissionDenied => Ok(()),
            synced => synced,
        },
        // Whoever serves what is mounted over it may never answer.
        Err(cause) if Refusal::of(&cause) == Some(Refusal::Mounted) => directory.sync_file_system(),
        Err(cause) => Err(cause),
    }
}

/// Returns whether a marker is one of which nothing has reached the disk.
pub fn is_torn(marker: &[u8]) -> bool {
    // That of a small file is longer, and its parts may reach the disk in any order.
    marker.iter().take(PAGE_BYTES as usize).all(|byte| *byte == 0)
}

/// What a power failure has left of a container that was never made durable.
pub struct TornContainer {
    parent: Directory,
    name: OsString,
    directory: Directory,
}

impl TornContainer {
    /// Opens it.
    ///
    /// # Errors
    /// If there is something else, or if it is not this user's.
    pub fn open(path: &Path) -> Result<Self, StowError> {
        let (above, name) = split(path)?;
        let parent = Directory::open_by_own_links(above).attempt("open", path)?;
        let directory = parent.child(name).attempt("open", path)?;
        directory.require_own().attempt("open", path)?;
        let marker = directory.open_own_file(MARKER, OFlags::RDONLY);
        let marker =
            marker.and_then(|it| read_at_most(SMALL_BYTES_MAX, it)).attempt("open", path)?;
        let names = directory.names().attempt("list", path)?;
        let is_state_torn = || {
            let state = directory.open_own_file(STATE, OFlags::RDONLY);
            let state = state.and_then(|it| read_at_most(STATE_BYTES_MAX, it));
            state.is_ok_and(|it| it.is_some_and(|it| StateCopy::decode(&it).is_none()))
        };
        let is_unsynced = directory.facts_of(MARKER).is_ok_and(|it| it.st_mode & SYNCED == 0);
        let is_torn = marker.is_some_and(|it| is_torn(&it)) || is_unsynced && is_state_torn();
        if !is_torn || !names.iter().all(is_known) {
            return Err(Refusal::NotOfContainer).attempt("remove", path);
        }
        Ok(TornContainer { parent, name: name.to_os_string(), directory })
    }

    /// Returns its directory.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Removes it. Its logs, which it does not name, are those that `plimsoll stow check --targets` finds.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn remove(&self) -> Result<(), StowError> {
        empty(&self.directory);
        let removed = self.parent.remove_held_directory(&self.name, &self.directory);
        removed.attempt("remove", self.directory.path())
    }
}
