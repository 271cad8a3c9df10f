//! How a store is kept.

use std::time::Duration;

/// How a store is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Samples become a file of their day after this time,
    pub seal_after: Duration,
    /// or once there are so many.
    pub seal_rows: u64,
    /// What was appended is durable after this time, should the machine fail. A killed process loses nothing of it.
    pub durable_after: Duration,
    /// Days with samples that stay at full resolution, beside the last one. Imports keep their resolution.
    pub fine_days: u32,
    /// Days with samples that are kept, beside the last one.
    pub keep_days: u32,
    /// Bytes that the store may have; the oldest days go first.
    pub bytes_max: Option<u64>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            seal_after: Duration::from_secs(600),
            seal_rows: 1 << 18,
            durable_after: Duration::from_secs(5),
            fine_days: 1,
            keep_days: 366,
            bytes_max: None,
        }
    }
}
