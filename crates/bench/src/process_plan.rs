//! One process of an instance.

use plimsoll_domain::Bytes;

/// What one process does in an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessPlan {
    /// Number of the client, from 0.
    pub client: u32,
    /// Number of the process within the client, from 0.
    pub process: u32,
    /// Numbers of the targets that the file lies on, the first stripe's first: one unless striped.
    pub targets: Vec<u32>,
    /// Name of the file below each target's working directory; those who share have the same.
    pub file: String,
    /// Where the process's region begins, in each of the files: not 0 only in shared files.
    pub offset: Bytes,
    /// Bytes to move.
    pub bytes: Bytes,
    /// Seed of the data and of a random order; a reader has its writer's.
    pub seed: u64,
}
