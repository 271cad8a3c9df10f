//! Whether anything was written to a container, for those who look at it again and again.

use std::fs::File;
use std::io;

use rustix::io::{Errno, pread};

use crate::Container;
use crate::fresh::is_of_one_node;
use crate::state::{LINE_BYTES, STATE_BYTES_MAX};
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
    /// If what its writers share cannot be opened, or the container is small: its writers share nothing yet.
    pub fn of(container: &Container) -> io::Result<Self> {
        // A small one has none that counts: somebody may have been killed who had begun to make it large.
        if container.is_small().unwrap_or(true) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let state = container.open_part(STATE)?;
        let is_only = is_of_one_node(&state) && container.open_part(&state_name(2)).is_err();
        Ok(News { state: is_only.then_some(state), seen: Vec::new() })
    }

    /// Returns whether something was published since the last look, by any process of this node. Whoever refreshes a reader afterwards has seen all of it; what is
    /// published meanwhile is news again. Also returns true where that cannot be told.
    pub fn are_there(&mut self) -> bool {
        let Some(state) = &self.state else { return true };
        let (seen, mut next, mut changed) = (&mut self.seen, 0, false);
        let told = each_count(state, |count| {
            match seen.get_mut(next) {
                Some(seen) => changed |= std::mem::replace(seen, count) != count,
                None => {
                    seen.push(count);
                    changed = true;
                }
            }
            next += 1;
        });
        changed || told.is_err()
    }

    /// Returns how often something was published on this node, by any process; `None` where that cannot be told.
    pub(crate) fn total(&self) -> Option<u64> {
        let mut total = 0_u64;
        each_count(self.state.as_ref()?, |count| total = total.wrapping_add(count)).ok()?;
        Some(total)
    }
}

/// Tells how often something was published in each log.
fn each_count(state: &File, mut tell: impl FnMut(u64)) -> Result<(), Errno> {
    // A line more than a page: where there is one page, which is the rule, one call tells that there are no more.
    let mut lines = [0; PAGE_BYTES as usize + LINE_BYTES];
    let mut position = PAGE_BYTES;
    // What is behind the largest that it can be is nobody's.
    while position < STATE_BYTES_MAX {
        let count = pread(state, &mut lines, position)?;
        StateCopy::publications(&lines[..count]).for_each(&mut tell);
        if count < lines.len() {
            break;
        }
        position += count as u64;
    }
    Ok(())
}
