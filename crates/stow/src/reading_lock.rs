//! Room is not given back under those who read.
//!
//! The owner's readers and root's, as those of a mount that others look through, share a lock that nobody else can open. Other users can share the marker only, which each of them can hold
//! for as long as they like, also alone: that keeps room from being given back, and other users from reading, but neither the owner nor root.

use plimsoll_guarded::acting_user;
use rustix::fs::{OFlags, fstat};
use rustix::io::Errno;

use crate::error::Attempt;
use crate::lock::{self, Hold, LockFile, READERS_LOCK};
use crate::marker::MARKER;
use crate::{Container, StowError};

impl Container {
    /// Keeps others from giving room back until the file is dropped; `None` where files cannot be locked, or this user may not: nobody gives
    /// room back there.
    ///
    /// # Errors
    /// If somebody keeps readers out for too long.
    pub(crate) fn hold_for_reading(&self) -> Result<Option<LockFile>, StowError> {
        // Who reads makes nothing: without it, the marker will do.
        let own = match acting_user() {
            user if user == self.owner() => {
                lock::open_if_there(self.directory(), READERS_LOCK).ok()
            }
            0 => self.readers_lock_of_owner(),
            _ => None,
        };
        let of_marker = || self.open_part(MARKER).map(LockFile::new).ok();
        let Some(file) = own.or_else(of_marker) else { return Ok(None) };
        match lock::take_or_tell(self.wait_max(), &file, Hold::Shared, self.path()) {
            Ok(()) => Ok(Some(file)),
            Err(error) if error.errno() == Errno::BUSY => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// Opens the readers' lock of another user, as root can, if it is that of the container's owner and nobody else could open it.
    fn readers_lock_of_owner(&self) -> Option<LockFile> {
        let file = self.directory().open_file(READERS_LOCK, OFlags::RDONLY).ok()?;
        let facts = fstat(&file).ok()?;
        let is_it = facts.st_uid == self.owner() && facts.st_mode & lock::OTHERS == 0;
        is_it.then(|| LockFile::new(file))
    }

    /// Keeps readers out until the files are dropped.
    ///
    /// # Errors
    /// If there are any.
    pub(crate) fn keep_readers_out(&self) -> Result<[LockFile; 2], StowError> {
        let path = || self.path().join(MARKER);
        let marker = self.directory().open_own_file(MARKER, OFlags::RDONLY).map(LockFile::new);
        let files = [lock::open(self.directory(), READERS_LOCK)?, marker.attempt("open", path())?];
        for file in &files {
            if !lock::is_taken(file, Hold::Alone).attempt("lock", path())? {
                return Err(StowError::BeingRead { path: self.path().into() });
            }
        }
        Ok(files)
    }
}
