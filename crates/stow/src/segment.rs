//! A segment as its writer has it: it takes records until it is full.

use std::ops::Range;
use std::sync::Arc;

use rustix::io::Errno;

use crate::alignment::gap;
use crate::copies::Copies;
use crate::header::{HEADER_BYTES, SegmentHeader};
use crate::log::Log;
use crate::slot_page::SlotPage;
use crate::state::LogMark;
use crate::word::{
    DELTA_MAX, ENTRY_WORDS_MAX, Entry, PAGE_BYTES, PAGE_WORDS, Run, Stamped, words_checksum,
};

/// Words of a page that are kept for its end: one that says what is durable, and a link.
const KEPT_WORDS: usize = 2;

/// A write is not divided for less room than this at the end of a segment, unless nothing larger is left.
const WORTH_DIVIDING: u32 = 64 << 10;

/// What is written ahead, as zeros, of records that are made durable one by one: a file system notes what is written for the first time in its journal, which
/// is two more requests to the storage for each of them.
const AHEAD_BYTES: u32 = 64 << 10;
static ZEROS: [u8; AHEAD_BYTES as usize] = [0; AHEAD_BYTES as usize];

/// So much between two syncs is not worth it: then it is the records that take the time.
const OFTEN_BYTES: u32 = AHEAD_BYTES / 4;

/// A log that is written to, and what its writers share about it.
pub struct MarkedLog {
    /// The log.
    pub log: Log,
    /// What its writers share.
    pub mark: LogMark,
}

/// The segment that a writer fills.
pub struct OpenSegment {
    to: Arc<MarkedLog>,
    header: SegmentHeader,
    page: SlotPage,
    /// The next word of the page that is free.
    word: usize,
    /// Where the first record goes.
    begin: u32,
    /// Where the next record goes.
    top: u32,
    /// The run that is going on, and its records.
    run: Option<(Run, u64)>,
    /// Where the record before was, and how far behind the one before that.
    before: Option<Before>,
    /// Whether something was published since it was last made durable.
    is_dirty: bool,
    /// Whether it was made durable, and the word about it is still to come.
    is_synced: bool,
    /// Where the next record went when it was last made durable; 0 if it never was.
    synced_top: u32,
    /// Until where it was written ahead.
    ahead: u32,
}

#[derive(Clone, Copy)]
struct Before {
    offset: u64,
    length: u32,
    distance: u64,
}

/// What a segment took of a write.
pub enum Taken {
    /// So many bytes.
    Bytes(usize),
    /// Nothing: it is full.
    Full,
}

impl OpenSegment {
    /// Begins a segment that was appended to a log, for this part of the file.
    ///
    /// # Errors
    /// If its first page cannot be mapped.
    pub fn begin(
        to: Arc<MarkedLog>,
        header: SegmentHeader,
        next: &Range<u64>,
    ) -> Result<Self, Errno> {
        let page = SlotPage::open(&to.log, header.position)?;
        let begin = PAGE_BYTES as u32;
        let begin = begin + gap(header.position + PAGE_BYTES, header.length - begin, next);
        let word = HEADER_BYTES / 8;
        Ok(OpenSegment {
            to,
            header,
            page,
            word,
            begin,
            top: begin,
            run: None,
            before: None,
            is_dirty: false,
            is_synced: false,
            synced_top: 0,
            ahead: 0,
        })
    }

    /// Returns its bytes.
    pub fn length(&self) -> u64 {
        u64::from(self.header.length)
    }

    /// Returns whose stamps it takes.
    pub fn seat(&self) -> u32 {
        self.header.seat
    }

    /// Returns the number of its log.
    pub fn log(&self) -> u32 {
        self.header.log
    }

    /// Returns its log.
    pub fn to(&self) -> Arc<MarkedLog> {
        self.to.clone()
    }

    /// Returns where what it holds begins in its log.
    pub fn payload_position(&self) -> u64 {
        self.header.position + u64::from(self.begin)
    }

    /// Returns how much it holds, further slot pages included.
    pub fn payload(&self) -> u32 {
        self.top - self.begin
    }

    /// Writes as much of these bytes as there is room for, and publishes it as one record.
    ///
    /// # Errors
    /// If the target does not take it: nothing was published.
    pub fn write(
        &mut self,
        bytes: &[u8],
        offset: u64,
        stamp: u64,
        copies: &mut Copies,
    ) -> Result<Taken, Errno> {
        self.put_synced()?;
        if !self.make_room(stamp)? {
            return Ok(Taken::Full);
        }
        let room = self.header.length - self.top;
        let is_small = room < WORTH_DIVIDING && self.top > self.begin;
        if room == 0 || (is_small && bytes.len() > room as usize) {
            return Ok(Taken::Full);
        }
        let bytes = &bytes[..bytes.len().min(room as usize)];
        let length = bytes.len() as u32;
        self.to.mark.intend(stamp);
        let position = self.header.position + u64::from(self.top);
        let checksum = copies.write_record(&self.to.log, position, bytes, (offset, stamp))?;
        let record = Entry::Record(Stamped { delta: self.delta(stamp), checksum });
        if !self.continues_run(offset, length) {
            let stride = self.stride_to(offset, length);
            let run = Run { offset, length, stride, position: self.top };
            self.put(&Entry::Run(run))?;
            self.run = Some((run, 0));
        }
        self.put(&record)?;
        self.to.mark.publish(stamp);
        if let Some((_, count)) = &mut self.run {
            *count += 1;
        }
        let distance = self.before.map_or(0, |it| offset.wrapping_sub(it.offset));
        self.before = Some(Before { offset, length, distance });
        self.top += length;
        Ok(Taken::Bytes(bytes.len()))
    }

    /// Publishes that the file has another size; returns false if the segment is full.
    ///
    /// # Errors
    /// If the target does not take it.
    pub fn truncate(&mut self, size: u64, stamp: u64) -> Result<bool, Errno> {
        let checksum = words_checksum(&[size, stamp]);
        self.put_alone(stamp, |delta| Entry::Truncate(Stamped { delta, checksum }, size))
    }

    /// Publishes that a range is a hole; returns false if the segment is full.
    ///
    /// # Errors
    /// If the target does not take it.
    pub fn punch(&mut self, offset: u64, length: u64, stamp: u64) -> Result<bool, Errno> {
        let checksum = words_checksum(&[offset, length, stamp]);
        self.put_alone(stamp, |delta| Entry::Punch(Stamped { delta, checksum }, offset, length))
    }

    /// Is called before it is made durable. Where that is done after each few small records, the room of the next ones is written before them.
    pub fn prepare_to_sync(&mut self) {
        let since = self.top - self.synced_top;
        let is_often = self.synced_top > 0 && since <= OFTEN_BYTES;
        self.synced_top = self.top;
        let begin = self.top.next_multiple_of(PAGE_BYTES as u32).max(self.ahead);
        let end = begin.saturating_add(AHEAD_BYTES).min(self.header.length);
        let has_enough = self.top + 2 * since <= self.ahead;
        if !is_often || has_enough || begin >= end || !self.to.log.has_journal() {
            return;
        }
        let zeros = &ZEROS[..(end - begin) as usize];
        // It is only quicker so.
        if self.to.log.write_all(zeros, self.header.position + u64::from(begin)).is_ok() {
            self.ahead = end;
        }
    }

    /// Notes that all that was published is durable: with what is published next, or at the end. At once, whoever makes the log durable meanwhile would write the page
    /// once more for that alone.
    pub fn note_synced(&mut self) {
        self.is_synced |= std::mem::take(&mut self.is_dirty);
    }

    /// Says that what was published until the last sync is durable.
    fn put_synced(&mut self) -> Result<(), Errno> {
        if self.is_synced {
            self.run = None;
            self.put(&Entry::Synced)?;
            (self.is_synced, self.is_dirty) = (false, false);
        }
        Ok(())
    }

    /// Ends the segment, and gives back what it did not use.
    ///
    /// # Errors
    /// If the target refuses; what was published stays.
    pub fn end(mut self) -> Result<(), Errno> {
        self.put_synced()?;
        self.page.put(&self.to.log, self.word, &[Entry::End.encode().0[0]])?;
        self.to.log.trim_segment(&self.header, self.top)
    }

    fn put_alone(&mut self, stamp: u64, entry: impl Fn(u32) -> Entry) -> Result<bool, Errno> {
        self.put_synced()?;
        if !self.make_room(stamp)? {
            return Ok(false);
        }
        self.run = None;
        self.to.mark.intend(stamp);
        self.put(&entry(self.delta(stamp)))?;
        self.to.mark.publish(stamp);
        Ok(true)
    }

    fn put(&mut self, entry: &Entry) -> Result<(), Errno> {
        let (words, count) = entry.encode();
        self.page.put(&self.to.log, self.word, &words[..count])?;
        self.word += count;
        self.is_dirty = true;
        Ok(())
    }

    fn delta(&self, stamp: u64) -> u32 {
        (stamp - self.header.stamp) as u32
    }

    /// Makes sure that an entry of this stamp has room in a slot page, by a further one if need be.
    fn make_room(&mut self, stamp: u64) -> Result<bool, Errno> {
        if stamp.checked_sub(self.header.stamp).is_none_or(|delta| delta > DELTA_MAX) {
            return Ok(false);
        }
        if self.word + ENTRY_WORDS_MAX + KEPT_WORDS <= PAGE_WORDS {
            return Ok(true);
        }
        let next = self.top.next_multiple_of(PAGE_BYTES as u32);
        if next + PAGE_BYTES as u32 >= self.header.length {
            return Ok(false);
        }
        let position = self.header.position + u64::from(next);
        self.to.log.write_all(&[0; PAGE_BYTES as usize], position)?;
        let end = self.header.position + u64::from(self.header.length);
        let page = self.page.further(&self.to.log, position, end)?;
        self.page.put(&self.to.log, self.word, &[Entry::Link(next).encode().0[0]])?;
        self.page = page;
        self.word = 0;
        self.top = next + PAGE_BYTES as u32;
        self.run = None;
        Ok(true)
    }

    /// Returns whether a record is the next of the run.
    fn continues_run(&self, offset: u64, length: u32) -> bool {
        self.run.is_some_and(|(run, count)| {
            let next = run.stride.checked_mul(count).and_then(|it| it.checked_add(run.offset));
            run.stride != 0 && run.length == length && next == Some(offset)
        })
    }

    /// Returns the stride of a run that begins with a record; 0 unless the same distance was there twice. Two records are no
    /// pattern: any two random ones would be.
    fn stride_to(&self, offset: u64, length: u32) -> u64 {
        match self.before {
            Some(before)
                if before.length == length
                    && before.distance == offset.wrapping_sub(before.offset)
                    && (u64::from(length)..1 << 62).contains(&before.distance) =>
            {
                before.distance
            }
            _ => 0,
        }
    }
}
