//! Whether anything was written to a container, for those who look at it again and again.

use std::fs::File;
use std::io;

use rustix::fs::fstatfs;
use rustix::io::{Errno, pread};

use crate::Container;
use crate::fresh::is_of_one_node;
use crate::glance::Glance;
use crate::log::is_mapped_well;
use crate::state::{LINE_BYTES, STATE_BYTES_MAX};
use crate::states::{STATE, StateCopy, state_name};
use crate::word::PAGE_BYTES;

/// What was published on this node when somebody looked last.
#[derive(Debug)]
pub struct News {
    /// `None` where other nodes may write, whose memory this one does not see.
    state: Option<File>,
    seen: Vec<u64>,
    /// The same in memory, if somebody wants to look without asking the kernel.
    glance: Option<Glance>,
    /// Whether others see at once what is stored into a mapping here.
    is_mapped_well: bool,
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
        let is_mapped_well = is_only && fstatfs(&state).is_ok_and(|it| is_mapped_well(it.f_type));
        let state = is_only.then_some(state);
        Ok(News { state, seen: Vec::new(), glance: None, is_mapped_well })
    }

    /// Returns whether something was published since the last look, by any process of this node. Whoever refreshes a reader afterwards has seen all of it; what is
    /// published meanwhile is news again. Also returns true where that cannot be told.
    pub fn are_there(&mut self) -> bool {
        let Some(state) = &self.state else { return true };
        // First: logs that are listed meanwhile are news.
        if let Some(glance) = &mut self.glance {
            glance.note_logs();
        }
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

    /// From now on one can look without asking the kernel, where that can be. Returns the address of the memory that is mapped for it, of this length: a page that
    /// somebody cuts off is gone, and whoever looks there gets SIGBUS.
    pub fn look_by_memory(&mut self) -> Option<(usize, usize)> {
        if self.glance.is_none() && self.is_mapped_well {
            let mut glance = Glance::of(self.state.as_ref()?)?;
            // Their lines were looked at, whether they were listed or not.
            glance.note_logs();
            self.glance = Some(glance);
        }
        self.glance.as_ref().map(Glance::place)
    }

    /// Returns whether it is certain, without asking the kernel, that nothing was published since the last look.
    pub fn are_none(&self) -> bool {
        self.glance.as_ref().is_some_and(|it| it.shows(&self.seen))
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
