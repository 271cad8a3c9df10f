//! Looks at segments of anybody.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;

use plimsoll_guarded::{Directory, acting_user};
use plimsoll_node::written::Watch;
use plimsoll_route::lease::{SealedLease, Seen};
use plimsoll_stow::{Id, directory_name, file_name};
use rustix::fs::OFlags;

use crate::others::Others;

/// Bits of a place that tell the log; the others tell the container.
const LOG_BITS: u32 = 16;

/// What is kept open of logs at most.
const OPEN_MAX: usize = 256;

/// Finds the logs of leases.
pub(crate) struct Eyes {
    /// By place in the shared memory.
    targets: Vec<PathBuf>,
    container: Id,
    /// Logs of the container.
    open: BTreeMap<(usize, u64), File>,
    watch: Watch,
}

impl Eyes {
    pub fn new(targets: Vec<PathBuf>, container: Id) -> Self {
        Others::of_process(|it| it.know(number_of(container, 0) >> LOG_BITS, container));
        Eyes { targets, container, open: BTreeMap::new(), watch: Watch::default() }
    }

    /// Returns a log of the container.
    pub fn log(&mut self, lane: usize, log: u32) -> Option<BorrowedFd<'_>> {
        let number = self.number(log);
        if !self.open.contains_key(&(lane, number)) {
            let file = self.find(lane, number).ok()??;
            if self.open.len() >= OPEN_MAX {
                self.open.clear();
            }
            self.open.insert((lane, number), file);
        }
        self.open.get(&(lane, number)).map(File::as_fd)
    }

    /// Returns the number by which others find a log of the container.
    pub fn number(&self, log: u32) -> u64 {
        number_of(self.container, log)
    }

    /// Returns whether a lease of anybody is written out; `None` if that cannot be told of a log that is open, or of any just now.
    pub fn look(&mut self, lease: &SealedLease) -> Option<Seen> {
        let key = (lease.lane, lease.place.log);
        if let Some(file) = self.open.get(&key) {
            return self.watch.look(file.as_fd(), lease);
        }
        let file = match self.find(lease.lane, lease.place.log) {
            Ok(Some(file)) => file,
            Ok(None) => return None,
            // It was removed, or nobody lets this process look at it: whoever waited for it might wait for ever. What is durable is said by `sync` alone.
            Err(_) => return Some(Seen::Durable),
        };
        let seen = self.watch.look(file.as_fd(), lease);
        // One of another container may be removed at any time, and would take room for as long as it is open.
        if lease.place.log >> LOG_BITS == self.number(0) >> LOG_BITS && self.open.len() < OPEN_MAX {
            self.open.insert(key, file);
        }
        seen
    }

    /// Opens a log; `None` if it is not known now whose it is.
    fn find(&self, lane: usize, place: u64) -> io::Result<Option<File>> {
        let path = self.targets.get(lane).ok_or(ErrorKind::NotFound)?;
        let target = Directory::open_by_own_links(path)?;
        let log = (place & ((1 << LOG_BITS) - 1)) as u32;
        let container = if place == self.number(log) {
            self.container
        } else {
            let is_own = |id| Ok(target.facts_of(directory_name(id))?.st_uid == acting_user());
            let start_of = |id| number_of(id, 0) >> LOG_BITS;
            let (start, list) = (place >> LOG_BITS, || target.names());
            let found = Others::of_process(|it| it.find(path, start, start_of, list, is_own))?;
            let Some(container) = found else { return Ok(None) };
            container
        };
        let directory = target.child(directory_name(container))?;
        directory.open_own_file(file_name(log), OFlags::RDONLY).map(Some)
    }
}

fn number_of(container: Id, log: u32) -> u64 {
    let bytes = container.bytes();
    let high = bytes.iter().take(8).fold(0, |all: u64, byte| all << 8 | u64::from(*byte));
    high >> LOG_BITS << LOG_BITS | u64::from(log) & ((1 << LOG_BITS) - 1)
}
