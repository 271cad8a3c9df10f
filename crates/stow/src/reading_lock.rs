//! Room is not given back under those who read.
//!
//! The owner's readers share a lock that nobody else can open. Other users can share the marker only, which all of them can hold for as long as they
//! like: that keeps room from being given back, and themselves from reading, and nobody else from anything.

use std::fs::File;
use std::time::Duration;

use plimsoll_guarded::acting_user;
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::container::Way;
use crate::error::Attempt;
use crate::lock::{self, Hold, READERS_LOCK, WAIT_MAX};
use crate::marker::MARKER;
use crate::{Container, StowError};

/// Longest wait for a container that was not named, but is one of many in a directory.
const WAIT_FOR_ONE_OF_MANY: Duration = Duration::from_millis(500);

impl Container {
    /// Keeps others from giving room back until the file is dropped; `None` where files cannot be locked, or this user may not: nobody gives
    /// room back there.
    ///
    /// # Errors
    /// If somebody keeps readers out for too long.
    pub(crate) fn hold_for_reading(&self) -> Result<Option<File>, StowError> {
        let own = match self.owner() == acting_user() {
            // Who reads makes nothing: without it, the marker will do.
            true => lock::open_if_there(self.directory(), READERS_LOCK).ok(),
            false => None,
        };
        let Some(file) = own.or_else(|| self.open_part(MARKER).ok()) else { return Ok(None) };
        let limit = if let Way::Held = self.way() { WAIT_FOR_ONE_OF_MANY } else { WAIT_MAX };
        match lock::take_or_tell(limit, &file, Hold::Shared, self.path()) {
            Ok(()) => Ok(Some(file)),
            Err(error) if error.errno() == Errno::BUSY => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// Keeps readers out until the files are dropped.
    ///
    /// # Errors
    /// If there are any.
    pub(crate) fn keep_readers_out(&self) -> Result<[File; 2], StowError> {
        let path = || self.path().join(MARKER);
        let marker = self.directory().open_own_file(MARKER, OFlags::RDONLY);
        let files = [lock::open(self.directory(), READERS_LOCK)?, marker.attempt("open", path())?];
        for file in &files {
            if !lock::is_taken(file, Hold::Alone).attempt("lock", path())? {
                return Err(StowError::BeingRead { path: self.path().into() });
            }
        }
        Ok(files)
    }
}
