//! The messages between the coordinator and a worker.

use plimsoll_engine::{Burst, PageCache};
use plimsoll_guarded::Claim;
use serde::{Deserialize, Serialize};

/// From the coordinator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Order {
    /// The first message: where to work, and what to remove if the coordinator ends without cleaning up.
    Hello {
        /// Directories that the experiment made.
        working: Vec<Claim>,
    },
    /// Prepare this burst, say that you are ready, and wait for the release of the generation.
    Burst {
        /// What to do.
        burst: Box<Burst>,
        /// Which release to wait for.
        generation: u32,
    },
}

/// From a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// Prepared; waits for the release.
    Ready,
    /// The burst is done.
    Done(Done),
    /// It was called off.
    CalledOff,
    /// It could not be done, and why.
    Failed(String),
}

/// What a process did in an instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// The release, nanoseconds since 1970 on the process's node.
    pub start: u64,
    /// Its own completion, on the same clock.
    pub end: u64,
    /// Bytes that it moved.
    pub bytes: u64,
    /// Whether the page cache was really excluded.
    pub page_cache: PageCache,
    /// Lustre's indexes of the targets that the first file lies on; empty elsewhere.
    pub lustre_targets: Vec<u32>,
}
