//! Locks of a container: files that only its owner can open, so that nobody else can hold them, and waits that end.
//!
//! Whoever may read a file can lock it. Others may be let in to read marker, manifest, state and logs, so that none of these is locked
//! by who writes, but for a log while a segment is appended, and the marker of a small container, with another way where a reader is in the way (module `small::held`).

use std::fs::File;
use std::io::{self, ErrorKind};
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use plimsoll_guarded::{Directory, lock_holder};
use rustix::fs::{FlockOperation, Mode, OFlags, fchmod, flock, fstat};
use rustix::io::Errno;

use crate::StowError;
use crate::error::Attempt;
use crate::rights::PRIVATE_FILE;

/// Held by who needs the size to stay as it is.
pub const SIZE_LOCK: &str = "lock";
/// Shared by writers; held alone by who needs that there are none.
pub const WRITERS_LOCK: &str = "lock-writers";
/// Shared by the owner's readers; held alone by who gives room back. Other users share the marker instead.
pub const READERS_LOCK: &str = "lock-readers";
/// Held by those who change a small container, where somebody who may read its marker is in the way.
pub const SMALL_LOCK: &str = "lock-small";
/// Held by who lists a log.
pub const MANIFEST_LOCK: &str = "lock-manifest";

/// Longest wait: far more than anybody holds a lock who is not stopped.
pub const WAIT_MAX: Duration = Duration::from_secs(60);

/// Rights of others, which a lock does not give.
pub const OTHERS: u32 = 0o077;
const PAUSE_FIRST: Duration = Duration::from_micros(50);
const PAUSE_LAST: Duration = Duration::from_millis(10);

/// How a lock is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// With others who do the same.
    Shared,
    /// Without any others.
    Alone,
}

/// The open file of a lock. When it is dropped, nobody holds the lock by it any more: a child that another thread forked meanwhile can have a copy of the descriptor, by which
/// the lock would stay taken.
#[derive(Debug)]
pub struct LockFile {
    file: File,
    /// Who opened it: what a child drops is its parent's.
    process: u32,
}

impl LockFile {
    /// Takes the open file of one over.
    pub fn new(file: File) -> Self {
        LockFile { file, process: std::process::id() }
    }

    /// Returns whether this process has opened it: a lock that a child finds is its parent's.
    pub fn is_own(&self) -> bool {
        self.process == std::process::id()
    }
}

impl Deref for LockFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.file
    }
}

impl AsFd for LockFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        if self.is_own() {
            let _ = flock(&self.file, FlockOperation::Unlock);
        }
    }
}

/// Opens the file of a lock that is there. Its rights are taken from all others, who may have been let into the
/// container with all its files.
pub fn open_if_there(directory: &Directory, name: &str) -> io::Result<LockFile> {
    let file = directory.open_own_file(name, OFlags::RDWR)?;
    if fstat(&file)?.st_mode & OTHERS != 0 {
        // Some file systems have no permissions.
        let _ = fchmod(&file, Mode::from_raw_mode(PRIVATE_FILE));
    }
    Ok(LockFile::new(file))
}

/// Makes the file of a lock.
pub fn create(directory: &Directory, name: &str) -> io::Result<LockFile> {
    directory.create(name, OFlags::RDWR, PRIVATE_FILE).map(LockFile::new)
}

/// Does the same, and makes it if it is not there.
pub fn opened(directory: &Directory, name: &str) -> io::Result<LockFile> {
    match open_if_there(directory, name) {
        Err(cause) if cause.kind() == ErrorKind::NotFound => match create(directory, name) {
            // Another process was quicker.
            Err(cause) if cause.kind() == ErrorKind::AlreadyExists => {
                open_if_there(directory, name)
            }
            created => created,
        },
        opened => opened,
    }
}

/// Does the same for a container.
pub fn open(directory: &Directory, name: &str) -> Result<LockFile, StowError> {
    opened(directory, name).attempt("open", directory.path().join(name))
}

/// Takes a lock if nobody is in the way; returns whether.
pub fn is_taken(file: impl AsFd, hold: Hold) -> Result<bool, Errno> {
    let operation = match hold {
        Hold::Shared => FlockOperation::NonBlockingLockShared,
        Hold::Alone => FlockOperation::NonBlockingLockExclusive,
    };
    match flock(file, operation) {
        Ok(()) => Ok(true),
        Err(Errno::AGAIN | Errno::INTR) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Takes a lock; waits no longer than this for who has it.
///
/// # Errors
/// With [`Errno::BUSY`] if that was too long.
pub fn take_within(limit: Duration, file: impl AsFd, hold: Hold) -> Result<(), Errno> {
    let begin = Instant::now();
    let mut pause = PAUSE_FIRST;
    while !is_taken(&file, hold)? {
        if begin.elapsed() > limit {
            return Err(Errno::BUSY);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(PAUSE_LAST);
    }
    Ok(())
}

/// Takes a lock of a container, and tells who has it if that takes too long.
pub fn take(file: &File, hold: Hold, container: &Path) -> Result<(), StowError> {
    take_or_tell(WAIT_MAX, file, hold, container)
}

/// Does the same within another limit.
pub fn take_or_tell(
    limit: Duration,
    file: &File,
    hold: Hold,
    container: &Path,
) -> Result<(), StowError> {
    match take_within(limit, file, hold) {
        Err(Errno::BUSY) => Err(held(file, container)),
        taken => taken.attempt("lock", container),
    }
}

fn held(file: &File, container: &Path) -> StowError {
    let user = |process: u32| Some(std::fs::metadata(format!("/proc/{process}")).ok()?.uid());
    let holder = match lock_holder(file).map(|process| (process, user(process))) {
        Some((process, Some(user))) => format!("process {process} of user {user}"),
        Some((process, None)) => format!("process {process}"),
        None => "a process that cannot be told".into(),
    };
    StowError::Held { path: container.into(), holder }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_wait_ends_and_tells_who_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let directory = Directory::open(folder.path()).unwrap();
        let (one, two) = (open(&directory, "it").unwrap(), open(&directory, "it").unwrap());
        take_within(WAIT_MAX, &one, Hold::Shared).unwrap();
        take_within(WAIT_MAX, &two, Hold::Shared).unwrap();
        let limit = Duration::from_millis(30);
        assert_eq!(take_within(limit, &two, Hold::Alone), Err(Errno::BUSY));
        let told = held(&two, Path::new("big")).to_string();
        assert!(told.contains(&format!("process {}", std::process::id())), "{told}");
        drop(one);
        take_within(WAIT_MAX, &two, Hold::Alone).unwrap();
    }

    #[test]
    fn a_lock_is_taken_back_from_those_who_were_let_in() {
        let folder = tempfile::tempdir().unwrap();
        let (directory, path) = (Directory::open(folder.path()).unwrap(), folder.path().join("it"));
        drop(open(&directory, "it").unwrap());
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        drop(open(&directory, "it").unwrap());
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
}
