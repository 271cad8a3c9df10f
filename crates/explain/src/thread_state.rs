//! What is known of the thread whose events are coming.

use plimsoll_stats::random::mix;

use crate::activity::TimelineCursor;
use crate::coverage::{Coverage, Cursor};
use crate::coverages::Cursors;
use crate::nesting::Nesting;
use crate::sums::Sums;

/// Where a thread of a process is.
#[derive(Default)]
pub(crate) struct ThreadState {
    pub id: u32,
    /// Counts the threads of the process, from 1.
    pub epoch: u32,
    hash: u64,
    pub cursors: Cursors,
    pub own: Cursor,
    pub timeline: TimelineCursor,
    pub nesting: Nesting,
}

impl ThreadState {
    /// Another thread begins.
    pub fn begin(&mut self, process: usize, thread: u32) {
        self.id = thread;
        self.epoch += 1;
        self.hash = mix(((process as u64) << 32) ^ mix(u64::from(thread)));
    }

    /// A hash for the next event: the same whoever reads it.
    #[inline]
    pub fn next_hash(&mut self) -> u64 {
        self.hash = self.hash.wrapping_add(1);
        mix(self.hash)
    }

    /// Hands over what belongs to the thread that ended.
    pub fn finish(&mut self, sums: &mut Sums, of_process: &mut Coverage) {
        self.cursors.finish(&mut sums.coverages);
        self.own.finish(of_process);
        self.own = Cursor::default();
        self.timeline = TimelineCursor::default();
        self.nesting.clear();
    }
}
