//! What is asked.

use plimsoll_stored::stored;
use plimsoll_theory::OPTIMAL_BYTES;

use crate::ExactSum;

/// What targets are put together by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Each on its own.
    Target,
    /// Those of a server, whoever had them at the time.
    Server,
    /// Those of a file system. Block devices that are of none are those of their machine.
    FileSystem,
}

/// What targets are by their utilization.
pub const CLASSES: [&str; 3] = ["idle", "moderate", "busy"];

/// What is asked of a store.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// Samples after this moment, in milliseconds since 1970,
    pub since: Option<u64>,
    /// and not after this one.
    pub until: Option<u64>,
    /// What targets are put together by.
    pub by: By,
    /// A window is idle below this percentage,
    pub moderate_from: f64,
    /// and busy from this one on.
    pub busy_from: f64,
    /// I/O of at least this size is optimal.
    pub optimal_bytes: u64,
    /// Time of a point of what is shown over time.
    pub bucket_millis: u64,
    /// Whether groups of which only bytes are known are left out, and not read: they have no utilization.
    pub only_operations: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            since: None,
            until: None,
            by: By::Target,
            moderate_from: 2.0,
            busy_from: 30.0,
            optimal_bytes: OPTIMAL_BYTES,
            bucket_millis: 60_000,
            only_operations: false,
        }
    }
}

impl Options {
    /// Returns the class of a utilization, as a place in [`CLASSES`].
    pub fn class(&self, fsu: f64) -> usize {
        usize::from(fsu >= self.moderate_from) + usize::from(fsu >= self.busy_from)
    }
}

/// What happened in a part of the time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bucket {
    /// Windows of it of which anything is known,
    pub known: u64,
    /// and those of them whose utilization is.
    pub windows: u64,
    /// Sum of their utilization.
    pub fsu: ExactSum,
    /// Sum of the rates of all, in bytes per second.
    pub bytes_per_second: ExactSum,
}

stored! { Bucket { known, windows, fsu, bytes_per_second } }

impl Bucket {
    /// Adds what another one has.
    pub(crate) fn plus(&mut self, other: &Bucket) {
        self.known = self.known.saturating_add(other.known);
        self.windows = self.windows.saturating_add(other.windows);
        self.fsu.plus(other.fsu);
        self.bytes_per_second.plus(other.bytes_per_second);
    }
}
