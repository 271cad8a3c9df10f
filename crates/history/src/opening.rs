//! Opening a store: whose it is, what it is, and what a killed process left.

use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use plimsoll_guarded::{Directory, Draft, lock_holder};
use rustix::fs::OFlags;

use crate::names::{self, LOCK, MARKER, NEW, OLD, PartName};
use crate::{Day, HistoryError, listing};

/// How long a lock is waited for.
const LOCK_WAIT: Duration = Duration::from_millis(1000);

/// Opens a store's directory for the one process that writes, and puts in order what a killed one left.
pub(crate) fn open_to_write(path: &Path) -> Result<(Directory, File), HistoryError> {
    let failed = |cause| HistoryError::io("open", path, cause);
    let directory = Directory::make_by_own_links(path, 0o700).map_err(failed)?;
    let not_own = |cause| HistoryError::NotOwn { path: path.to_owned(), cause };
    directory.require_own().map_err(not_own)?;
    if !has_marker(&directory)? {
        let others = listing::names_of(&directory)?;
        if others.iter().any(|name| name != LOCK) {
            return Err(HistoryError::Occupied { path: path.to_owned() });
        }
    }
    let lock = lock(&directory)?;
    if !has_marker(&directory)? {
        write_marker(&directory).map_err(|cause| HistoryError::io("create", path, cause))?;
    }
    put_in_order(&directory).map_err(|cause| HistoryError::io("put in order", path, cause))?;
    Ok((directory, lock))
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

fn lock(directory: &Directory) -> Result<File, HistoryError> {
    let path = directory.path();
    let failed = |cause| HistoryError::io("lock", path, cause);
    let lock = match directory.create(LOCK, OFlags::RDWR, 0o600) {
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
            directory.open_own_file(LOCK, OFlags::RDWR)
        }
        made => made,
    };
    let lock = lock.map_err(failed)?;
    let begun = Instant::now();
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            // A child of a process that ended just now has its lock until it runs its own program.
            Err(TryLockError::WouldBlock) if begun.elapsed() < LOCK_WAIT => sleep(LOCK_WAIT / 20),
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
