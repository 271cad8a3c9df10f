//! Reads what the slot pages of a segment say.

use rustix::io::Errno;

use super::SegmentSpan;
use crate::Id;
use crate::allowance::{Allowance, Compared};
use crate::findings::{Change, Findings, Note, Record, Said, Trouble};
use crate::header::{HEADER_BYTES, SegmentHeader};
use crate::log::{Log, RecordWindow};
use crate::pieces::Stamp;
use crate::word::{
    Damaged, Entry, PAGE_BYTES, PAGE_WORDS, Run, Stamped, freed_checksum, words_checksum,
};

/// How far a segment was read.
#[derive(Debug)]
pub struct SegmentScan {
    header: SegmentHeader,
    /// Where its slot page begins in the segment.
    page: u32,
    /// The next word in it.
    word: usize,
    /// The run that is going on, and its records.
    run: Option<(Run, u64)>,
    /// Where the next record or slot page may begin in the segment.
    top: u64,
    highest: u64,
    has_ended: bool,
    is_free: bool,
}

/// The end of what a slot page says.
struct PageEnd {
    /// The page that goes on, if there is one.
    next_page: Option<u32>,
}

impl SegmentScan {
    /// Begins at the beginning.
    pub fn new(header: SegmentHeader) -> Self {
        let word = HEADER_BYTES / 8;
        let (run, top, highest) = (None, PAGE_BYTES, 0);
        SegmentScan { header, page: 0, word, run, top, highest, has_ended: false, is_free: false }
    }

    /// Returns where it begins.
    pub fn position(&self) -> u64 {
        self.header.position
    }

    /// Returns what is known of it.
    pub fn span(&self) -> SegmentSpan {
        let SegmentScan { header, highest, has_ended, is_free, .. } = *self;
        SegmentSpan { header, highest, has_ended, is_free }
    }

    /// Begins anew if another segment is here than the one that was found, of which nothing was read: the header of one that got no room, and a free end that
    /// is about to be cut off, are followed by others in the same place.
    fn look_at_header(&mut self, page: &[u8], log: &Log) {
        let is_untouched = (self.page, self.word) == (0, HEADER_BYTES / 8);
        let now = log.header_in(page, self.header.position).filter(|_| is_untouched);
        let is_same =
            |it: &SegmentHeader| SegmentHeader { length: self.header.length, ..*it } == self.header;
        if let Some(other) = now.filter(|it| !is_same(it) || it.length > self.header.length) {
            *self = SegmentScan::new(other);
        }
    }

    /// Returns how many further slot pages it has got.
    pub fn look(
        &mut self,
        log: &Log,
        node: Id,
        spent: (&mut Compared, &mut Allowance),
        findings: &mut Findings,
    ) -> Result<u64, Errno> {
        let (compared, allowance) = spent;
        let mut further = 0;
        let mut found: Vec<(Said, u64)> = Vec::new();
        let mut durable = 0;
        let mut damage = None;
        loop {
            let mut bytes = [0; PAGE_BYTES as usize];
            let begin = self.header.position + u64::from(self.page);
            let got = log.read(&mut bytes, begin)?;
            self.look_at_header(&bytes[..got], log);
            let words: Vec<u64> = bytes[..got - got % 8]
                .chunks_exact(8)
                .map(|it| it.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)))
                .collect();
            let read = self.read_page(&words, &mut found, &mut durable);
            allowance.require_room(found.len())?;
            match read {
                Ok(PageEnd { next_page: Some(page) }) => {
                    (self.page, self.word, self.run) = (page, 0, None);
                    further += 1;
                }
                Ok(PageEnd { next_page: None }) => break,
                Err(Damaged) => {
                    damage = Some((begin + 8 * self.word as u64, is_durable(&words, self.word)));
                    self.has_ended = true;
                    break;
                }
            }
        }
        let is_gone = self.header.node != node;
        if let Some((position, was_durable)) = damage {
            let log = self.header.log;
            findings.troubles.push(match is_gone && !was_durable {
                true => Trouble::Dropped { log, range: None, word_at: position },
                false => Trouble::Damaged { log, position },
            });
        }
        let mut window = RecordWindow::default();
        allowance.keep(found.len());
        for (index, (said, word_at)) in found.into_iter().enumerate() {
            if index < durable
                || !is_gone
                || is_true(&said, log, (&mut *compared, &mut *allowance), &mut window)?
            {
                match said {
                    Said::Record(record) => findings.records.push(record),
                    Said::Note(note) => findings.notes.push(note),
                }
            } else {
                let range = if let Said::Record(it) = said { Some(it.range()) } else { None };
                findings.troubles.push(Trouble::Dropped { log: self.header.log, range, word_at });
            }
        }
        Ok(further)
    }

    /// Reads words until there are no more, or the next page is named.
    fn read_page(
        &mut self,
        words: &[u64],
        found: &mut Vec<(Said, u64)>,
        durable: &mut usize,
    ) -> Result<PageEnd, Damaged> {
        while let Some((entry, count)) = Entry::decode(words.get(self.word..).unwrap_or(&[]))? {
            let word_at = self.header.position + u64::from(self.page) + 8 * self.word as u64;
            match entry {
                Entry::Run(run) => self.run = Some((run, 0)),
                Entry::Record(stamped) => {
                    let record = self.record(stamped, word_at)?;
                    found.push((Said::Record(record), word_at));
                }
                Entry::Void => drop(self.place()?),
                Entry::Truncate(stamped, size) => {
                    let stamp = self.stamp(stamped);
                    let is_whole = words_checksum(&[size, stamp.sequence]) == stamped.checksum;
                    possible(size, 0).filter(|_| is_whole).ok_or(Damaged)?;
                    let change = Change::Truncate(size);
                    found.push((self.noted(stamp, change, word_at), word_at));
                }
                Entry::Punch(stamped, offset, length) => {
                    let stamp = self.stamp(stamped);
                    let sum = words_checksum(&[offset, length, stamp.sequence]);
                    possible(offset, length).filter(|_| sum == stamped.checksum).ok_or(Damaged)?;
                    let change = Change::Punch(offset, length);
                    found.push((self.noted(stamp, change, word_at), word_at));
                }
                Entry::Synced => *durable = found.len(),
                Entry::End => {
                    self.has_ended = true;
                    return Ok(PageEnd { next_page: None });
                }
                Entry::Freed(stamped) => {
                    let stamp = self.stamp(stamped).sequence;
                    let is_first = self.page == 0 && self.word == HEADER_BYTES / 8;
                    if !is_first || freed_checksum(stamp) != stamped.checksum {
                        return Err(Damaged);
                    }
                    (self.has_ended, self.is_free) = (true, true);
                    return Ok(PageEnd { next_page: None });
                }
                Entry::Link(page) => {
                    let is_ahead = u64::from(page) >= self.top
                        && page.is_multiple_of(PAGE_BYTES as u32)
                        && page < self.header.length;
                    self.top = u64::from(page) + PAGE_BYTES;
                    return is_ahead.then_some(PageEnd { next_page: Some(page) }).ok_or(Damaged);
                }
            }
            self.word += count;
        }
        Ok(PageEnd { next_page: None })
    }

    fn noted(&self, stamp: Stamp, change: Change, word_at: u64) -> Said {
        Said::Note(Note { stamp, change, log: self.header.log, word_at })
    }

    fn stamp(&mut self, stamped: Stamped) -> Stamp {
        let sequence = self.header.stamp + u64::from(stamped.delta);
        self.highest = self.highest.max(sequence);
        Stamp { sequence, seat: self.header.seat }
    }

    /// Returns the next record of the run.
    fn record(&mut self, stamped: Stamped, word_at: u64) -> Result<Record, Damaged> {
        let stamp = self.stamp(stamped);
        let (offset, position, length) = self.place()?;
        Ok(Record {
            log: self.header.log,
            position: self.header.position + position,
            offset,
            length,
            stamp,
            checksum: stamped.checksum,
            word_at,
        })
    }

    /// Returns where the next record of the run is in the file and in the segment, behind all that is there, and its length.
    fn place(&mut self) -> Result<(u64, u64, u32), Damaged> {
        let (run, count) = self.run.as_mut().ok_or(Damaged)?;
        let length = u64::from(run.length);
        let place = || {
            let offset = run.stride.checked_mul(*count)?.checked_add(run.offset)?;
            let position = length.checked_mul(*count)?.checked_add(u64::from(run.position))?;
            let end = position.checked_add(length)?;
            possible(offset, length)?;
            let is_inside = self.top <= position && end <= u64::from(self.header.length);
            (is_inside && length > 0 && (*count == 0 || run.stride > 0))
                .then_some((offset, position, end))
        };
        let (offset, position, end) = place().ok_or(Damaged)?;
        (*count, self.top) = (*count + 1, end);
        Ok((offset, position, run.length))
    }
}

/// A range that a file can have.
fn possible(offset: u64, length: u64) -> Option<()> {
    (offset.checked_add(length)? <= i64::MAX as u64).then_some(())
}

/// Returns whether a later word of the page says that what is before it was durable.
fn is_durable(words: &[u64], from: usize) -> bool {
    let synced = Entry::Synced.encode().0[0];
    words.iter().take(PAGE_WORDS).skip(from).any(|word| *word == synced)
}

/// Returns whether a record's bytes are those that were written. What is no record was compared when it was read.
fn is_true(
    said: &Said,
    log: &Log,
    (compared, allowance): (&mut Compared, &mut Allowance),
    window: &mut RecordWindow,
) -> Result<bool, Errno> {
    let Said::Record(record) = said else { return Ok(true) };
    compared.note(record, log, allowance)?;
    log.holds_among(record, window)
}
