//! The marker of a small container, held to be changed.
//!
//! Two of its bytes are locked, far behind its end, by the open file: one is shared by those who write and held alone by who needs that nobody does; the
//! other one is held for the time of each change.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, fchmod, fdatasync, fstat};
use rustix::io::{Errno, pread, pwrite};

use super::MARKER_BYTES_MAX;
use super::entry::{EntryKind, HEADER_BYTES, SmallEntry};
use super::head::{Head, RECORDS_FROM};
use crate::error::Attempt;
use crate::lock::{Hold, WAIT_MAX};
use crate::marker::{self, MARKER};
use crate::rights::PRIVATE_FILE;
use crate::{Container, StowError};

/// The byte that those share who write.
pub(super) const WRITERS: i64 = 1 << 61;
/// The byte that is held for each change.
pub(super) const CHANGE: i64 = WRITERS + 1;

const PAUSE_FIRST: Duration = Duration::from_micros(50);
const PAUSE_LAST: Duration = Duration::from_millis(10);

/// The marker of a small container, opened to be changed.
#[derive(Debug)]
pub struct Held(pub(super) File);

impl Held {
    /// Opens it, as one of those who write.
    ///
    /// # Errors
    /// If somebody keeps them out for too long, or it is another user's.
    pub(crate) fn open(container: &Container) -> Result<Self, StowError> {
        let held = Self::opened(container).attempt("write to", container.path())?;
        held.take(WRITERS, Hold::Shared).attempt("write to", container.path())?;
        Ok(held)
    }

    /// Takes a marker that was made just now.
    pub(crate) fn made(marker: File) -> Result<Self, Errno> {
        let held = Held(marker);
        held.take(WRITERS, Hold::Shared)?;
        Ok(held)
    }

    fn opened(container: &Container) -> io::Result<Self> {
        let directory = container.directory();
        directory.require_served_by_none_else()?;
        directory.require_own()?;
        match directory.open_own_file(MARKER, OFlags::RDWR) {
            // Somebody was killed who had begun to make it a large one.
            Err(cause) if cause.raw_os_error() == Some(Errno::ACCESS.raw_os_error()) => {
                let marker = directory.open_own_file(MARKER, OFlags::RDONLY)?;
                fchmod(&marker, Mode::from_raw_mode(PRIVATE_FILE))?;
                directory.open_own_file(MARKER, OFlags::RDWR).map(Held)
            }
            opened => opened.map(Held),
        }
    }

    /// Keeps all others from changing it, until it is dropped.
    pub(crate) fn keep_others_out(&self) -> Result<(), Errno> {
        self.take(CHANGE, Hold::Alone)
    }

    pub(crate) fn file(&self) -> &File {
        &self.0
    }

    pub(super) fn size(&self) -> Result<u64, Errno> {
        Ok(u64::try_from(fstat(&self.0)?.st_size).unwrap_or(0))
    }

    /// Returns its head; `None` if it is not small any more.
    pub(crate) fn head(&self) -> Result<Option<Head>, Errno> {
        let mut start = [0; RECORDS_FROM as usize];
        let count = pread(&self.0, &mut start, 0)?;
        let start = start.get(..count).unwrap_or(&[]);
        Ok(Head::decode(start).filter(|_| marker::is_small(start)))
    }

    pub(super) fn all(&self, size: u64) -> Result<Vec<u8>, Errno> {
        all_of(self.0.as_fd(), size)
    }

    pub(super) fn take(&self, byte: i64, hold: Hold) -> Result<(), Errno> {
        let (begin, mut pause) = (Instant::now(), PAUSE_FIRST);
        while !self.is_taken(byte, hold)? {
            if begin.elapsed() > WAIT_MAX {
                return Err(Errno::BUSY);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(PAUSE_LAST);
        }
        Ok(())
    }

    pub(super) fn is_taken(&self, byte: i64, hold: Hold) -> Result<bool, Errno> {
        let kind = if hold == Hold::Alone { libc::F_WRLCK } else { libc::F_RDLCK };
        match set_lock(self.0.as_fd(), kind, byte) {
            Ok(()) => Ok(true),
            Err(Errno::AGAIN | Errno::ACCESS | Errno::INTR) => Ok(false),
            Err(errno) => Err(errno),
        }
    }

    pub(super) fn give_back(&self, byte: i64) -> Result<(), Errno> {
        set_lock(self.0.as_fd(), libc::F_UNLCK, byte)
    }
}

fn set_lock(file: BorrowedFd<'_>, kind: i32, byte: i64) -> Result<(), Errno> {
    let mut lock = libc::flock {
        l_type: kind as i16,
        l_whence: libc::SEEK_SET as i16,
        l_start: byte,
        l_len: 1,
        l_pid: 0,
    };
    // SAFETY: an open file, and a lock that the kernel reads.
    let set = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw mut lock) };
    if set < 0 { Err(errno_of(&io::Error::last_os_error())) } else { Ok(()) }
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
    if !held.is_taken(WRITERS, Hold::Alone).attempt("lock", container.path())? {
        return Err(StowError::Busy { path: container.path().into() });
    }
    Ok(held.head().attempt("read", container.path())?.map(|_| held))
}

/// Takes back an entry that is not whole, so that nobody has to look at it again.
///
/// # Errors
/// If it cannot be written.
pub fn void(held: &Held, position: u64) -> Result<(), Errno> {
    let mut header = [0; HEADER_BYTES];
    let count = pread(&held.0, &mut header, position)?;
    let entry = SmallEntry::decode(header.get(..count).unwrap_or(&[]), position);
    let entry = SmallEntry { kind: EntryKind::Void, ..entry.ok_or(Errno::IO)? };
    pwrite(&held.0, &entry.encode(position), position)?;
    fdatasync(&held.0)
}
