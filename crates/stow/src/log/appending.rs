//! Beginning segments at the end of a log, and giving back what they did not use.

use std::sync::atomic::Ordering;

use rustix::fs::{FallocateFlags, fallocate, ftruncate};
use rustix::io::Errno;

use super::{Log, TMPFS};
use crate::header::{HEADER_BYTES, SEGMENT_BYTES_MAX, SegmentHeader};
use crate::word::PAGE_BYTES;

/// Bytes in which headers are looked for at once.
const LOOKED_AT_ONCE: u64 = 64 << 10;

impl Log {
    /// Appends a segment of at most `length` bytes, or less where there is not that much room, with its header.
    ///
    /// # Errors
    /// If there is no room for `least` bytes, or the target refuses.
    pub fn append_segment(
        &self,
        header: SegmentHeader,
        least: u32,
    ) -> Result<SegmentHeader, Errno> {
        self.alone(|| self.append_locked(header, least))
    }

    fn append_locked(&self, header: SegmentHeader, least: u32) -> Result<SegmentHeader, Errno> {
        let position = self.end()?;
        let mut header = SegmentHeader { position, ..header };
        loop {
            match self.allocate(&header) {
                Err(Errno::NOSPC | Errno::DQUOT) if header.length / 2 >= least => {
                    header.length =
                        (header.length / 2).next_multiple_of(PAGE_BYTES as u32).max(least);
                }
                allocated => return allocated.map(|()| header),
            }
        }
    }

    /// Returns where the next segment begins. The file may end within the last one: its writer was killed before it had its room, or the power failed after
    /// the file was cut and before the header says so. What a header covers is skipped then, or the next one would never be found.
    fn end(&self) -> Result<u64, Errno> {
        let size = self.size()?.next_multiple_of(PAGE_BYTES);
        // Who has appended knows how it ended before; of a kill since then, only the header's page is there.
        let reach = match self.has_appended.load(Ordering::Relaxed) {
            true => PAGE_BYTES,
            false => u64::from(SEGMENT_BYTES_MAX),
        };
        let last = self.last_segment(size.saturating_sub(reach).max(PAGE_BYTES), size)?;
        self.has_appended.store(true, Ordering::Relaxed);
        Ok(last.map_or(size, |it| size.max(it.position + u64::from(it.length))))
    }

    /// Returns the last header between two positions.
    fn last_segment(&self, from: u64, to: u64) -> Result<Option<SegmentHeader>, Errno> {
        let mut bytes = vec![0; LOOKED_AT_ONCE.min(to.saturating_sub(from)) as usize];
        let mut end = to;
        while end > from {
            let begin = end.saturating_sub(LOOKED_AT_ONCE).max(from);
            let got = self.read(&mut bytes[..(end - begin) as usize], begin)?;
            let pages = (begin..end)
                .step_by(PAGE_BYTES as usize)
                .zip(bytes[..got].chunks(PAGE_BYTES as usize));
            let headers = pages.filter_map(|(position, page)| self.header_in(page, position));
            if let Some(last) = headers.last() {
                return Ok(Some(last));
            }
            end = begin;
        }
        Ok(None)
    }

    /// Writes the first page, so that readers who see the file grow find a header, and then gets the rest of the room.
    fn allocate(&self, header: &SegmentHeader) -> Result<(), Errno> {
        let allocated = self.write_header(header).and_then(|()| {
            // On tmpfs this would write all pages, at 80 µs for each MiB.
            if self.kind == TMPFS {
                return ftruncate(&self.file, header.position + u64::from(header.length));
            }
            let (position, length) = (header.position, u64::from(header.length));
            match fallocate(&self.file, FallocateFlags::empty(), position, length) {
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => ftruncate(&self.file, position + length),
                allocated => allocated,
            }
        });
        allocated.inspect_err(|_| {
            // Whatever became of it, nobody has written there yet.
            let _ = ftruncate(&self.file, header.position);
        })
    }

    pub(super) fn write_header(&self, header: &SegmentHeader) -> Result<(), Errno> {
        let mut page = [0; PAGE_BYTES as usize];
        page[..HEADER_BYTES].copy_from_slice(&header.encode());
        self.write_all(&page, header.position)
    }

    /// Gives back what a segment did not use: its first `used` bytes stay.
    ///
    /// # Errors
    /// If the target refuses; the segment is as it was.
    pub fn trim_segment(&self, header: &SegmentHeader, used: u32) -> Result<(), Errno> {
        let kept = used.next_multiple_of(PAGE_BYTES as u32);
        if kept >= header.length {
            return Ok(());
        }
        let (begin, end) =
            (header.position + u64::from(kept), header.position + u64::from(header.length));
        self.alone(|| {
            // Somebody may have freed it by now, alone or with its neighbours.
            if self.segment_at(header.position)? != Some(*header) {
                return Ok(());
            }
            if self.size()? == end {
                // After a kill between any two of these, every byte belongs to a segment.
                self.mark_free(&SegmentHeader {
                    position: begin,
                    length: header.length - kept,
                    ..*header
                })?;
                self.write_all(
                    &SegmentHeader { length: kept, ..*header }.encode(),
                    header.position,
                )?;
                return ftruncate(&self.file, begin);
            }
            self.punch(begin, end - begin)
        })
    }
}
