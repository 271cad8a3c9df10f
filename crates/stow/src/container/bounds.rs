//! How much those who read a container spend on it, and how long they wait.

use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use rustix::system::sysinfo;

use super::{Container, Way};
use crate::StowError;
use crate::error::Attempt;
use crate::lock::WAIT_MAX;
use crate::manifest::{LOGS_MAX, MANIFEST_BYTES_MAX};
use crate::patience::Patience;

/// Longest wait for a container that was not named, but is one of many in a directory.
const WAIT_FOR_ONE_OF_MANY: Duration = Duration::from_millis(500);

/// The parts of what a process has that reading a container takes at most, and the most memory whatever that is.
const SHARE_OF_MEMORY: u64 = 8;
const SHARE_OF_DESCRIPTORS: u64 = 4;
const MEMORY_MAX: u64 = 8 << 30;

/// The part of the memory that the text of a manifest takes at most: its logs are kept beside it for a moment.
const MANIFEST_PART: u64 = 4;

/// What a reader of a container may do at most.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Bytes of memory that it takes, about.
    memory: u64,
    /// Bytes of memory that it takes for what it read of a merged index, about.
    index: u64,
    /// Logs that it opens.
    logs: usize,
    /// How long it waits for who keeps it out.
    wait: Duration,
    /// How long a look takes that finds nothing.
    look: Option<Duration>,
}

impl Bounds {
    /// Returns those of a container that was found this way.
    pub(super) fn of(way: &Way) -> Self {
        let wait = if let Way::Held = way { WAIT_FOR_ONE_OF_MANY } else { WAIT_MAX };
        Bounds { memory: u64::MAX, index: u64::MAX, logs: LOGS_MAX, wait, look: None }
    }
}

impl Container {
    /// Has readers take at most so many bytes of memory, about; what needs more cannot be read. A server gives no stranger more.
    #[must_use]
    pub fn within_memory(self, memory: u64) -> Self {
        Container { bounds: Bounds { memory, index: memory, ..self.bounds }, ..self }
    }

    /// Has readers keep at most so many bytes of what they read of a merged index, about, whatever they may take else.
    #[must_use]
    pub fn with_index_within(self, memory: u64) -> Self {
        Container { bounds: Bounds { index: memory, ..self.bounds }, ..self }
    }

    /// Has each look at it end after such a time with [`Errno::TIMEDOUT`], and a little later for each log and each record that it has. For what was not named, but is one of
    /// many: whoever forged it decides how long it would take.
    #[must_use]
    pub fn within_time(self, limit: Duration) -> Self {
        Container { bounds: Bounds { look: Some(limit), ..self.bounds }, ..self }
    }

    /// Has readers open at most so many logs, each of which takes a descriptor; what has more cannot be read, nor what gets more later.
    #[must_use]
    pub fn within_logs(self, logs: usize) -> Self {
        Container { bounds: Bounds { logs, ..self.bounds }, ..self }
    }

    /// Has readers take no more than a part of what the machine and its limits give this process, of memory and of descriptors: what lies in a directory would end it otherwise. Putting
    /// records in order takes as much memory again, and the rest is the program's.
    #[must_use]
    pub fn within_limits(self) -> Self {
        let facts = sysinfo();
        let machine = u64::from(facts.mem_unit).saturating_mul(facts.totalram as u64);
        let limits = [Resource::As, Resource::Data].map(|it| getrlimit(it).current);
        let memory = limits.into_iter().flatten().fold(machine, u64::min) / SHARE_OF_MEMORY;
        let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let logs = usize::try_from(descriptors / SHARE_OF_DESCRIPTORS).unwrap_or(usize::MAX);
        self.within_memory(memory.min(MEMORY_MAX)).within_logs(logs.min(LOGS_MAX))
    }

    /// Has readers wait for nobody who keeps them out: whoever holds each of many containers would be waited for as often.
    #[must_use]
    pub fn without_waiting(self) -> Self {
        Container { bounds: Bounds { wait: Duration::ZERO, ..self.bounds }, ..self }
    }

    /// Makes sure that a reader may open so many logs.
    ///
    /// # Errors
    /// If they are too many.
    pub(crate) fn require_within_logs(&self, logs: usize) -> Result<(), StowError> {
        match logs <= self.bounds.logs {
            true => Ok(()),
            false => Err(Errno::NFILE).attempt("open all logs of", self.path()),
        }
    }

    /// A look begins.
    pub(crate) fn patience(&self) -> Patience {
        Patience::of(self.bounds.look)
    }

    /// Returns the bytes of the largest manifest that is read.
    pub(crate) fn manifest_max(&self) -> u64 {
        MANIFEST_BYTES_MAX.min(self.bounds.memory / MANIFEST_PART)
    }

    /// Returns the bytes of memory that what was read of a merged index takes at most, about.
    pub(crate) fn index_memory_max(&self) -> u64 {
        self.bounds.index
    }

    /// Returns the bytes of memory that a reader takes at most, about.
    pub fn memory_max(&self) -> u64 {
        self.bounds.memory
    }

    /// Returns how long a reader waits for who keeps it out.
    pub(crate) fn wait_max(&self) -> Duration {
        self.bounds.wait
    }
}
