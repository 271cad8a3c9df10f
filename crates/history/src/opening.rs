//! Opening a store: whose it is, what it is, and what a killed process left.

use std::fs::{File, Permissions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use plimsoll_guarded::{Directory, Draft, lock_holder};
use rustix::fs::OFlags;

use crate::names::{self, DAYS_LOCK, IMPORT_LOCK, LOCK, MARKER, NEW, OLD, PartName};
use crate::{Day, HistoryError, listing};

/// How long a writer waits for another that ends just now, and for whoever has files of days in hand: samples are due meanwhile.
const WRITER_WAIT: Duration = Duration::from_millis(1000);

/// How often a lock is tried.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// How long an import waits for files of days: a writer may be merging large ones.
const IMPORT_WAIT: Duration = Duration::from_secs(60);

/// How long an import waits for another that ends just now.
const OTHER_IMPORT_WAIT: Duration = Duration::from_millis(1000);

/// Opens a store's directory for the one process that appends, and puts in order what a killed one left.
pub(crate) fn open_to_write(path: &Path) -> Result<(Directory, File), HistoryError> {
    let directory = open_own(path)?;
    let lock = lock(&directory, LOCK, WRITER_WAIT)?;
    match hold_days(&directory) {
        // An import has files of days in hand, for as long as its disk takes. Samples are due, and need none of them.
        Err(HistoryError::Held { .. }) if is_in_order(&directory)? => {}
        Err(HistoryError::Held { .. }) => drop(hold_days_to_import(&directory)?),
        held => drop(held?),
    }
    Ok((directory, lock))
}

/// Opens a store's directory for the one process that imports, beside the one that appends.
pub(crate) fn open_to_import(path: &Path) -> Result<(Directory, File), HistoryError> {
    let directory = open_own(path)?;
    let lock = lock(&directory, IMPORT_LOCK, OTHER_IMPORT_WAIT).map_err(|error| match error {
        HistoryError::Held { path, holder } => HistoryError::Importing { path, holder },
        other => other,
    })?;
    hold_days_to_import(&directory)?;
    Ok((directory, lock))
}

/// Keeps others from changing which files days have, until what is returned is dropped. What a killed process left is in order then.
pub(crate) fn hold_days(directory: &Directory) -> Result<File, HistoryError> {
    hold_days_within(directory, WRITER_WAIT)
}

/// Does the same with the patience of an import.
pub(crate) fn hold_days_to_import(directory: &Directory) -> Result<File, HistoryError> {
    hold_days_within(directory, IMPORT_WAIT)
}

fn hold_days_within(directory: &Directory, wait: Duration) -> Result<File, HistoryError> {
    let held = lock(directory, DAYS_LOCK, wait)?;
    let path = directory.path();
    if !has_marker(directory)? {
        write_marker(directory).map_err(|cause| HistoryError::io("create", path, cause))?;
    }
    put_in_order(directory).map_err(|cause| HistoryError::io("put in order", path, cause))?;
    Ok(held)
}

/// Returns whether it is a store, and no process was killed while it replaced a day.
fn is_in_order(directory: &Directory) -> Result<bool, HistoryError> {
    let is_left = |name: &str| name.starts_with(NEW) || name.starts_with(OLD);
    let names = listing::names_of(directory)?;
    Ok(has_marker(directory)? && !names.iter().any(|name| name.to_str().is_some_and(is_left)))
}

/// Opens a directory that is a store, or may become one.
fn open_own(path: &Path) -> Result<Directory, HistoryError> {
    let failed = |cause| HistoryError::io("open", path, cause);
    let directory = Directory::make_by_own_links(path, 0o700).map_err(failed)?;
    let not_own = |cause| HistoryError::NotOwn { path: path.to_owned(), cause };
    directory.require_own().map_err(not_own)?;
    if !has_marker(&directory)? {
        let others = listing::names_of(&directory)?;
        // A marker that is being written, or was when a process was killed.
        let draft = format!(".{MARKER}.tmp");
        let own = [LOCK, DAYS_LOCK, IMPORT_LOCK, &draft];
        if !others.iter().all(|name| own.iter().any(|it| name == it)) && !has_marker(&directory)? {
            return Err(HistoryError::Occupied { path: path.to_owned() });
        }
    }
    Ok(directory)
}

/// Opens a store's directory to read.
pub(crate) fn open_to_read(path: &Path) -> Result<Directory, HistoryError> {
    let directory =
        Directory::open_unserved(path).map_err(|cause| HistoryError::io("open", path, cause))?;
    if has_marker(&directory)? {
        Ok(directory)
    } else {
        Err(HistoryError::NotAStore { path: path.to_owned() })
    }
}

/// Returns whether the directory says that it is a store, of a version that is known.
fn has_marker(directory: &Directory) -> Result<bool, HistoryError> {
    let text = match directory.read_small(MARKER) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(false),
        text => {
            text.map_err(|cause| HistoryError::io("read", &directory.path().join(MARKER), cause))?
        }
    };
    match names::marker_version(&text) {
        Some(version) if version > names::VERSION => {
            let (path, known) = (directory.path().to_owned(), names::VERSION);
            Err(HistoryError::Newer { path, version, known })
        }
        Some(_) => Ok(true),
        None => Ok(false),
    }
}

fn write_marker(directory: &Directory) -> io::Result<()> {
    let mut draft = Draft::create(directory, MARKER, 0o600)?;
    draft.write_all(names::marker_text().as_bytes())?;
    draft.sync()?;
    draft.publish()?;
    directory.sync()
}

fn lock(directory: &Directory, name: &str, wait: Duration) -> Result<File, HistoryError> {
    let path = directory.path();
    let failed = |cause| HistoryError::io("lock", path, cause);
    let lock = match directory.create(name, OFlags::RDWR, 0o600) {
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
            directory.open_own_file(name, OFlags::RDWR)
        }
        made => made,
    };
    let lock = lock.map_err(failed)?;
    // `chmod -R` opens it to others, any of whom could then hold it.
    if lock.metadata().map_err(failed)?.mode() & 0o077 != 0 {
        lock.set_permissions(Permissions::from_mode(0o600)).map_err(failed)?;
    }
    let begun = Instant::now();
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            // A child of a process that ended just now has its lock until it runs its own program.
            Err(TryLockError::WouldBlock) if begun.elapsed() < wait => sleep(LOOK_AGAIN),
            Err(TryLockError::WouldBlock) => {
                return Err(HistoryError::Held {
                    path: path.to_owned(),
                    holder: lock_holder(&lock),
                });
            }
            Err(TryLockError::Error(cause)) => return Err(failed(cause)),
        }
    }
}

/// A kill while a day was being replaced leaves the new one beside the old one, or the old one alone under another name.
fn put_in_order(directory: &Directory) -> io::Result<()> {
    for name in directory.names()? {
        let Some(name) = name.to_str() else { continue };
        if name.strip_prefix(NEW).and_then(Day::of_directory).is_some() {
            directory.remove_tree(name)?;
        } else if let Some(day) = name.strip_prefix(OLD).and_then(Day::of_directory) {
            match directory.child(day.directory()) {
                Ok(_) => directory.remove_tree(name)?,
                Err(_) => directory.rename(name, day.directory())?,
            }
        }
    }
    directory.sync()
}

/// Returns the number that no write-ahead file had yet.
pub(crate) fn next_log(directory: &Directory, logs: &[u64]) -> Result<u64, HistoryError> {
    let mut next = logs.last().map_or(0, |last| last + 1);
    for name in listing::names_of(directory)? {
        let aside = name.to_str().and_then(names::damaged_log_sequence);
        next = next.max(aside.map_or(0, |sequence| sequence + 1));
    }
    for day in listing::days(directory)? {
        let folder = directory.child(day.directory());
        let path = directory.path().join(day.directory());
        let folder = folder.map_err(|cause| HistoryError::io("open", &path, cause))?;
        for (_, last) in listing::parts(&folder)?.iter().filter_map(PartName::logs) {
            next = next.max(last + 1);
        }
    }
    Ok(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The attack: whoever may read a store that was opened to others holds its lock for as long as they like.
    #[test]
    fn a_lock_that_was_opened_to_others_is_private_again() {
        let folder = tempfile::tempdir().unwrap();
        let directory = Directory::open(folder.path()).unwrap();
        drop(lock(&directory, LOCK, Duration::ZERO).unwrap());
        let path = folder.path().join(LOCK);
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        drop(lock(&directory, LOCK, Duration::ZERO).unwrap());
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    }
}
