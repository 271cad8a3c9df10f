//! What changes a file beside its bytes: appending, truncating, making holes.

use std::fs::File;

use rustix::io::Errno;

use super::Writer;
use crate::StowError;
use crate::lock::{self, Hold, SIZE_LOCK};
use crate::pieces::Stamp;
use crate::segment::OpenSegment;

impl Writer {
    /// Writes all of these bytes at the end of the file, wherever that is by then; returns where.
    ///
    /// # Errors
    /// As [`Writer::write_at`].
    pub fn append(&mut self, bytes: &[u8]) -> Result<u64, StowError> {
        let _held = self.hold_size()?;
        let size = self.reader()?.size();
        self.write_at(bytes, size)?;
        self.show_others()?;
        Ok(size)
    }

    /// Gives the file another size: what is behind it is gone, and what comes before is zeros where nothing was written.
    ///
    /// # Errors
    /// If no target takes a note of it.
    pub fn truncate(&mut self, size: u64) -> Result<(), StowError> {
        if size > i64::MAX as u64 {
            return Err(StowError::TooLarge { offset: size, length: 0 });
        }
        let _held = self.hold_size()?;
        self.catch_up()?;
        if size == 0 {
            // What is noted in a segment of its own keeps no other one.
            self.end_segment();
        }
        self.note(|segment, stamp| segment.truncate(size, stamp))?;
        if size == 0 {
            self.reclaim_truncated();
        }
        self.show_others()
    }

    /// Makes a hole of a range. The size stays.
    ///
    /// # Errors
    /// If no target takes a note of it.
    pub fn punch(&mut self, offset: u64, length: u64) -> Result<(), StowError> {
        if offset.checked_add(length).is_none_or(|end| end > i64::MAX as u64) {
            return Err(StowError::TooLarge { offset, length });
        }
        self.note(|segment, stamp| segment.punch(offset, length, stamp))
    }

    /// Keeps others from changing the size until the file is dropped.
    fn hold_size(&self) -> Result<File, StowError> {
        let file = lock::open(self.container.directory(), SIZE_LOCK)?;
        lock::take(&file, Hold::Alone, self.container.path())?;
        Ok(file)
    }

    /// Publishes something that has no bytes.
    fn note(
        &mut self,
        note: impl Fn(&mut OpenSegment, u64) -> Result<bool, Errno>,
    ) -> Result<(), StowError> {
        let stamp = self.state.next_stamp(self.container.seen());
        self.note_stamped(stamp, note)
    }

    pub(super) fn note_stamped(
        &mut self,
        stamp: Stamp,
        note: impl Fn(&mut OpenSegment, u64) -> Result<bool, Errno>,
    ) -> Result<(), StowError> {
        loop {
            match note(self.segment_for(stamp, 0)?, stamp.sequence) {
                Ok(true) => return Ok(()),
                Ok(false) => self.end_segment(),
                Err(errno) => self.give_up_target(errno),
            }
        }
    }
}
