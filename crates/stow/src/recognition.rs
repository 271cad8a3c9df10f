//! Telling whether a directory is a container.

use std::io;
use std::path::Path;

use plimsoll_guarded::Directory;
use rustix::io::Errno;

use crate::Container;
use crate::marker;

impl Container {
    /// Returns whether there is a container at this path.
    ///
    /// # Errors
    /// If that cannot be told.
    pub fn is_at(path: &Path) -> io::Result<bool> {
        match Directory::open(path) {
            Ok(directory) => Self::is_in(&directory),
            Err(error) => no_container(error),
        }
    }

    /// Returns whether this directory is a container.
    ///
    /// # Errors
    /// If that cannot be told, as when there are no descriptors left: it may be one, and is not to be taken for something else.
    pub fn is_in(directory: &Directory) -> io::Result<bool> {
        match marker::words_in(directory) {
            Ok(text) => Ok(marker::is_one(&text)),
            Err(error) => no_container(error),
        }
    }
}

/// Returns that there is no container where this error says what is there instead, or that this user may not know; otherwise the error.
fn no_container(error: io::Error) -> io::Result<bool> {
    let told = error.raw_os_error().map(Errno::from_raw_os_error);
    let is_told =
        [Errno::NOENT, Errno::NOTDIR, Errno::LOOP, Errno::ACCESS, Errno::PERM, Errno::NXIO];
    // Links, pipes, directories and what is no text are refused without asking the system.
    match told {
        Some(errno) if !is_told.contains(&errno) => Err(error),
        _ => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_guarded::Refusal;

    use super::*;

    #[test]
    fn what_cannot_be_told_is_not_taken_for_another_directory() {
        let of = |errno: Errno| no_container(errno.into());
        for errno in [Errno::NOENT, Errno::NOTDIR, Errno::ACCESS] {
            assert!(!of(errno).unwrap(), "{errno}");
        }
        for errno in [Errno::MFILE, Errno::NFILE, Errno::IO, Errno::NOMEM] {
            assert!(of(errno).is_err(), "{errno}");
        }
        assert!(!no_container(Refusal::Symlink.into()).unwrap());
    }
}
