//! What changes a file beside its bytes: appending, truncating, making holes.

use rustix::fs::{FlockOperation, flock};
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
        self.last = 0..0;
        self.while_size_stays(|writer| {
            let size = writer.size_now()?;
            writer.write_at(bytes, size)?;
            writer.show_others()?;
            Ok(size)
        })
    }

    /// Gives the file another size: what is behind it is gone, and what comes before is zeros where nothing was written.
    ///
    /// # Errors
    /// If no target takes a note of it.
    pub fn truncate(&mut self, size: u64) -> Result<(), StowError> {
        if size > i64::MAX as u64 {
            return Err(StowError::TooLarge { offset: size, length: 0 });
        }
        self.while_size_stays(|writer| {
            writer.tail = None;
            writer.catch_up()?;
            if size == 0 {
                // What is noted in a segment of its own keeps no other one.
                writer.end_segment();
            }
            writer.note(|segment, stamp| segment.truncate(size, stamp))?;
            if size == 0 {
                writer.reclaim_truncated();
            }
            writer.show_others()
        })
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

    /// Keeps others from changing the size meanwhile.
    fn while_size_stays<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, StowError>,
    ) -> Result<T, StowError> {
        let file = match self.size_lock.take() {
            Some(file) => file,
            None => lock::open(self.container.directory(), SIZE_LOCK)?,
        };
        lock::take(&file, Hold::Alone, self.container.path())?;
        let done = work(self);
        // Otherwise it is given up with the file.
        if flock(&file, FlockOperation::Unlock).is_ok() {
            self.size_lock = Some(file);
        }
        done
    }

    /// Publishes something that has no bytes.
    fn note(
        &mut self,
        note: impl Fn(&mut OpenSegment, u64) -> Result<bool, Errno>,
    ) -> Result<(), StowError> {
        let stamp = self.next_stamp()?;
        self.note_stamped(stamp, note)
    }

    pub(super) fn note_stamped(
        &mut self,
        stamp: Stamp,
        note: impl Fn(&mut OpenSegment, u64) -> Result<bool, Errno>,
    ) -> Result<(), StowError> {
        loop {
            match note(self.segment_for(stamp, 0..0)?, stamp.sequence) {
                Ok(true) => {
                    self.published += 1;
                    return Ok(());
                }
                Ok(false) => self.end_segment(),
                Err(errno) => self.give_up_target(errno),
            }
        }
    }
}
