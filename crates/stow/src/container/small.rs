//! Whether a container's bytes are in its marker, and its id, which that of a copy changes with.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use plimsoll_guarded::Directory;
use rustix::io::Errno;

use super::bounds::Bounds;
use super::halves::halves_of;
use super::node::node_on;
use super::{Container, Target, Way};
use crate::error::Attempt;
use crate::log::Log;
use crate::marker::{self, MARKER};
use crate::{Id, StowError};

impl Container {
    /// Takes a container that was made just now, in whose marker its bytes will be.
    pub(crate) fn made_small(
        directory: Directory,
        way: Way,
        id: Id,
        targets: &[Target],
    ) -> Result<Self, StowError> {
        let path = directory.path().to_path_buf();
        let facts = directory.facts().attempt("look at", &path)?;
        Ok(Container {
            id: halves_of(id),
            small: AtomicBool::new(true),
            owner: facts.st_uid,
            node: node_on(facts.st_dev).attempt("look at", &path)?,
            is_pretended: false,
            targets: targets.to_vec(),
            seen: AtomicU64::new(0),
            pages_read: AtomicU64::new(0),
            bounds: Bounds::of(&way),
            directory,
            path,
            way,
        })
    }

    /// It has outgrown its marker as a copy of another one, and has another id from then on.
    pub(crate) fn set_id(&self, id: Id) {
        for (half, new) in self.id.iter().zip(halves_of(id)) {
            half.store(new.into_inner(), Ordering::Release);
        }
    }

    /// Returns whether its bytes may be in its marker: they were when that was looked at last.
    pub(crate) fn may_be_small(&self) -> bool {
        self.small.load(Ordering::Acquire)
    }

    /// Notes whether its bytes are in its marker.
    pub(crate) fn note_small(&self, is_small: bool) {
        self.small.store(is_small, Ordering::Release);
    }

    /// Returns whether its bytes are in its marker, and on no target.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn is_small(&self) -> Result<bool, StowError> {
        self.small_log().map(|it| it.is_some())
    }

    /// Returns its marker as the only log, if its bytes are there.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn small_log(&self) -> Result<Option<Log>, StowError> {
        if !self.may_be_small() {
            return Ok(None);
        }
        let attempt = |it: io::Result<Option<Log>>| it.attempt("read", self.path().join(MARKER));
        let marker = match self.open_part(MARKER) {
            Err(cause) => return attempt(Err(cause)),
            Ok(marker) => marker,
        };
        if self.is_small_still(&marker)? {
            return Ok(Some(Log::of_marker(marker, &self.directory, self.id())));
        }
        Ok(None)
    }

    /// Returns whether its bytes are still in its marker, which is open.
    ///
    /// # Errors
    /// If that cannot be read, or if it became another container's meanwhile.
    pub(crate) fn is_small_still(&self, marker: &File) -> Result<bool, StowError> {
        let path = || self.path().join(MARKER);
        let mut words = [0; marker::WORDS_BYTES];
        let count = rustix::io::pread(marker, &mut words, 0).attempt("read", path())?;
        let words = words.get(..count).unwrap_or_default();
        if marker::is_small(words) {
            return Ok(true);
        }
        // Whoever opened a copy before it got its own logs opens it again.
        let id = marker::id_in(&String::from_utf8_lossy(words));
        if id.is_ok_and(|id| id != self.id()) {
            return Err(Errno::STALE).attempt("read", path());
        }
        self.note_small(false);
        Ok(false)
    }
}
