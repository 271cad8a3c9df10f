//! The marker of a small container, held to be changed.
//!
//! Bytes of it are locked, far behind its end, by the open file. Whoever may read a marker can share a lock on any byte of it for as long as he likes, and keeps its owner from
//! locking that byte alone. So each of those who write locks a byte of his own alone, whoever needs that nobody writes locks all of these, and one byte more is locked for the time of each
//! change; where somebody shares such a byte, it is shared as well, and what is held alone is a byte of a file that only the owner can open:
//!
//! | who | as a rule | where somebody shares the bytes |
//! |---|---|---|
//! | one of those who write | one of `WRITERS`, alone | `OWN_WRITERS` and `ALL_WRITE`, shared |
//! | who needs that nobody writes | `WRITERS` and `ALL_WRITE`, alone | `OWN_WRITERS` alone, `WRITERS` shared |
//! | who changes it | `CHANGE`, alone | `OWN_CHANGE` alone, `CHANGE` shared |

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use plimsoll_guarded::Directory;
use rustix::fs::{Mode, OFlags, Stat, fchmod, fdatasync, fstat};
use rustix::io::{Errno, pread, pwrite};

use super::MARKER_BYTES_MAX;
use super::entry::{EntryKind, HEADER_BYTES, SmallEntry};
use super::head::{Head, RECORDS_FROM};
use crate::anchor::{keep_private, keep_private_file};
use crate::error::Attempt;
use crate::lock::{self, Hold, LockFile, SMALL_LOCK, WAIT_MAX};
use crate::marker::{self, MARKER};
use crate::rights::PRIVATE_FILE;
use crate::{Container, StowError};

/// Bytes that are locked.
#[derive(Clone, Copy)]
struct Bytes {
    start: i64,
    length: i64,
}

const WRITERS: Bytes = Bytes { start: 1 << 61, length: 1 << 40 };
const ALL_WRITE: Bytes = Bytes { start: WRITERS.start + WRITERS.length, length: 1 };
const WRITERS_AND_ALL_WRITE: Bytes = Bytes { length: WRITERS.length + 1, ..WRITERS };
const CHANGE: Bytes = Bytes { start: ALL_WRITE.start + 1, length: 1 };

/// Bytes of the owner's file.
const OWN_WRITERS: Bytes = Bytes { start: 0, length: 1 };
const OWN_CHANGE: Bytes = Bytes { start: 1, length: 1 };

/// To the end, wherever that is (fcntl(2)).
const ALL: Bytes = Bytes { start: 0, length: 0 };

const PAUSE_FIRST: Duration = Duration::from_micros(50);
const PAUSE_LAST: Duration = Duration::from_millis(10);

/// The marker of a small container, opened to be changed.
#[derive(Debug)]
pub struct Held {
    marker: LockFile,
    /// The owner's file, where somebody shared bytes of the marker.
    own: Option<LockFile>,
}

impl Drop for Held {
    fn drop(&mut self) {
        // As with any lock: a child may have a copy of the descriptor.
        for file in [Some(&self.marker), self.own.as_ref()].into_iter().flatten() {
            let _ = file.is_own() && unlock(file, ALL).is_ok();
        }
    }
}

impl Held {
    /// Opens it, as one of those who write; `None` if it is not small any more.
    ///
    /// # Errors
    /// If somebody keeps them out for too long, or it is another user's.
    pub(crate) fn open(container: &Container) -> Result<Option<Self>, StowError> {
        let attempted = |it: io::Result<Option<Self>>| it.attempt("write to", container.path());
        let Some(mut held) = attempted(Self::opened(container))? else { return Ok(None) };
        let attempt = |it: Result<(), Errno>| it.attempt("write to", container.path());
        attempt(held.take_part(container.directory()))?;
        // Whoever kept writers out may have removed it, as `flatten` does: nobody would see what is written now.
        let links = held.facts().attempt("look at", container.path())?.st_nlink;
        attempt(if links > 0 { Ok(()) } else { Err(Errno::STALE) })?;
        Ok(Some(held))
    }

    /// Takes a marker that was made just now in a directory.
    pub(crate) fn made(marker: File, directory: &Directory) -> Result<Self, Errno> {
        let mut held = Held::of(marker);
        held.take_part(directory)?;
        Ok(held)
    }

    pub(super) fn of(marker: File) -> Self {
        Held { marker: LockFile::new(marker), own: None }
    }

    fn opened(container: &Container) -> io::Result<Option<Self>> {
        let directory = container.directory();
        directory.require_served_by_none_else()?;
        directory.require_own()?;
        loop {
            match directory.open_own_file(MARKER, OFlags::RDWR) {
                Err(cause) if cause.raw_os_error() == Some(Errno::ACCESS.raw_os_error()) => {
                    if !is_made_writable(directory)? {
                        return Ok(None);
                    }
                }
                opened => {
                    let marker = opened?;
                    keep_private(directory);
                    keep_private_file(&marker, directory);
                    return Ok(Some(Held::of(marker)));
                }
            }
        }
    }

    pub(crate) fn file(&self) -> &File {
        &self.marker
    }

    pub(super) fn facts(&self) -> Result<Stat, Errno> {
        fstat(&self.marker)
    }

    pub(super) fn size(&self) -> Result<u64, Errno> {
        Ok(u64::try_from(self.facts()?.st_size).unwrap_or(0))
    }

    /// Returns its head; `None` if it is not small any more, or damaged.
    pub(crate) fn head(&self) -> Result<Option<Head>, Errno> {
        let start = all_of(self.marker.as_fd(), RECORDS_FROM)?;
        Ok(Head::decode(&start).filter(|_| marker::is_small(&start)))
    }

    /// Returns whether it says that it is small.
    pub(crate) fn is_small(&self) -> Result<bool, Errno> {
        Ok(marker::is_small(&all_of(self.marker.as_fd(), RECORDS_FROM)?))
    }

    pub(super) fn all(&self, size: u64) -> Result<Vec<u8>, Errno> {
        all_of(self.marker.as_fd(), size)
    }

    /// Takes part as one of those who write.
    fn take_part(&mut self, directory: &Directory) -> Result<(), Errno> {
        let mut byte = next_of_writers();
        wait_for(|| {
            if is_locked(&self.marker, Hold::Alone, byte)? {
                return Ok(true);
            }
            if !is_shared(&self.marker, byte)? {
                // Another one's.
                byte = next_of_writers();
                return Ok(false);
            }
            self.are_both_locked((Hold::Shared, OWN_WRITERS), ALL_WRITE, directory)
        })
    }

    /// Returns whether nobody writes, nor can begin to, as long as it is held.
    pub(super) fn is_alone(&mut self, directory: &Directory) -> Result<bool, Errno> {
        Ok(self.is_alone_at_once()?
            || self.are_both_locked((Hold::Alone, OWN_WRITERS), WRITERS, directory)?)
    }

    /// Does the same, but returns false as well if somebody shares the bytes who does not write.
    pub(super) fn is_alone_at_once(&self) -> Result<bool, Errno> {
        is_locked(&self.marker, Hold::Alone, WRITERS_AND_ALL_WRITE)
    }

    /// Waits until nobody else changes it, and keeps all others from it until this ends or it is dropped.
    pub(crate) fn begin_change(&mut self, directory: &Directory) -> Result<(), Errno> {
        wait_for(|| {
            Ok(is_locked(&self.marker, Hold::Alone, CHANGE)?
                || is_shared(&self.marker, CHANGE)? && self.is_changed_by_own(directory)?)
        })
    }

    /// Lets others change it.
    pub(super) fn end_change(&self) -> Result<(), Errno> {
        unlock(&self.marker, CHANGE)?;
        self.own.as_ref().map_or(Ok(()), |own| unlock(own, OWN_CHANGE))
    }

    fn is_changed_by_own(&mut self, directory: &Directory) -> Result<bool, Errno> {
        self.are_both_locked((Hold::Alone, OWN_CHANGE), CHANGE, directory)
    }

    /// Returns whether a byte of the owner's file was locked, and others of the marker shared; otherwise neither is.
    fn are_both_locked(
        &mut self,
        (hold, of_own): (Hold, Bytes),
        of_marker: Bytes,
        directory: &Directory,
    ) -> Result<bool, Errno> {
        let own = match self.own.take() {
            Some(own) => own,
            None => lock::opened(directory, SMALL_LOCK).map_err(|it| errno_of(&it))?,
        };
        let own = self.own.insert(own);
        if !is_locked(own, hold, of_own)? {
            return Ok(false);
        }
        let is_locked = is_locked(&self.marker, Hold::Shared, of_marker);
        if !matches!(is_locked, Ok(true)) {
            unlock(own, of_own)?;
        }
        is_locked
    }
}

/// Makes a marker writable whose writer was killed when it had begun to make a large container of it; returns false if it is one: then it says that nothing of it was made durable.
fn is_made_writable(directory: &Directory) -> io::Result<bool> {
    let mut held = Held::of(directory.open_own_file(MARKER, OFlags::RDONLY)?);
    // Nobody makes a large one of it meanwhile. What is open only to be read can only be shared.
    wait_for(|| held.is_changed_by_own(directory))?;
    if !held.is_small()? {
        return Ok(false);
    }
    fchmod(&held.marker, Mode::from_raw_mode(PRIVATE_FILE))?;
    Ok(true)
}

/// Returns one of the bytes that writers hold, another one each time. Processes with the same number, in namespaces of their own, may try the same ones.
fn next_of_writers() -> Bytes {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = i64::from(COUNT.fetch_add(1, Ordering::Relaxed) as u16);
    let place = (i64::from(std::process::id()) << 16 | count) % WRITERS.length;
    Bytes { start: WRITERS.start + place, length: 1 }
}

fn wait_for(mut is_there: impl FnMut() -> Result<bool, Errno>) -> Result<(), Errno> {
    let (begin, mut pause) = (Instant::now(), PAUSE_FIRST);
    while !is_there()? {
        if begin.elapsed() > WAIT_MAX {
            return Err(Errno::BUSY);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(PAUSE_LAST);
    }
    Ok(())
}

/// Locks bytes if nobody is in the way; returns whether.
fn is_locked(file: &File, hold: Hold, bytes: Bytes) -> Result<bool, Errno> {
    let kind = if hold == Hold::Alone { libc::F_WRLCK } else { libc::F_RDLCK };
    match with_lock(file, libc::F_OFD_SETLK, kind, bytes) {
        Ok(_) => Ok(true),
        Err(Errno::AGAIN | Errno::ACCESS | Errno::INTR) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Returns whether somebody shares bytes, as all can do who may read the file.
fn is_shared(file: &File, bytes: Bytes) -> Result<bool, Errno> {
    let in_the_way = with_lock(file, libc::F_OFD_GETLK, libc::F_WRLCK, bytes)?;
    Ok(in_the_way == libc::F_RDLCK)
}

fn unlock(file: &File, bytes: Bytes) -> Result<(), Errno> {
    with_lock(file, libc::F_OFD_SETLK, libc::F_UNLCK, bytes).map(|_| ())
}

/// Returns the kind of lock that the kernel leaves there.
fn with_lock(file: &File, command: i32, kind: i32, bytes: Bytes) -> Result<i32, Errno> {
    let mut lock = libc::flock {
        l_type: kind as i16,
        l_whence: libc::SEEK_SET as i16,
        l_start: bytes.start,
        l_len: bytes.length,
        l_pid: 0,
    };
    // SAFETY: an open file, and a lock that the kernel reads and writes.
    let set = unsafe { libc::fcntl(file.as_raw_fd(), command, &raw mut lock) };
    if set < 0 {
        return Err(errno_of(&io::Error::last_os_error()));
    }
    Ok(lock.l_type.into())
}

pub(super) fn errno_of(error: &io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error)
}

pub(super) fn all_of(file: BorrowedFd<'_>, size: u64) -> Result<Vec<u8>, Errno> {
    let mut bytes = vec![0; usize::try_from(size.min(MARKER_BYTES_MAX)).unwrap_or(0)];
    let mut count = 0;
    while count < bytes.len() {
        match pread(file, &mut bytes[count..], count as u64)? {
            0 => break,
            more => count += more,
        }
    }
    bytes.truncate(count);
    Ok(bytes)
}

/// Keeps all others from writing to a small container; `None` if it is not small.
///
/// # Errors
/// If somebody writes, or it is another user's.
pub fn hold_alone(container: &Container) -> Result<Option<Held>, StowError> {
    let held = Held::opened(container).attempt("write to", container.path())?;
    let Some(mut held) = held else { return Ok(None) };
    if !held.is_alone(container.directory()).attempt("lock", container.path())? {
        return Err(StowError::Busy { path: container.path().into() });
    }
    Ok(held.is_small().attempt("read", container.path())?.then_some(held))
}

/// Takes back an entry that is not whole, so that nobody has to look at it again.
///
/// # Errors
/// If it cannot be written.
pub fn void(held: &Held, position: u64) -> Result<(), Errno> {
    let mut header = [0; HEADER_BYTES];
    let count = pread(&held.marker, &mut header, position)?;
    let entry = SmallEntry::decode(header.get(..count).unwrap_or(&[]), position);
    let entry = SmallEntry { kind: EntryKind::Void, ..entry.ok_or(Errno::IO)? };
    pwrite(&held.marker, &entry.encode(position), position)?;
    fdatasync(&held.marker)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::{Placement, Target, Writer};

    /// A small container in a directory, which nobody writes to.
    fn small_in(folder: &Path) -> Container {
        let target = folder.join("target");
        std::fs::create_dir(&target).unwrap();
        let targets = [Target { name: "target".into(), path: target }];
        let parent = Directory::open(folder).unwrap();
        let mut anchor = |it: &Directory| it.create("anchor", OFlags::WRONLY, 0o600).map(drop);
        let name = std::ffi::OsStr::new("it");
        let made = Container::create_small(parent, name, &targets, 4096, &mut anchor).unwrap();
        made.unwrap().0
    }

    /// As `flatten` does: what is written to a file without a name is lost.
    #[test]
    fn who_waited_for_one_that_is_gone_is_told_so() {
        let folder = tempfile::tempdir().unwrap();
        let container = small_in(folder.path());
        let marker = folder.path().join("it").join(MARKER);
        let alone = hold_alone(&container).unwrap().unwrap();
        let times_open = || {
            let descriptors = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
            let leads_there = |path| std::fs::read_link(path).is_ok_and(|it| it == marker);
            descriptors.filter(|it| leads_there(it.path())).count()
        };
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| Held::open(&container).map(drop));
            while times_open() < 2 {
                std::thread::sleep(PAUSE_FIRST);
            }
            std::fs::remove_file(&marker).unwrap();
            drop(alone);
            assert_eq!(waiting.join().unwrap().unwrap_err().errno(), Errno::STALE);
        });
    }

    /// The mode of a large one's says whether it was ever made durable.
    #[test]
    fn only_the_marker_of_a_small_one_is_made_writable() {
        let folder = tempfile::tempdir().unwrap();
        let container = small_in(folder.path());
        let marker = folder.path().join("it").join(MARKER);
        let mode = || std::fs::metadata(&marker).unwrap().permissions().mode() & 0o777;
        std::fs::set_permissions(&marker, std::fs::Permissions::from_mode(0o400)).unwrap();
        assert!(is_made_writable(container.directory()).unwrap());
        assert_eq!(mode(), PRIVATE_FILE);
        let container = Arc::new(container);
        drop(Writer::open(container.clone(), Placement::Striped).unwrap());
        assert_eq!(mode(), 0o400, "nothing of it was made durable");
        assert!(!is_made_writable(container.directory()).unwrap());
        assert_eq!(mode(), 0o400);
    }
}
