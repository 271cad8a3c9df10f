//! What one process does in one instance.

use std::path::PathBuf;

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::{Caching, Engine, Operation, Pattern};
use serde::{Deserialize, Serialize};

/// What one process does in one instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Burst {
    /// Which way the data goes.
    pub operation: Operation,
    /// The files. With more than one, the burst's bytes are dealt over them in turns of `chunk`.
    pub paths: Vec<PathBuf>,
    /// Bytes on one file before the next file's turn; a multiple of `transfer`.
    pub chunk: Bytes,
    /// Where this process's region of each file begins: not 0 only in shared files.
    pub offset: Bytes,
    /// Bytes to move.
    pub bytes: Bytes,
    /// Bytes of one call.
    pub transfer: Bytes,
    /// The order of the calls.
    pub pattern: Pattern,
    /// How the page cache is kept out.
    pub caching: Caching,
    /// Who does the transfers.
    pub engine: Engine,
    /// Transfers in flight; 1 with the synchronous engine.
    pub depth: u32,
    /// Seed of the data and of the random order.
    pub seed: u64,
    /// Whether the data is read back after the measure (a write) or compared (a read).
    pub verify: bool,
    /// Layout for files that this process creates on Lustre.
    pub stripe: Option<Stripe>,
}

/// A Lustre layout to ask for, and to read back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stripe {
    /// Index of the first target.
    pub first: u16,
    /// Number of targets.
    pub count: u16,
    /// Bytes before the next target follows.
    pub size: Bytes,
}
