//! What is known about a burst when it is over.

use plimsoll_domain::Bytes;
use serde::{Deserialize, Serialize};

use crate::file_layout::FileLayout;

/// What is known about a burst when it is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finished {
    /// Bytes that were moved within the measure.
    pub bytes: Bytes,
    /// Calls that it took, the continuations of short ones included and fsync not.
    pub calls: u64,
    /// The layout of each file, in the order of the paths: `None` where there is none.
    pub layouts: Vec<Option<FileLayout>>,
    /// Whether the page cache was really excluded.
    pub page_cache: PageCache,
    /// Bytes that were found to be right.
    pub verified: Bytes,
}

/// How the page cache was excluded, and what the kernel says about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageCache {
    /// What was done.
    pub by: CacheKeptOut,
    /// Bytes of the burst's regions that were cached when none should have been: after the
    /// pages were dropped for a read, or after O_DIRECT. `None` when the kernel does not tell, and
    /// for writes that go through the cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<Bytes>,
    /// Whether a file lies only in memory (tmpfs, ramfs): nothing can exclude the cache.
    pub in_memory: bool,
}

impl PageCache {
    /// Returns whether the measure is one of memory, in part or in whole. `None` when nobody knows.
    pub fn was_used(&self) -> Option<bool> {
        match (self.in_memory, self.by) {
            (true, _) => Some(true),
            (false, CacheKeptOut::Fsync) => Some(false),
            (false, _) => self.cached.map(|bytes| bytes > Bytes::default()),
        }
    }
}

/// What was done to exclude the page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheKeptOut {
    /// O_DIRECT.
    Direct,
    /// A write through the cache that ended with fsync.
    Fsync,
    /// The pages were dropped before the read.
    Dropped,
}
