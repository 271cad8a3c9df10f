//! Taking turns at a container: of several processes of a node that rename or remove one, one does at a time.
//!
//! The lock is on the container's own directory, which nobody else can open while it is private. Whoever cannot have it goes on without: a turn keeps processes of this user
//! from undoing what others of them do, and is not what anything is safe by.

use std::os::fd::AsFd;
use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, openat};

use crate::lock::{Hold, is_taken, take_within};

/// Longest wait for somebody who has the turn: others may lock what is open to them.
const TURN_MAX: Duration = Duration::from_secs(1);
/// Longest wait where anybody may be in the way.
const TURN_MAX_SHARED: Duration = Duration::from_millis(100);

/// The turn at a directory, until it is dropped.
#[derive(Debug)]
pub struct Turn {
    locked: OwnedFd,
}

impl Turn {
    /// Waits for the turn at a container, by its directory; `None` if it cannot be had.
    pub fn at(directory: impl AsFd) -> Option<Self> {
        Self::within(TURN_MAX, directory)
    }

    /// Waits for the turn at a directory that others may read, too: not for long.
    pub fn at_shared(directory: impl AsFd) -> Option<Self> {
        Self::within(TURN_MAX_SHARED, directory)
    }

    /// Takes the turn if nobody has it.
    pub fn now(directory: impl AsFd) -> Option<Self> {
        let locked = opened(directory)?;
        is_taken(&locked, Hold::Alone).ok()?.then_some(Turn { locked })
    }

    fn within(limit: Duration, directory: impl AsFd) -> Option<Self> {
        let locked = opened(directory)?;
        take_within(limit, &locked, Hold::Alone).ok().map(|()| Turn { locked })
    }
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

    #[test]
    fn one_at_a_time_has_the_turn() {
        let folder = tempfile::tempdir().unwrap();
        let directory = std::fs::File::open(folder.path()).unwrap();
        let first = Turn::at(&directory);
        assert!(first.is_some() && Turn::now(&directory).is_none());
        assert!(Turn::at_shared(&directory).is_none(), "it waits for a while, and goes on");
        drop(first);
        assert!(Turn::now(&directory).is_some());
    }
}
