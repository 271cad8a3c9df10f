//! One command at a time on a bed.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::process::Stdio;

use crate::TestbedError;
use crate::error::file_error;
use crate::place::Place;

/// The lock of a bed, held until dropped.
///
/// The lock belongs to the open file, so a program that gets the file as its standard
/// input keeps the bed locked until it ends, also when this process is killed: a mkfs
/// or losetup left behind is waited for by the next command.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

impl Lock {
    /// Waits until no other command works on the bed. Makes the base directory if
    /// need be.
    pub(crate) fn acquire(place: &Place) -> Result<Self, TestbedError> {
        let path = place.lock_file();
        loop {
            make_base(place)?;
            let file = match open(place) {
                // A `down` removed the base directory just now.
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => continue,
                opened => opened.map_err(file_error("open the lock file", &path))?,
            };
            file.lock().map_err(file_error("lock", &path))?;
            // While this process waited, a `down` may have removed the file, and a
            // third command may hold the lock of its successor.
            if is_same_file(&file, place) {
                return Ok(Self { file });
            }
        }
    }

    /// Removes the lock file, as the last act on a bed that is gone.
    pub(crate) fn remove(self, place: &Place) -> Result<(), TestbedError> {
        fs::remove_file(place.lock_file()).map_err(file_error("remove", place.lock_file()))
    }

    /// The lock as standard input for a program: empty, and locked while it runs.
    pub(crate) fn as_stdin(&self) -> Stdio {
        self.file.try_clone().map_or_else(|_| Stdio::null(), Stdio::from)
    }
}

fn open(place: &Place) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32)
        .open(place.lock_file())
}

fn is_same_file(file: &File, place: &Place) -> bool {
    let (Ok(held), Ok(named)) = (file.metadata(), fs::symlink_metadata(place.lock_file())) else {
        return false;
    };
    (held.dev(), held.ino()) == (named.dev(), named.ino())
}

fn make_base(place: &Place) -> Result<(), TestbedError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(place.base())
        .map_err(file_error("create the base directory", place.base()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn only_one_holds_the_lock_although_it_is_removed_in_between() {
        let base = tempfile::tempdir().unwrap();
        let place = Place::new(&base.path().join("made/on/demand"), "bed").unwrap();
        let holders = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for round in 0..8 {
                let (place, holders) = (&place, &holders);
                scope.spawn(move || {
                    for _ in 0..50 {
                        let lock = Lock::acquire(place).unwrap();
                        assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                        holders.fetch_sub(1, Ordering::SeqCst);
                        if round % 2 == 0 {
                            lock.remove(place).unwrap();
                        }
                    }
                });
            }
        });
    }

    #[test]
    fn a_program_that_is_left_behind_keeps_the_lock() {
        let base = tempfile::tempdir().unwrap();
        let place = Place::new(base.path(), "bed").unwrap();
        let lock = Lock::acquire(&place).unwrap();
        let mut left_behind =
            std::process::Command::new("sleep").arg("1000").stdin(lock.as_stdin()).spawn().unwrap();
        drop(lock);
        let is_locked = || open(&place).unwrap().try_lock().is_err();
        let was_locked = is_locked();
        left_behind.kill().unwrap();
        left_behind.wait().unwrap();
        assert!(was_locked && !is_locked());
    }

    #[test]
    fn a_symlink_is_not_followed() {
        let base = tempfile::tempdir().unwrap();
        let place = Place::new(base.path(), "bed").unwrap();
        std::os::unix::fs::symlink("/nonexistent/victim", place.lock_file()).unwrap();
        let error = Lock::acquire(&place).unwrap_err();
        assert!(error.to_string().contains(".bed.lock"), "{error}");
    }
}
