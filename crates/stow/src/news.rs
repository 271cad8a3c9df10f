//! Whether anything was written to a container, for those who look at it again and again.

use std::fs::File;
use std::io;
use std::sync::Arc;

use rustix::io::pread;

use crate::states::{StateCopy, state_name};
use crate::word::PAGE_BYTES;
use crate::{Container, Id};

/// What was published on this node when somebody looked last.
#[derive(Debug)]
pub struct News {
    container: Arc<Container>,
    /// Those of all nodes: any of them may become this one's.
    seats: Vec<WatchedSeat>,
}

/// What the writers of a node share, and what they had published.
#[derive(Debug)]
struct WatchedSeat {
    state: File,
    seen: Vec<u64>,
}

impl News {
    /// Begins to watch a container.
    ///
    /// # Errors
    /// If what its writers share cannot be opened.
    pub fn of(container: Arc<Container>) -> io::Result<Self> {
        let mut news = News { container, seats: Vec::new() };
        while news.open_next()? {}
        Ok(news)
    }

    /// Returns whether something was published since the last look, by any process of this node. Whoever refreshes a reader afterwards has seen all of it; what is
    /// published meanwhile is news again. Also returns true where that cannot be told.
    pub fn are_there(&mut self) -> bool {
        let (mut changed, mut is_here, mut next) = (false, false, 0);
        loop {
            while let Some(seat) = self.seats.get_mut(next) {
                let Ok((node, has_changed)) = seat.look() else { return true };
                changed |= has_changed;
                is_here |= node == Some(self.container.node());
                next += 1;
            }
            // A node without a seat may have got a new one meanwhile.
            match is_here {
                true => return changed,
                false => match self.open_next() {
                    Ok(true) => {}
                    Ok(false) => return changed,
                    Err(_) => return true,
                },
            }
        }
    }

    /// Opens one more seat; returns whether there is one.
    fn open_next(&mut self) -> io::Result<bool> {
        let number = self.seats.len() as u32 + 1;
        match self.container.open_part(&state_name(number)) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound && number > 1 => Ok(false),
            opened => {
                self.seats.push(WatchedSeat { state: opened?, seen: Vec::new() });
                Ok(true)
            }
        }
    }
}

impl WatchedSeat {
    /// Returns whose it is, and whether anything was published since the last look.
    fn look(&mut self) -> io::Result<(Option<Id>, bool)> {
        let mut bytes = [0; 2 * PAGE_BYTES as usize];
        let count = pread(&self.state, &mut bytes, 0)?;
        let (page, lines) = bytes[..count].split_at(count.min(PAGE_BYTES as usize));
        let node = StateCopy::node_in(page);
        let (mut position, mut next) = (count as u64, 0);
        let mut changed = self.note(lines, &mut next);
        let mut is_last = count < bytes.len();
        while !is_last {
            let count = pread(&self.state, &mut bytes, position)?;
            changed |= self.note(&bytes[..count], &mut next);
            position += count as u64;
            is_last = count < bytes.len();
        }
        Ok((node, changed))
    }

    fn note(&mut self, lines: &[u8], next: &mut usize) -> bool {
        let mut changed = false;
        for count in StateCopy::publications(lines) {
            match self.seen.get_mut(*next) {
                Some(seen) => changed |= std::mem::replace(seen, count) != count,
                None => {
                    self.seen.push(count);
                    changed = true;
                }
            }
            *next += 1;
        }
        changed
    }
}
