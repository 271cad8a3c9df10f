//! Transfers that calls of MPI-IO have begun which do not wait: MPI moves the data later, within MPI_Wait for example, by calls that look like the program's.
//! Those that it makes in a thread of its own are read after or before all of the calling thread's, and count as the program's.

use plimsoll_trace::{Event, Layer};

use crate::nesting::is_collective;

/// What one process has begun on one file in one direction.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Requests {
    /// Bytes that were begun and have not been moved yet.
    to_come: u64,
    /// Bytes that were moved within the call that is going on.
    inside: u64,
    /// Collective calls have begun some: this process may move what others have begun.
    of_others: bool,
}

impl Requests {
    /// Notes a data call; returns whether it moves what was begun.
    #[inline]
    pub fn take(&mut self, event: &Event) -> bool {
        let (bytes, is_outermost) = (event.bytes(), event.depth == 0);
        match event.op.layer() {
            Layer::Mpi if is_outermost => {
                if event.op.is_nonblocking() {
                    let left = bytes.saturating_sub(self.inside);
                    self.to_come = self.to_come.saturating_add(left);
                    self.of_others |= is_collective(event.op);
                }
                self.inside = 0;
                false
            }
            Layer::Posix if !is_outermost => {
                self.inside = self.inside.saturating_add(bytes);
                false
            }
            Layer::Posix => {
                let is_begun = self.of_others || self.to_come > 0;
                self.to_come = self.to_come.saturating_sub(bytes);
                is_begun
            }
            _ => false,
        }
    }
}
