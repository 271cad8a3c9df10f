//! Makes a container with logs of a small one, which has outgrown its marker.
//!
//! All that such a container has is made beside the marker, and what the marker holds is written to the logs. The digit of the version in its first line is changed last: whoever
//! is killed before has changed nothing that counts, and whoever comes next removes what is left and begins anew.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, fchmod, fsync};
use rustix::io::{Errno, pwrite};

use crate::container::{ANCHOR, MANIFEST};
use crate::creation::fill_parts;
use crate::error::Attempt;
use crate::first_sync::UNSYNCED_MARKER;
use crate::header::FORMAT_VERSION;
use crate::home::{Made, require_noted};
use crate::lock::{SIZE_LOCK, SMALL_LOCK};
use crate::log_place::LogPlace;
use crate::marker::{ID_AT, MARKER, VERSION_AT};
use crate::removal;
use crate::replacement::FLAT;
use crate::rights::PRIVATE_FILE;
use crate::small::{Head, Held};
use crate::{Container, Id, Placement, Reader, StowError, Tally, Writer};

/// What is copied at a time: a small file may be a few bytes far behind its beginning.
const PIECE_BYTES: usize = 64 << 10;

/// A small container that becomes one with logs. Nobody else changes it meanwhile.
pub struct Promotion {
    marker: Held,
    head: Head,
}

impl Promotion {
    /// Keeps others from changing a container that is small; `None` if it is not.
    ///
    /// # Errors
    /// If that takes too long, or if it is another user's, or was opened only to be read.
    pub fn begin(container: &Container) -> Result<Option<Self>, StowError> {
        if container.small_log()?.is_none() {
            return Ok(None);
        }
        container.require_changeable()?;
        let Some(mut marker) = Held::open(container)? else {
            container.small_log()?;
            return Ok(None);
        };
        let path = || container.path().join(MARKER);
        marker.begin_change(container.directory()).attempt("write to", path())?;
        let Some(head) = marker.head().attempt("read", path())? else {
            if container.is_small_still(marker.file())? {
                let why = "it is a small container without a head".into();
                return Err(StowError::Damaged { path: path(), why });
            }
            // Another process was quicker.
            return Ok(None);
        };
        Ok(Some(Promotion { marker, head }))
    }

    /// Makes the logs; returns who writes to them.
    ///
    /// # Errors
    /// If the mount or the targets refuse: it stays small.
    pub fn finish(
        self,
        container: Arc<Container>,
        placement: Placement,
        tally: Option<Box<dyn Tally>>,
    ) -> Result<Writer, StowError> {
        let reader = Reader::open(container.clone())?;
        if !reader.is_whole() {
            let why = "what was made durable in it is not there any more".into();
            return Err(StowError::Damaged { path: container.path().join(MARKER), why });
        }
        container.note_small(false);
        let made =
            self.clean(&container).and_then(|()| self.make(&container, &reader, placement, tally));
        if made.is_err() && self.marker.is_small().unwrap_or(false) {
            let _ = remove_logs(&container);
            let _ = remove_parts(&container);
            container.note_small(true);
            let _ = fchmod(self.marker.file(), Mode::from_raw_mode(PRIVATE_FILE));
        }
        made
    }

    fn was_synced(&self) -> bool {
        self.head.durable != 0
    }

    /// Removes what somebody left who was killed, and gives a copy an id of its own, as the logs of the other one have that one's.
    fn clean(&self, container: &Container) -> Result<(), StowError> {
        let made = Made::of_file(self.marker.file()).attempt("look at", container.path())?;
        let is_clean = remove_logs(container).is_ok();
        remove_parts(container)?;
        if is_clean && self.head.is_of(&made) {
            return Ok(());
        }
        let id = Id::random().attempt("write to", container.path())?;
        // Nobody knows the old one by anything but this.
        let (text, path) = (id.to_string(), container.path().join(MARKER));
        pwrite(self.marker.file(), text.as_bytes(), ID_AT).attempt("write", path)?;
        container.set_id(id);
        Ok(())
    }

    fn make(
        &self,
        container: &Arc<Container>,
        reader: &Reader,
        placement: Placement,
        tally: Option<Box<dyn Tally>>,
    ) -> Result<Writer, StowError> {
        let (directory, marker) = (container.directory(), self.marker.file());
        let path = || container.path().join(MARKER);
        if !self.was_synced() {
            // As long as nothing was durable, nothing is waited for.
            fchmod(marker, Mode::from_raw_mode(UNSYNCED_MARKER)).attempt("write", path())?;
        }
        let filled = directory.create(SIZE_LOCK, OFlags::RDWR, PRIVATE_FILE).and_then(|lock| {
            fill_parts(directory, container.node(), self.was_synced())?;
            if self.was_synced() { lock.sync_all() } else { Ok(()) }
        });
        filled.attempt("make the parts of", container.path())?;
        let mut writer = Writer::join(container.clone(), placement)?;
        if let Some(tally) = tally {
            writer.set_tally(tally);
        }
        copy(reader, &mut writer)?;
        if self.was_synced() {
            writer.sync()?;
        }
        let version = FORMAT_VERSION.to_string();
        pwrite(marker, version.as_bytes(), VERSION_AT).attempt("write", path())?;
        if self.was_synced()
            && let Err(errno) = fsync(marker)
        {
            // Nobody knows which version the disk has: what was durable is in the marker as well as in the logs, and stays in both. The next sync has to make all of it durable;
            // the system takes what it could not write for written, unless it is written again.
            let _ = pwrite(marker, version.as_bytes(), VERSION_AT);
            let _ = fchmod(marker, Mode::from_raw_mode(UNSYNCED_MARKER));
            return Err(errno).attempt("make durable", path());
        }
        Ok(writer)
    }
}

/// Writes what a small file holds.
fn copy(reader: &Reader, writer: &mut Writer) -> Result<(), StowError> {
    let (mut at, mut piece) = (0, Vec::new());
    while let Some(stretch) = reader.stretch_from(at)? {
        if stretch.is_hole {
            at = stretch.end;
            continue;
        }
        while at < stretch.end {
            piece.resize((stretch.end - at).min(PIECE_BYTES as u64) as usize, 0);
            let count = reader.read_verified_at(&mut piece, at)?;
            if count == 0 {
                return Err(Errno::IO).attempt("read", reader.container().path());
            }
            writer.write_at(&piece[..count], at)?;
            at += count as u64;
        }
    }
    if reader.size() > writer.last_write().end {
        writer.truncate(reader.size())?;
    }
    Ok(())
}

/// Removes the logs that somebody had begun to make.
fn remove_logs(container: &Container) -> Result<(), StowError> {
    let manifest = container.directory().kind_of(MANIFEST);
    if manifest.is_err_and(|it| it.kind() == ErrorKind::NotFound) {
        return Ok(());
    }
    let left = container.logs().and_then(|logs| container.remove_logs(logs))?;
    remove_unlisted(container);
    match left.is_empty() {
        true => Ok(()),
        false => Err(Errno::BUSY).attempt("remove the logs of", container.path()),
    }
}

/// Removes logs without records that somebody made for a small container, and was killed before they were listed.
pub(crate) fn remove_unlisted(container: &Container) {
    for target in container.targets().unwrap_or_default() {
        let Ok(place) = LogPlace::open(&target.path, container.id()) else { continue };
        let names = place.directory().names().unwrap_or_default();
        if names.is_empty() || require_noted(container, &place).is_ok() {
            // It was to be the first one.
            let _ = place.remove_unlisted(0).and_then(|()| place.remove_if_empty());
        }
    }
}

/// Removes all that a small container has not.
fn remove_parts(container: &Container) -> Result<(), StowError> {
    let directory = container.directory();
    let names = directory.names().attempt("list", container.path())?;
    let is_kept = |it: &OsString| [ANCHOR, MARKER, FLAT, SMALL_LOCK].iter().any(|kept| it == kept);
    for name in names.iter().filter(|it| !is_kept(it) && removal::is_known(it)) {
        directory.remove_file(name).attempt("remove", container.path().join(name))?;
    }
    Ok(())
}
