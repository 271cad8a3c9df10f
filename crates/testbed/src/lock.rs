//! One command at a time on a bed.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::os::unix::fs::FileExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use plimsoll_guarded::{Directory, Refusal, lock_holder};
use rustix::fs::{OFlags, fstat};

use crate::error::file_error;
use crate::place::Place;
use crate::{TestbedError, base_directory};

/// The mode of the lock file: anyone who can open it can lock it, and keep this user waiting forever.
const MODE: u32 = 0o600;

/// The wait after which a user is told whom the command waits for.
const QUIET: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(10);

/// Other commands that come and go at the same time are outlasted; a directory in which
/// nothing can be made is not. Counted in time: on a busy machine a thousand attempts pass
/// while the process that stands in the way waits for a core.
const OUTLASTED: Duration = Duration::from_secs(5);
/// Between attempts, so that two commands that undo each other's directories get out of step.
const PAUSE: Duration = Duration::from_millis(1);

/// In the lock file while the bed's directory is made and not yet marked, or is no
/// longer marked and not yet removed.
const UNMARKED: &str = "unmarked";

/// Another command works on the bed, and this one has to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// The process of the other command, if the lock file tells.
    pub pid: Option<u32>,
}

/// How a command waits for others.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Patience {
    /// Is called when it takes longer than a second.
    pub told: Option<fn(Waiting)>,
    /// How long it waits; without end for commands of the same user, who can end them.
    pub at_most: Option<Duration>,
}

/// The lock of a bed, held until dropped.
///
/// The lock belongs to the open file, so a program that gets the file as its standard
/// input keeps the bed locked until it ends, also when this process is killed: a mkfs
/// or losetup left behind is waited for by the next command.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    base: Directory,
    place: Place,
    /// The lock file was not there before, and goes when dropped.
    is_temporary: bool,
    unmarked: Cell<bool>,
}

impl Lock {
    /// Waits until no other command works on the bed. Makes the base directory if need be.
    pub(crate) fn acquire(place: &Place, patience: Patience) -> Result<Self, TestbedError> {
        Self::acquire_in(place, patience, || base_directory::make(place))
    }

    /// As [`Lock::acquire`], where there is a bed or the rest of one: no base directory is made.
    pub(crate) fn acquire_existing(
        place: &Place,
        patience: Patience,
    ) -> Result<Self, TestbedError> {
        let missing = || TestbedError::NoBed { directory: place.directory() };
        Self::acquire_in(place, patience, || base_directory::existing(place)?.ok_or_else(missing))
    }

    fn acquire_in(
        place: &Place,
        patience: Patience,
        open_base: impl Fn() -> Result<Directory, TestbedError>,
    ) -> Result<Self, TestbedError> {
        let mut first_failure = None;
        // A `down` may have removed the base directory just now.
        let mut retry = |error: &TestbedError| {
            let since = first_failure.get_or_insert_with(Instant::now);
            let is_missing = matches!(error, TestbedError::File { cause, .. }
                if cause.kind() == io::ErrorKind::NotFound);
            let retry = is_missing && since.elapsed() < OUTLASTED;
            if retry {
                std::thread::sleep(PAUSE);
            }
            retry
        };
        let began = Instant::now();
        loop {
            // Whoever owns the bed may put one locked file after the other in the lock's place.
            let at_most = patience.at_most.map(|it| it.saturating_sub(began.elapsed()));
            let left = Patience { at_most, ..patience };
            let attempt = open_base().and_then(|base| Self::attempt(place, base, left));
            match attempt {
                Err(error) if retry(&error) => continue,
                Err(error) => return Err(error),
                Ok(Some(lock)) => return Ok(lock),
                Ok(None) if at_most.is_some_and(|it| it.is_zero()) => {
                    return Err(TestbedError::Locked { path: place.lock_file(), pid: None });
                }
                Ok(None) => (),
            }
        }
    }

    /// `None` when the lock that was waited for is no longer the bed's.
    fn attempt(
        place: &Place,
        base: Directory,
        patience: Patience,
    ) -> Result<Option<Self>, TestbedError> {
        let failed = |base: &Directory, cause: io::Error| {
            base_directory::remove_if_made(base);
            file_error("lock", place.lock_file())(cause)
        };
        let (file, is_new) = open(&base, place).map_err(|cause| failed(&base, cause))?;
        if !wait(&file, patience).map_err(|cause| failed(&base, cause))? {
            return Err(TestbedError::Locked { path: place.lock_file(), pid: lock_holder(&file) });
        }
        // While this process waited, a `down` may have removed the file, and a
        // third command may hold the lock of its successor.
        if !is_same_file(&file, &base, place) {
            return Ok(None);
        }
        let before = contents(&file);
        if !is_of_a_lock(&before) {
            return Err(failed(&base, Refusal::NotALock.into()));
        }
        let unmarked = Cell::new(before.lines().any(|line| line == UNMARKED));
        let is_temporary = is_new && before.is_empty();
        let lock = Self { file, base, place: place.clone(), is_temporary, unmarked };
        lock.write().map_err(|cause| failed(&lock.base, cause))?;
        Ok(Some(lock))
    }

    /// Returns the bed's base directory.
    pub(crate) fn base(&self) -> &Directory {
        &self.base
    }

    /// Remembers, also for the next command after a kill, that the bed's directory is
    /// this program's although it is not marked.
    pub(crate) fn note_unmarked(&self, unmarked: bool) -> Result<(), TestbedError> {
        self.unmarked.set(unmarked);
        self.write().map_err(file_error("write", self.place.lock_file()))
    }

    /// Returns what [`Lock::note_unmarked`] remembers.
    pub(crate) fn is_unmarked(&self) -> bool {
        self.unmarked.get()
    }

    /// The writer's process id for those who wait. Leaves the file's position at its
    /// end, so that it reads as empty standard input.
    fn write(&self) -> io::Result<()> {
        let mut file = &self.file;
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{}", std::process::id())?;
        if self.unmarked.get() {
            writeln!(file, "{UNMARKED}")?;
        }
        Ok(())
    }

    /// Leaves the lock file, as the bed is there to stay.
    pub(crate) fn keep(mut self) {
        self.is_temporary = false;
    }

    /// Removes the lock file, and the base directory if it was made for beds and this
    /// was the last one, as the last act on a bed that is gone.
    pub(crate) fn remove(mut self) -> Result<(), TestbedError> {
        self.is_temporary = false;
        self.remove_file().map_err(file_error("remove", self.place.lock_file()))
    }

    fn remove_file(&self) -> io::Result<()> {
        self.base.remove_file(self.place.lock_name())?;
        base_directory::remove_if_made(&self.base);
        Ok(())
    }

    /// Returns the lock as standard input for a program: empty, and locked while it runs.
    pub(crate) fn as_stdin(&self) -> Stdio {
        self.file.try_clone().map_or_else(|_| Stdio::null(), Stdio::from)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.is_temporary {
            // An empty lock file does no harm.
            let _ = self.remove_file();
        }
    }
}

/// Returns the lock file, and whether it was not there before. One of another user could be locked for ever, and
/// one with several names is a file elsewhere, which would be overwritten.
fn open(base: &Directory, place: &Place) -> io::Result<(File, bool)> {
    let name = place.lock_name();
    match base.create(&name, OFlags::RDWR, MODE) {
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
            base.open_own_file(&name, OFlags::RDWR).map(|file| (file, false))
        }
        opened => opened.map(|file| (file, true)),
    }
}

/// Returns true when the file is locked, false when that took too long.
fn wait(file: &File, patience: Patience) -> io::Result<bool> {
    if is_locked_within(file, QUIET)? {
        return Ok(true);
    }
    if let Some(tell) = patience.told {
        tell(Waiting { pid: lock_holder(file) });
    }
    match patience.at_most {
        Some(at_most) => is_locked_within(file, at_most),
        None => file.lock().map(|()| true),
    }
}

fn is_locked_within(file: &File, time: Duration) -> io::Result<bool> {
    let started = Instant::now();
    while started.elapsed() < time {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(fs::TryLockError::WouldBlock) => std::thread::sleep(POLL),
            Err(fs::TryLockError::Error(cause)) => return Err(cause),
        }
    }
    Ok(false)
}

/// Returns true for what this program writes into lock files. Anything else is a file that somebody gave the
/// name of one, and would be lost.
fn is_of_a_lock(contents: &str) -> bool {
    let is_number = |line: &str| !line.is_empty() && line.bytes().all(|it| it.is_ascii_digit());
    contents.len() < CONTENTS_MAX && contents.lines().all(|it| is_number(it) || it == UNMARKED)
}

/// More than a process id and [`UNMARKED`] take.
const CONTENTS_MAX: usize = 64;

/// Returns what a holder of the lock wrote; empty when nobody did.
fn contents(file: &File) -> String {
    let mut bytes = [0; CONTENTS_MAX];
    let length = file.read_at(&mut bytes, 0).unwrap_or(0);
    String::from_utf8_lossy(&bytes[..length]).into_owned()
}

fn is_same_file(file: &File, base: &Directory, place: &Place) -> bool {
    let (Ok(held), Ok(named)) = (fstat(file), base.facts_of(place.lock_name())) else {
        return false;
    };
    (held.st_dev, held.st_ino) == (named.st_dev, named.st_ino)
}

#[cfg(test)]
mod tests;
