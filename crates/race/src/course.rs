//! What races are run on.

use std::sync::Arc;

use plimsoll_guarded::WorkingDirectory;
use plimsoll_guarded::working_file::WRITER;

use crate::order::Way;
use crate::team::Program;

/// The file that a stream of noise goes round in.
pub(crate) const NOISE_FILE_BYTES: u64 = 16 << 20;

/// What all policies are raced on.
#[derive(Debug, Clone)]
pub struct Course {
    /// The working directory on each target, for the files of the race.
    pub working: Vec<Arc<WorkingDirectory>>,
    /// Processes that write.
    pub writers: u32,
    /// Blocks that each of them has.
    pub blocks: u32,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// How data gets onto targets.
    pub way: Way,
    /// Streams of noise on each target; none where it is shorter.
    pub noise: Vec<u32>,
    /// The most that a writer computes between two blocks.
    pub think_ms: u64,
    /// What serves as a writer.
    pub program: Program,
}

impl Course {
    /// All data.
    pub fn total_bytes(&self) -> u64 {
        u64::from(self.writers) * u64::from(self.blocks) * self.block_bytes
    }

    /// What the noise keeps on a target.
    pub fn noise_bytes(&self, target: usize) -> u64 {
        u64::from(self.noise_streams(target)) * NOISE_FILE_BYTES
    }

    /// Streams of noise on a target.
    pub fn noise_streams(&self, target: usize) -> u32 {
        self.noise.get(target).copied().unwrap_or(0)
    }

    pub(crate) fn noise_targets(&self) -> Vec<usize> {
        let streams = self.noise.iter().enumerate();
        streams.flat_map(|(target, count)| vec![target; *count as usize]).collect()
    }

    /// What a writer's file on each target is called.
    pub(crate) fn file(writer: u32) -> String {
        format!("{WRITER}{writer}")
    }
}
