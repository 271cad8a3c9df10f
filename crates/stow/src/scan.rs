//! Reads what the segments of a log say, and later what was added.

mod segment;

use rustix::io::Errno;

use crate::Id;
use crate::allowance::{Allowance, Compared};
use crate::findings::{Findings, Trouble};
use crate::header::{HEADER_BYTES, SEGMENT_BYTES_MAX, SegmentHeader};
use crate::log::Log;
use crate::small;
use crate::word::PAGE_BYTES;
use segment::SegmentScan;

/// Where a segment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentSpan {
    /// As it was when it was found.
    pub header: SegmentHeader,
    /// Its last stamp.
    pub highest: u64,
    /// Whether nothing will be added to it.
    pub has_ended: bool,
    /// Whether it was given back.
    pub is_free: bool,
}

/// How far a log was read.
#[derive(Debug)]
pub struct LogScan {
    log: Log,
    /// Where the next segment may begin.
    next: u64,
    /// Where the last one begins: while it was the last, its writer may have cut off its end.
    last: Option<u64>,
    /// Segments to which something may be added.
    open: Vec<SegmentScan>,
    segments: Vec<SegmentSpan>,
    slot_pages: u64,
    /// The highest stamp that was found, even of something that does not count.
    highest: u64,
    compared: Compared,
    /// How far the marker of a small container was read, which has no segments.
    small: Option<small::Place>,
}

impl LogScan {
    /// Begins at the beginning.
    pub fn new(log: Log) -> Self {
        Self::behind(log, PAGE_BYTES, 0)
    }

    /// Begins behind what is known: so many bytes of the log, with stamps up to the highest.
    pub fn behind(log: Log, known: u64, highest: u64) -> Self {
        let (next, last, open) = (known.next_multiple_of(PAGE_BYTES), None, Vec::new());
        let (segments, compared) = (Vec::new(), Compared::default());
        LogScan { log, next, last, open, segments, slot_pages: 0, highest, compared, small: None }
    }

    /// Begins with the marker of a small container.
    pub fn of_marker(log: Log) -> Self {
        LogScan { small: Some(small::Place::default()), ..Self::new(log) }
    }

    /// Returns the log.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Returns the segments that were found, in the order of the log.
    pub fn segments(&self) -> &[SegmentSpan] {
        &self.segments
    }

    /// Returns the highest stamp that was found; later ones are not in the log.
    pub fn highest(&self) -> u64 {
        self.highest
    }

    /// Returns how many slot pages were found.
    pub fn slot_pages(&self) -> u64 {
        self.slot_pages
    }

    /// Adds what was published since the last look. What a node that is gone did not make durable is compared with its checksum.
    ///
    /// # Errors
    /// If the target does not answer, or if it holds more than a reader may spend on it.
    pub fn look(
        &mut self,
        node: Id,
        allowance: &mut Allowance,
        findings: &mut Findings,
    ) -> Result<(), Errno> {
        self.log.renew()?;
        if let Some(place) = &mut self.small {
            small::look(&self.log, place, findings)?;
            self.highest = place.sequence;
            return Ok(());
        }
        let size = self.log.size()?;
        self.look_at_last(size)?;
        while let Some(header) = self.next_segment(size, findings)? {
            allowance.keep_segment()?;
            allowance.require_time()?;
            self.next = header.position + u64::from(header.length);
            self.last = Some(header.position);
            let (highest, has_ended, is_free) = (0, false, false);
            self.segments.push(SegmentSpan { header, highest, has_ended, is_free });
            self.slot_pages += 1;
            self.open.push(SegmentScan::new(header));
        }
        for segment in &mut self.open {
            self.slot_pages +=
                segment.look(&self.log, node, (&mut self.compared, allowance), findings)?;
            self.highest = self.highest.max(segment.span().highest);
            let (span, position) = (segment.span(), |it: &SegmentSpan| it.header.position);
            if let Ok(at) = self.segments.binary_search_by_key(&segment.position(), position) {
                self.segments[at] = span;
            }
        }
        self.open.retain(|segment| !segment.span().has_ended);
        Ok(())
    }

    /// Looks again at the segment that was the last one. Its writer may have cut off its end; or it was such an end, which is a free segment
    /// for a moment, and others begin where it was.
    fn look_at_last(&mut self, size: u64) -> Result<(), Errno> {
        let Some(position) = self.last else { return Ok(()) };
        let header = self.log.segment_at(position)?;
        if let Some(header) = header {
            self.next = position + u64::from(header.length);
        }
        match (self.segments.last_mut(), header) {
            (Some(last), Some(header)) if last.is_free => {
                *last = SegmentSpan { header, highest: 0, has_ended: false, is_free: false };
                self.open.push(SegmentScan::new(header));
            }
            (Some(_), None) if position >= size => {
                self.segments.pop();
                self.slot_pages -= 1;
                self.open.retain(|it| it.position() != position);
                self.last = self.segments.last().map(|it| it.header.position);
                self.next = position;
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the next header. Where there should be one and is none, a power failure may have taken it: the next one is looked for.
    fn next_segment(
        &self,
        size: u64,
        findings: &mut Findings,
    ) -> Result<Option<SegmentHeader>, Errno> {
        let furthest = self.next.saturating_add(u64::from(SEGMENT_BYTES_MAX)).min(size);
        let mut position = self.next;
        while position < furthest {
            if let Some(header) = self.log.segment_at(position)? {
                if position > self.next {
                    findings.troubles.push(self.without_header(position)?);
                }
                return Ok(Some(header));
            }
            position += PAGE_BYTES;
            // No header is in a hole: a small file may be nearly all hole.
            match self.log.data_from(position)? {
                Some(data) => position = position.max(data - data % PAGE_BYTES),
                None => break,
            }
        }
        Ok(None)
    }

    /// Returns what became of a segment that has no header. Whoever made a log durable made all its headers durable, so
    /// that nothing durable can be behind zeros.
    fn without_header(&self, end: u64) -> Result<Trouble, Errno> {
        let mut bytes = [0; HEADER_BYTES];
        self.log.read(&mut bytes, self.next)?;
        let (log, position) = (self.log.number(), self.next);
        Ok(match bytes.iter().all(|it| *it == 0) {
            true => Trouble::Headless { log, position, length: end - position },
            false => Trouble::Damaged { log, position },
        })
    }
}

#[cfg(test)]
mod tests;
