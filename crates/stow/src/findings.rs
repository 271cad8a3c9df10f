//! What is found in the segments of logs.

use std::ops::Range;

use crate::index_entry::Extent;
use crate::pieces::{Layer, Source, Stamp};
use crate::word::record_checksum;

/// A record in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// The number of the log.
    pub log: u32,
    /// Where its bytes are there.
    pub position: u64,
    /// Where they are in the file.
    pub offset: u64,
    /// How many there are.
    pub length: u32,
    /// When they were written.
    pub stamp: Stamp,
    /// Of all this, and of the bytes.
    pub checksum: u32,
    /// Where its word is in the log.
    pub word_at: u64,
}

impl Record {
    /// Returns its bytes in the file.
    pub fn range(&self) -> Range<u64> {
        self.offset..self.offset + u64::from(self.length)
    }

    /// Returns where the bytes of a range are that it has.
    pub(crate) fn cut(&self, range: &Range<u64>) -> Extent {
        let position = self.position + (range.start - self.offset);
        Extent { start: range.start, length: range.end - range.start, log: self.log, position }
    }

    /// Returns whether these are its bytes.
    pub fn is_of(&self, bytes: &[u8]) -> bool {
        record_checksum(self.offset, self.stamp.sequence, bytes) == self.checksum
    }
}

/// Something that a segment says of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// Bytes were written.
    Record(Record),
    /// Bytes are gone.
    Note(Note),
}

/// Something that has no bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Note {
    /// When it was written.
    pub stamp: Stamp,
    /// What it says.
    pub change: Change,
    /// The number of its log.
    pub log: u32,
    /// Where its word is in the log.
    pub word_at: u64,
}

impl Note {
    /// Returns what it takes.
    pub(crate) fn layer(&self) -> Layer {
        let range = match self.change {
            Change::Truncate(size) => size..u64::MAX,
            Change::Punch(offset, length) => offset..offset + length,
        };
        Layer::new(range, self.stamp, Source::Hole)
    }
}

/// How a file loses bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The file got another size.
    Truncate(u64),
    /// A range (offset, length) became a hole.
    Punch(u64, u64),
}

/// A part of a log that does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// It was never durable, and its node is gone: it counts as never written.
    Dropped {
        /// The number of the log.
        log: u32,
        /// Which bytes of the file it had; `None` if that is not known.
        range: Option<Range<u64>>,
        /// Where its word is in the log.
        word_at: u64,
    },
    /// A segment has no header, so that nothing in it was durable: it counts as never written.
    Headless {
        /// The number of the log.
        log: u32,
        /// Where it begins in the log.
        position: u64,
        /// Its bytes.
        length: u64,
    },
    /// It cannot be told what it says.
    Damaged {
        /// The number of the log.
        log: u32,
        /// Where in the log.
        position: u64,
    },
}

/// What was found at one look.
#[derive(Debug, Default)]
pub struct Findings {
    /// Records that count.
    pub records: Vec<Record>,
    /// Other things that count.
    pub notes: Vec<Note>,
    /// What does not.
    pub troubles: Vec<Trouble>,
}

impl Findings {
    /// Returns whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.notes.is_empty() && self.troubles.is_empty()
    }
}
