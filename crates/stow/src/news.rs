//! Whether anything was written to a container, for those who look at it again and again.

use std::fs::File;
use std::io;

use rustix::io::pread;

use crate::Container;
use crate::fresh::is_of_one_node;
use crate::state::STATE_BYTES_MAX;
use crate::states::{STATE, StateCopy, state_name};
use crate::word::PAGE_BYTES;

/// What was published on this node when somebody looked last.
#[derive(Debug)]
pub struct News {
    /// `None` where other nodes may write, whose memory this one does not see.
    state: Option<File>,
    seen: Vec<u64>,
}

impl News {
    /// Begins to watch a container.
    ///
    /// # Errors
    /// If what its writers share cannot be opened.
    pub fn of(container: &Container) -> io::Result<Self> {
        let state = container.open_part(STATE)?;
        let is_only = is_of_one_node(&state) && container.open_part(&state_name(2)).is_err();
        Ok(News { state: is_only.then_some(state), seen: Vec::new() })
    }

    /// Returns whether something was published since the last look, by any process of this node. Whoever refreshes a reader afterwards has seen all of it; what is
    /// published meanwhile is news again. Also returns true where that cannot be told.
    pub fn are_there(&mut self) -> bool {
        let Some(state) = &self.state else { return true };
        let mut lines = [0; PAGE_BYTES as usize];
        let (mut position, mut next, mut changed) = (PAGE_BYTES, 0, false);
        // What is behind the largest that it can be is nobody's.
        while position < STATE_BYTES_MAX {
            let Ok(count) = pread(state, &mut lines, position) else { return true };
            for count in StateCopy::publications(&lines[..count]) {
                match self.seen.get_mut(next) {
                    Some(seen) => changed |= std::mem::replace(seen, count) != count,
                    None => {
                        self.seen.push(count);
                        changed = true;
                    }
                }
                next += 1;
            }
            if count < lines.len() {
                return changed;
            }
            position += count as u64;
        }
        changed
    }
}
