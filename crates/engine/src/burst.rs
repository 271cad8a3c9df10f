//! What one process does in one instance.
//!
//! Bytes lie in the files by this rule: byte `p` of the burst is in chunk `p / chunk`, which is
//! chunk number `p / chunk / files` of file `p / chunk % files`, counted from `offset`.

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
    /// Bytes on one file before the next file's turn; a multiple of `transfer`. Of no meaning
    /// when there is one file.
    pub chunk: Bytes,
    /// Where this process's region of each file begins: not 0 only in shared files.
    pub offset: Bytes,
    /// Bytes to move.
    pub bytes: Bytes,
    /// Where the transfers of a random burst lie, when that is more than `bytes`: distinct
    /// transfers of the first `span` bytes, dealt over the files as the burst's bytes are. So a
    /// few random reads seek over a big file that was written before. A multiple of `transfer`;
    /// without it the burst's own bytes are the span, and every one of them moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Bytes>,
    /// Bytes of one call. Only the last one of a burst through the cache may be shorter.
    pub transfer: Bytes,
    /// The order of the calls.
    pub pattern: Pattern,
    /// How the page cache is kept out.
    pub caching: Caching,
    /// Who does the transfers.
    pub engine: Engine,
    /// Transfers in flight; 1 with the synchronous engine.
    pub depth: u32,
    /// Seed of the data and of the random order. Data of another seed in the same place is what
    /// a check calls stale, so each instance should have its own.
    pub seed: u64,
    /// Whether the data is read back after the measure (a write) or compared (a read), which
    /// needs data that a burst with `verify`, the same seed and the same order of paths wrote.
    /// Marking and comparing blocks is part of the measured time; without it nothing is.
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

impl std::fmt::Display for Stripe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { first, count, size } = self;
        write!(f, "{count} stripes of {size} from target {first}")
    }
}

#[cfg(test)]
pub(crate) mod tests_support {
    use super::*;

    /// 16 transfers of 4 KiB through the cache.
    pub fn burst(path: impl Into<PathBuf>) -> Burst {
        Burst {
            operation: Operation::Write,
            paths: vec![path.into()],
            chunk: Bytes::new(8 << 10),
            offset: Bytes::new(0),
            bytes: Bytes::new(64 << 10),
            span: None,
            transfer: Bytes::new(4 << 10),
            pattern: Pattern::Sequential,
            caching: Caching::Synced,
            engine: Engine::Synchronous,
            depth: 1,
            seed: 1,
            verify: true,
            stripe: None,
        }
    }
}
