//! The setting of a burst: what processes do in an instance of a benchmark.
//!
//! Instances with equal settings are comparable: Xie's *equivalent instance set* (5.1).

use serde::{Deserialize, Serialize};

use crate::Bytes;

/// Which way the data goes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// To the targets, ended by fsync.
    #[default]
    Write,
    /// From the targets, of data that another process wrote.
    Read,
}

impl Operation {
    /// Returns its name: "write" or "read".
    pub const fn name(self) -> &'static str {
        match self {
            Operation::Write => "write",
            Operation::Read => "read",
        }
    }

    /// Returns what several of them are called: "writes" or "reads".
    pub const fn plural(self) -> &'static str {
        match self {
            Operation::Write => "writes",
            Operation::Read => "reads",
        }
    }
}

/// In which order a process walks through its bytes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// One transfer after the other.
    #[default]
    Sequential,
    /// Every transfer once, in an order that the seed gives.
    Random,
}

/// Which processes write into one file.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// Every process has a file of its own on each of its targets.
    #[default]
    Independent,
    /// All processes of a target write regions of one file (Xie 4.6).
    Shared,
}

/// How the page cache is excluded from the measurement.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Caching {
    /// O_DIRECT: the cache is not used. A write still ends with fsync.
    #[default]
    Direct,
    /// Through the cache: a write ends with fsync, and a file's pages are dropped before it is read.
    Synced,
}

/// How transfers are done.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// pread and pwrite, one at a time.
    #[default]
    Synchronous,
    /// io_uring, up to `depth` in flight.
    Uring,
}

/// Everything that two instances must have in common to be compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// Which way the data goes.
    pub operation: Operation,
    /// Clients that take part.
    pub clients: u32,
    /// Processes of each client.
    pub processes: u32,
    /// Targets that are written, by all clients together.
    pub targets: u32,
    /// What each process writes or reads.
    pub burst: Bytes,
    /// Bytes of one call.
    pub transfer: Bytes,
    /// The order of the calls.
    pub pattern: Pattern,
    /// Who writes into one file.
    pub sharing: Sharing,
    /// Targets that one file lies on; 1 is unstriped.
    pub stripe_count: u32,
    /// Bytes before the next target of a striped file follows.
    pub stripe_size: Bytes,
    /// How the page cache is kept out.
    pub caching: Caching,
    /// Who does the transfers.
    pub engine: Engine,
    /// Transfers in flight of each process: 1 with the synchronous engine.
    pub depth: u32,
}

impl Setting {
    /// As many targets as clients, one to one, which is what pairs are scored on: every process writes
    /// `burst` into a file of its own on its client's target, by one O_DIRECT call of 1 MiB after the other.
    pub fn pairs(count: u32, processes: u32, burst: Bytes) -> Self {
        const TRANSFER: Bytes = Bytes::new(1 << 20);
        Setting {
            operation: Operation::Write,
            clients: count,
            processes,
            targets: count,
            burst,
            transfer: TRANSFER,
            pattern: Pattern::Sequential,
            sharing: Sharing::Independent,
            stripe_count: 1,
            stripe_size: TRANSFER,
            caching: Caching::Direct,
            engine: Engine::Synchronous,
            depth: 1,
        }
    }

    /// Returns whether a file lies on more than one target.
    pub fn striped(&self) -> bool {
        self.stripe_count > 1
    }

    /// Returns whether scores of pairs are defined: each file on one target, of one client (Xie 5).
    pub fn has_pairs(&self) -> bool {
        !self.striped() && self.sharing == Sharing::Independent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_one_file_of_one_client_on_one_target() {
        let pairs = Setting::pairs(4, 2, Bytes::new(1 << 20));
        assert_eq!((pairs.clients, pairs.targets, pairs.processes), (4, 4, 2));
        assert_eq!((pairs.transfer, pairs.stripe_size), (Bytes::new(1 << 20), Bytes::new(1 << 20)));
        assert!(pairs.has_pairs() && !pairs.striped());
        let striped = Setting { stripe_count: 2, ..pairs.clone() };
        assert!(striped.striped() && !striped.has_pairs());
        let shared = Setting { sharing: Sharing::Shared, ..pairs.clone() };
        assert!(!shared.striped() && !shared.has_pairs());
        assert!(!Setting { sharing: Sharing::Shared, ..striped }.has_pairs());
    }
}
