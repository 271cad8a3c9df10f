//! What the coordinator and a writer process say to each other.

use std::time::Duration;

use plimsoll_guarded::Claim;
use plimsoll_route::{Attempt, AttemptId, TargetId, WriteId};
use plimsoll_stats::Random;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::ledger::Committed;

/// How data gets onto a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Way {
    /// O_DIRECT: a write that ended is on the device.
    Direct,
    /// Through the page cache; each write is then pushed out and waited for
    /// (sync_file_range), so that its end means the same.
    Buffered,
}

impl Way {
    /// What to open a file with.
    pub(crate) fn flags(self) -> OFlags {
        match self {
            Way::Direct => OFlags::DIRECT,
            Way::Buffered => OFlags::empty(),
        }
    }
}

/// From the coordinator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Order {
    /// The first one.
    Prepare(Preparation),
    /// The race begins: submit everything.
    Begin,
    /// Start a write.
    Start(Start),
    /// All is committed: make the files of these targets durable and say when they are.
    Finish {
        /// By number.
        targets: Vec<u16>,
    },
    /// The race is over, and the coordinator cleans up. A connection that ends without this
    /// means that it was killed.
    Leave,
    /// Flood a target until the connection ends.
    Flood(Flood),
}

/// What a stream of noise needs to know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Flood {
    /// Where its file is.
    pub working: Claim,
    /// The name of a file to write again and again.
    pub file: String,
    /// Bytes of one write.
    pub write_bytes: u64,
    /// The file's size.
    pub file_bytes: u64,
    /// O_DIRECT or not.
    pub way: Way,
}

/// What a writer needs to know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Preparation {
    /// Its number.
    pub writer: u32,
    /// The name of its file on each target.
    pub file: String,
    /// Where its files are; to be removed when the coordinator is gone without having cleaned up.
    pub working: Vec<Claim>,
    /// Submissions.
    pub blocks: u32,
    /// Bytes of each.
    pub block_bytes: u64,
    /// O_DIRECT or not.
    pub way: Way,
    /// Tells this race's data from that of any other.
    pub race: u64,
    /// The most that it computes between two blocks.
    pub think_ms: u64,
    /// Where the memory is that it shares with other writers, if it routes itself.
    pub memory: Option<Claim>,
}

impl Preparation {
    /// How long the writer computes after a block: anything up to the most.
    pub fn thinking(&self, block: u32) -> Duration {
        let which = u64::from(self.writer) << 32 | u64::from(block);
        let most = self.think_ms as usize * 1000 + 1;
        Duration::from_micros(Random::new(self.race ^ which).index(most) as u64)
    }
}

/// A write to be started, with the host's name for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Start {
    pub slot: u32,
    pub generation: u32,
    pub sequence: u32,
    pub part: u32,
    pub target: u16,
    pub offset_bytes: u64,
    pub length_bytes: u64,
}

impl Start {
    pub fn of(attempt: &Attempt) -> Self {
        Start {
            slot: attempt.attempt.slot,
            generation: attempt.attempt.generation,
            sequence: attempt.write.sequence,
            part: attempt.write.part,
            target: attempt.target.0,
            offset_bytes: attempt.offset_bytes,
            length_bytes: attempt.length_bytes,
        }
    }

    /// The attempt again, which `writer` has.
    pub fn attempt(&self, writer: u32) -> Attempt {
        Attempt {
            attempt: AttemptId { slot: self.slot, generation: self.generation },
            write: WriteId { writer, sequence: self.sequence, part: self.part },
            target: TargetId(self.target),
            offset_bytes: self.offset_bytes,
            length_bytes: self.length_bytes,
        }
    }
}

/// A piece that a writer wrote, and where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Written {
    start: Start,
    file_offset: u64,
    durable_ns: u64,
}

impl Written {
    pub fn of(committed: &Committed, durable_ns: u64) -> Self {
        let start = Start::of(&committed.attempt);
        Written { start, file_offset: committed.file_offset, durable_ns }
    }

    /// The piece again, which `writer` has, and when it was durable.
    pub fn committed(&self, writer: u32) -> (Committed, u64) {
        let attempt = self.start.attempt(writer);
        (Committed { attempt, file_offset: self.file_offset }, self.durable_ns)
    }
}

/// From a writer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// Files are open.
    Ready,
    /// It cannot take part, and why.
    Failed(String),
    /// It has a block.
    Submit {
        /// Its bytes.
        length_bytes: u64,
    },
    /// It has no more.
    Close,
    /// A write ended.
    Ended {
        /// Its name.
        slot: u32,
        /// Its name.
        generation: u32,
        /// Where it lies in the file of this writer on that target.
        file_offset: u64,
        /// The error number, if it failed.
        error: Option<i32>,
    },
    /// A piece of data that lies there, from a writer that routes itself.
    Written(Written),
    /// What such a writer did.
    Shared {
        /// Leases that it had.
        leases: u64,
        /// Of them, those that held data a second time.
        copies: u64,
        /// The longest that a lease took.
        worst_ns: u64,
        /// The windows as it saw them last.
        windows: Vec<u64>,
    },
    /// All files are durable.
    Finished {
        /// By the monotonic clock, when each of the targets was.
        durable_ns: Vec<u64>,
    },
    /// One that floods wrote this many bytes more.
    Flooded {
        /// Since it said so last.
        bytes: u64,
    },
}
