//! Taking turns at a container: of several processes of a node that rename or remove one, one does at a time.
//!
//! The lock is on the container's own directory, which nobody else can open while it is private. Whoever cannot have it goes on without: a turn keeps processes of this user
//! from undoing what others of them do, and is not what anything is safe by.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstat, openat};
use rustix::time::{ClockId, clock_gettime};

use crate::lock::{Hold, is_taken, take_within};

/// Longest wait for another process of this user that has the turn.
const TURN_MAX: Duration = Duration::from_secs(1);
/// Longest wait where others may be in the way, who can lock what they may read.
const TURN_MAX_SHARED: Duration = Duration::from_millis(100);
/// The same, for some seconds after somebody was waited for in vain there: whoever holds one of many holds all.
const TURN_MAX_AGAIN: Duration = Duration::from_millis(2);
const SECONDS_AGAIN: i64 = 10;

/// What others need to open a directory.
const OTHERS_READ: u32 = 0o044;

/// Until when nobody is waited for that long, in seconds since the machine was started.
static IMPATIENT_UNTIL: AtomicI64 = AtomicI64::new(0);

/// The turn at a directory, until it is dropped.
#[derive(Debug)]
pub struct Turn {
    locked: OwnedFd,
}

impl Turn {
    /// Waits for the turn at a container, by its directory, or at the directory that it is in; `None` if it cannot be had.
    pub fn at(directory: impl AsFd) -> Option<Self> {
        let locked = opened(directory)?;
        if fstat(&locked).is_ok_and(|it| it.st_mode & OTHERS_READ == 0) {
            return taken_within(TURN_MAX, locked);
        }
        let now = clock_gettime(ClockId::Boottime).tv_sec;
        if now < IMPATIENT_UNTIL.load(Ordering::Relaxed) {
            return taken_within(TURN_MAX_AGAIN, locked);
        }
        let turn = taken_within(TURN_MAX_SHARED, locked);
        if turn.is_none() {
            IMPATIENT_UNTIL.store(now + SECONDS_AGAIN, Ordering::Relaxed);
        }
        turn
    }

    /// Takes the turn if nobody has it.
    pub fn now(directory: impl AsFd) -> Option<Self> {
        let locked = opened(directory)?;
        is_taken(&locked, Hold::Alone).ok()?.then_some(Turn { locked })
    }
}

fn taken_within(limit: Duration, locked: OwnedFd) -> Option<Turn> {
    take_within(limit, &locked, Hold::Alone).ok().map(|()| Turn { locked })
}

impl Drop for Turn {
    fn drop(&mut self) {
        // A child that was forked meanwhile has a copy of the descriptor.
        let _ = flock(&self.locked, FlockOperation::Unlock);
    }
}

fn opened(directory: impl AsFd) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(directory, c".", flags, Mode::empty()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn one_at_a_time_has_the_turn() {
        let folder = tempfile::tempdir().unwrap();
        let directory = std::fs::File::open(folder.path()).unwrap();
        let first = Turn::at(&directory);
        assert!(first.is_some() && Turn::now(&directory).is_none());
        assert!(Turn::at(&directory).is_none(), "it waits for a while, and goes on");
        drop(first);
        assert!(Turn::now(&directory).is_some());
    }

    /// The attack: somebody locks all containers of a user that are open to others, each of which was waited for as they were removed.
    #[test]
    fn whoever_locks_many_is_waited_for_once() {
        let folder = tempfile::tempdir().unwrap();
        let open = Permissions::from_mode(0o755);
        std::fs::set_permissions(folder.path(), open).unwrap();
        let directory = std::fs::File::open(folder.path()).unwrap();
        let theirs = Turn::now(&directory);
        assert!(theirs.is_some() && Turn::at(&directory).is_none());
        let until = IMPATIENT_UNTIL.load(Ordering::Relaxed);
        assert!(until > clock_gettime(ClockId::Boottime).tv_sec);
        (0..500).for_each(|_| assert!(Turn::at(&directory).is_none()));
        drop(theirs);
        assert!(Turn::at(&directory).is_some(), "free ones are taken all the same");
    }
}
