//! A node's place among those that write a container: which of them it is.
//!
//! Each node that writes has a seat: a file of shared memory, a lock beside it, and logs that only it appends to. The processes of the
//! node share the lock; whoever gets it alone knows that nobody there writes any more, and may give the seat to another node. So
//! memory is never shared between nodes, and there are no more seats than nodes that have written at the same time.
//!
//! On a file system that one kernel writes to there is one seat: whoever holds it shares its memory, whatever it takes itself for. Systems in
//! containers of the operating system (LXC, systemd-nspawn) have a boot id of their own, and so are other nodes to each other.
//!
//! Seats are counted from 1 and without gaps. They are given, and looked for, while the list of logs is locked.

use std::fs::File;
use std::io::{self, Read, Write};

use plimsoll_guarded::{Directory, Draft};
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::anchor::keep_private_file;
use crate::error::Attempt;
use crate::fresh;
use crate::header::SEQUENCE_MAX;
use crate::lock::{self, Hold, LockFile, MANIFEST_LOCK, WRITERS_LOCK};
use crate::rights::PRIVATE_FILE;
use crate::state::SharedState;
use crate::states::{SEATS_MAX, STATE, StateCopy, state_name};
use crate::word::PAGE_BYTES;
use crate::{Id, StowError};

/// What the names of the seats' locks begin with.
const LOCK_PREFIX: &str = "lock-seat-";

/// Stamps that are skipped when another node, or the same one after a restart, goes on: more than anybody takes between two
/// moments at which the kernel writes the file out by itself (30 s).
const SKIPPED: u64 = 1 << 32;

fn lock_name(seat: u32) -> String {
    format!("{LOCK_PREFIX}{seat}")
}

/// Returns whether a file of this name is a seat's; the state of the first one is the container's own.
pub fn is_of_seat(name: &str) -> bool {
    let whole = name.strip_prefix('.').and_then(|it| it.strip_suffix(".tmp")).unwrap_or(name);
    let number = whole.strip_prefix(STATE).and_then(|it| it.strip_prefix('-'));
    let number = number.or_else(|| whole.strip_prefix(LOCK_PREFIX));
    number.and_then(|it| it.parse().ok()).is_some_and(|it: u32| (1..=SEATS_MAX).contains(&it))
}

/// Joins the writers of a container on this node; `one_kernel` where all nodes that can write it are of one kernel.
///
/// # Errors
/// If too many nodes write, if the container was removed just now, if a file is damaged, or if others could exchange what is in
/// the directory.
pub fn join(directory: &Directory, node: Id, one_kernel: bool) -> Result<SharedState, StowError> {
    let is_own = directory.require_served_by_none_else().and_then(|()| directory.require_own());
    is_own.attempt("write to", directory.path())?;
    let lock = lock::open(directory, WRITERS_LOCK)?;
    lock::take(&lock, Hold::Shared, directory.path())?;
    let seats = Seats { directory, node };
    let seat = match one_kernel {
        true => seats.only()?,
        false => match seats.own()? {
            Some(seat) => seat,
            None => seats.claim()?,
        },
    };
    let name = state_name(seat.number);
    let is_there = directory.require_same(&name, &seat.state);
    let is_there = is_there.and_then(|()| directory.require_same(WRITERS_LOCK, &lock));
    is_there.attempt("write to", directory.path())?;
    let state = SharedState::of(seat.number, seat.state, seat.lock, lock);
    let state = state.attempt("map", directory.path().join(name))?;
    if state.is_used_up() {
        return Err(StowError::UsedUp { path: directory.path().into() });
    }
    state.raise(seats.sequence(|it| it.node() != node)?);
    Ok(state)
}

/// Returns a stamp that is later than all that other nodes have taken until now.
///
/// # Errors
/// If a file is damaged.
pub fn sequence_of_others(directory: &Directory, node: Id) -> Result<u64, StowError> {
    Seats { directory, node }.sequence(|it| it.node() != node)
}

/// Returns whether so many nodes have written at the same time.
pub fn is_there(directory: &Directory, seat: u32) -> bool {
    directory.kind_of(state_name(seat)).is_ok()
}

/// Returns how many seats there are: as many nodes have written at the same time.
pub fn count(directory: &Directory) -> u32 {
    // There are no gaps: one is there, and it is asked for the first that is not.
    let (mut there, mut not_there) = (1, SEATS_MAX + 1);
    while there + 1 < not_there {
        let middle = there.midpoint(not_there);
        *(if is_there(directory, middle) { &mut there } else { &mut not_there }) = middle;
    }
    there
}

/// The seats of a container, as a node has them.
struct Seats<'a> {
    directory: &'a Directory,
    node: Id,
}

/// A seat whose lock is held.
struct Seat {
    number: u32,
    state: File,
    lock: LockFile,
}

impl Seats<'_> {
    /// Takes the first seat, which all share who write.
    fn only(&self) -> Result<Seat, StowError> {
        let first = self.open(1)?.map(|state| self.held_if_own(1, state)).transpose()?;
        if let Some(seat) = first.flatten() {
            return Ok(seat);
        }
        let listing = lock::open(self.directory, MANIFEST_LOCK)?;
        lock::take(&listing, Hold::Alone, self.directory.path())?;
        let path = || self.directory.path().join(STATE);
        let state = self.open(1)?.ok_or(Errno::NOENT).attempt("open", path())?;
        let lock = lock::open(self.directory, &lock_name(1))?;
        let seat = Seat { number: 1, state, lock };
        // Where nobody writes, the machine may have been started again since somebody did.
        if self.is_held(&seat.lock, Hold::Alone)? && self.copy(1, &seat.state)?.node() != self.node
        {
            return self.take_over(seat);
        }
        lock::take(&seat.lock, Hold::Shared, self.directory.path())?;
        Ok(seat)
    }

    /// Returns the seat that this node has, if it has one and nobody gives it away meanwhile.
    fn own(&self) -> Result<Option<Seat>, StowError> {
        for number in 1..=SEATS_MAX {
            let Some(state) = self.open(number)? else { break };
            if self.copy(number, &state)?.node() == self.node {
                return self.held_if_own(number, state);
            }
        }
        Ok(None)
    }

    /// Holds a seat if it is this node's, and nobody gives it away meanwhile.
    fn held_if_own(&self, number: u32, state: File) -> Result<Option<Seat>, StowError> {
        let is_own = || Ok::<_, StowError>(self.copy(number, &state)?.node() == self.node);
        if !is_own()? {
            return Ok(None);
        }
        let lock = lock::open(self.directory, &lock_name(number))?;
        let is_held = self.is_held(&lock, Hold::Shared)?;
        // Once it is held, nobody gives it to another node.
        let is_own = is_held && is_own()?;
        Ok(is_own.then_some(Seat { number, state, lock }))
    }

    /// Takes the seat that this node has, one whose node writes no more, or a new one.
    fn claim(&self) -> Result<Seat, StowError> {
        let listing = lock::open(self.directory, MANIFEST_LOCK)?;
        lock::take(&listing, Hold::Alone, self.directory.path())?;
        let mut free = None;
        for number in 1..=SEATS_MAX {
            let Some(state) = self.open(number)? else {
                return match free {
                    Some(seat) => self.take_over(seat),
                    None => self.make(number),
                };
            };
            let node = self.copy(number, &state)?.node();
            let lock = lock::open(self.directory, &lock_name(number))?;
            let seat = Seat { number, state, lock };
            if node == self.node && self.is_held(&seat.lock, Hold::Shared)? {
                return Ok(seat);
            }
            if free.is_none() && self.is_held(&seat.lock, Hold::Alone)? {
                free = Some(seat);
            }
        }
        match free {
            Some(seat) => self.take_over(seat),
            None => Err(StowError::TooManyNodes { path: self.directory.path().into() }),
        }
    }

    fn take_over(&self, seat: Seat) -> Result<Seat, StowError> {
        let path = || self.directory.path().join(state_name(seat.number));
        let sequence = self.sequence(|_| true)? + SKIPPED;
        SharedState::hand_over(&seat.state, self.node, sequence).attempt("take over", path())?;
        lock::take(&seat.lock, Hold::Shared, self.directory.path())?;
        Ok(seat)
    }

    /// Makes a seat: nobody sees it before it is held and whole.
    fn make(&self, number: u32) -> Result<Seat, StowError> {
        let name = state_name(number);
        let path = || self.directory.path().join(&name);
        let lock = lock::open(self.directory, &lock_name(number))?;
        lock::take(&lock, Hold::Shared, self.directory.path())?;
        let bytes = SharedState::new_file(self.node, self.sequence(|_| true)? + SKIPPED);
        let draft = Draft::create(self.directory, &name, PRIVATE_FILE).attempt("make", path())?;
        draft.file().write_all(&bytes).attempt("write", path())?;
        let made = draft.sync().and_then(|()| draft.publish()).map(drop);
        made.and_then(|()| self.directory.sync()).attempt("make", path())?;
        let state = self.open(number)?.ok_or(Errno::NOENT).attempt("open", path())?;
        Ok(Seat { number, state, lock })
    }

    /// Returns a stamp that is later than all that some nodes have taken until now.
    ///
    /// # Errors
    /// If a file is damaged, or if these have taken all stamps.
    fn sequence(&self, is_counted: impl Fn(&StateCopy) -> bool) -> Result<u64, StowError> {
        let mut last = 0;
        for number in 1..=SEATS_MAX {
            let Some(state) = self.open(number)? else { break };
            let copy = self.copy(number, &state)?;
            if is_counted(&copy) {
                last = last.max(copy.sequence());
            }
        }
        match last < SEQUENCE_MAX {
            true => Ok(last),
            false => Err(StowError::UsedUp { path: self.directory.path().into() }),
        }
    }

    /// Opens the state of a seat; `None` if there is no such seat.
    fn open(&self, number: u32) -> Result<Option<File>, StowError> {
        let name = state_name(number);
        match self.directory.open_own_file(&name, OFlags::RDWR) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound && number > 1 => Ok(None),
            opened => {
                let state = opened.attempt("open", self.directory.path().join(name))?;
                keep_private_file(&state, self.directory);
                Ok(Some(state))
            }
        }
    }

    /// Reads the first page of a state, as other nodes have left it.
    fn copy(&self, number: u32, state: &File) -> Result<StateCopy, StowError> {
        let name = state_name(number);
        let mut bytes = Vec::new();
        let read = fresh::renew(state).map_err(io::Error::from).and_then(|()| {
            let mut from = state;
            io::Seek::rewind(&mut from)?;
            from.take(PAGE_BYTES).read_to_end(&mut bytes)
        });
        read.attempt("read", self.directory.path().join(&name))?;
        if bytes.len() < PAGE_BYTES as usize {
            return Err(self.damaged(&name, "it is cut short"));
        }
        let copy = StateCopy::decode(&bytes);
        copy.ok_or_else(|| self.damaged(&name, "it does not begin as it should"))
    }

    fn is_held(&self, lock: &File, hold: Hold) -> Result<bool, StowError> {
        lock::is_taken(lock, hold).attempt("lock", self.directory.path())
    }

    fn damaged(&self, name: &str, why: &str) -> StowError {
        StowError::Damaged { path: self.directory.path().join(name), why: why.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_seats_are_told_from_others() {
        for name in ["state-2", "lock-seat-1", "lock-seat-256", ".state-9.tmp"] {
            assert!(is_of_seat(name), "{name}");
        }
        for name in
            ["state", "state-", "state-x", "state-0", "state-257", "lock-seat", "my-state-2"]
        {
            assert!(!is_of_seat(name), "{name}");
        }
        assert_eq!([1, 2].map(state_name), ["state", "state-2"]);
    }
}
