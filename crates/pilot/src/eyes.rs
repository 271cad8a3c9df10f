//! Looks at segments of anybody.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::path::PathBuf;

use plimsoll_guarded::Directory;
use plimsoll_node::written;
use plimsoll_route::lease::{SealedLease, Seen};
use plimsoll_stow::{DIRECTORY_PREFIX, Id, directory_name, file_name};
use rustix::fs::OFlags;

/// Bits of a place that tell the log; the others tell the container.
const LOG_BITS: u32 = 16;

/// What is kept open of logs at most.
const OPEN_MAX: usize = 256;

/// Finds the logs of leases.
pub(crate) struct Eyes {
    /// By place in the shared memory.
    pub targets: Vec<PathBuf>,
    pub container: Id,
    /// Logs of the container.
    pub open: HashMap<(usize, u64), File>,
}

impl Eyes {
    /// Returns the number by which others find a log of the container.
    pub fn number(&self, log: u32) -> u64 {
        number_of(self.container, log)
    }

    /// Returns whether a lease of anybody is written out; `None` if that cannot be told.
    pub fn look(&mut self, lease: &SealedLease) -> Option<Seen> {
        let key = (lease.lane, lease.place.log);
        if let Some(file) = self.open.get(&key) {
            return written::look(file.as_fd(), lease);
        }
        let file = match self.find(lease) {
            Ok(file) => file,
            // It was removed, and nobody waits for it.
            Err(cause) if cause.kind() == ErrorKind::NotFound => return Some(Seen::Durable),
            Err(_) => return None,
        };
        let seen = written::look(file.as_fd(), lease);
        // One of another container may be removed at any time, and would take room for as long as it is open.
        if lease.place.log >> LOG_BITS == self.number(0) >> LOG_BITS && self.open.len() < OPEN_MAX {
            self.open.insert(key, file);
        }
        seen
    }

    fn find(&self, lease: &SealedLease) -> io::Result<File> {
        let target = self.targets.get(lease.lane).ok_or(ErrorKind::NotFound)?;
        let target = Directory::open_by_own_links(target)?;
        let log = (lease.place.log & ((1 << LOG_BITS) - 1)) as u32;
        let container = if lease.place.log == self.number(log) {
            self.container
        } else {
            other_container(&target, lease.place.log)?
        };
        let directory = target.child(directory_name(container))?;
        directory.open_own_file(file_name(log), OFlags::RDONLY)
    }
}

fn number_of(container: Id, log: u32) -> u64 {
    let bytes = container.bytes();
    let high = bytes.iter().take(8).fold(0, |all: u64, byte| all << 8 | u64::from(*byte));
    high >> LOG_BITS << LOG_BITS | u64::from(log) & ((1 << LOG_BITS) - 1)
}

/// Returns the container on a target that a place means.
fn other_container(target: &Directory, place: u64) -> io::Result<Id> {
    let ids = target
        .names()?
        .into_iter()
        .filter_map(|name| Id::parse(name.to_str()?.strip_prefix(DIRECTORY_PREFIX)?));
    let is_it = |id: &Id| number_of(*id, 0) >> LOG_BITS == place >> LOG_BITS;
    ids.into_iter().find(is_it).ok_or_else(|| ErrorKind::NotFound.into())
}
