//! Copies bytes of a container to another file without reading them here.

use std::ops::Range;
use std::os::fd::BorrowedFd;

use rustix::fs::copy_file_range;

use super::Reader;
use crate::index_entry::Extent;
use crate::pieces::Source;

/// What lies in one place is copied by the kernel if it is as long: many short parts are quicker read together.
const LEAST_BYTES: u64 = 64 << 10;

/// What is copied at a time.
const MOST_BYTES: u64 = 4 << 20;

impl Reader {
    /// Has the kernel copy bytes from this offset on to a plain file, at an offset that is moved on or at its position; returns how many, which
    /// may be fewer. `None` if it was none, for whatever reason: whoever reads them finds out. As with [`Reader::read_at`], nothing is compared
    /// with checksums.
    pub fn copy_to(
        &self,
        file: BorrowedFd<'_>,
        to: Option<&mut u64>,
        offset: u64,
        length: usize,
    ) -> Option<usize> {
        if self.doubt.is_some() {
            return None;
        }
        let end = offset.checked_add(MOST_BYTES.min(length as u64))?.min(self.size());
        // It must be in one place at least as far: then there are few parts to be told.
        let first = offset..offset.checked_add(LEAST_BYTES)?;
        if first.end > end || self.extent_around(&first).is_none() {
            return None;
        }
        self.ask_ahead(offset..end);
        let extent = self.extent_from(offset..end)?;
        let (log, mut position) = (self.log_of(&extent)?, extent.position);
        let length = usize::try_from(extent.length).ok()?;
        let copied = copy_file_range(log, Some(&mut position), file, to, length).ok()?;
        (copied > 0).then_some(copied)
    }

    /// Returns where the bytes lie with which a range begins, as far as they lie in one place; `None` if it begins with a hole.
    fn extent_from(&self, range: Range<u64>) -> Option<Extent> {
        let (range, piece) = self.pieces.of(range).next()?;
        match (piece.map(|it| it.source), &self.index) {
            (Some(Source::Record(number)), _) => Some(self.records[number as usize].cut(&range)),
            (None, Ok(index)) => {
                let first = index.of(range.clone()).ok()?.into_iter().next();
                first.filter(|it| it.start == range.start)
            }
            _ => None,
        }
    }
}
