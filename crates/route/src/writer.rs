//! One writer on a node: what it submitted and how much of it is settled.

use std::collections::VecDeque;

use crate::{Closed, WriteId};

/// One process. Termination is by counting: closed, nothing waits, no part is open.
///
/// Submissions mostly have one length, so those that wait are kept as counts of equal ones,
/// the first here and others elsewhere: a writer is one cache line, however much it submits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
#[repr(align(64))]
pub(crate) struct Writer {
    /// Submissions that are not placed in full; the first of them may be begun.
    first: Repeated,
    // Boxed, because it is rare and a queue itself would not fit into the cache line.
    #[allow(clippy::box_collection)]
    later: Option<Box<VecDeque<Repeated>>>,
    begun_bytes: u64,
    begun_parts: u32,
    /// Sequence of the first submission that waits, or of the next one.
    sequence: u32,
    pub open_parts: u32,
    pub committed_bytes: u64,
    pub lost_bytes: u64,
    pub is_closed: bool,
    pub is_ready: bool,
    is_reported: bool,
}

/// Submissions of the same length in a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Repeated {
    length_bytes: u64,
    count: u32,
}

/// The piece that was cut from a writer's first submission.
pub(crate) struct Piece {
    pub write: WriteId,
    pub offset_bytes: u64,
    pub length_bytes: u64,
    pub ends_submission: bool,
}

/// The first submission that waits.
pub(crate) struct Head {
    pub begun_bytes: u64,
    pub left_bytes: u64,
    pub submission_bytes: u64,
}

impl Writer {
    #[inline]
    pub fn submit(&mut self, length_bytes: u64) {
        let last = match &mut self.later {
            Some(later) => later.back_mut().unwrap_or(&mut self.first),
            None => &mut self.first,
        };
        if last.count == 0 {
            last.length_bytes = length_bytes;
        }
        if last.length_bytes == length_bytes {
            last.count += 1;
        } else {
            self.later.get_or_insert_default().push_back(Repeated { length_bytes, count: 1 });
        }
    }

    #[inline]
    pub fn head(&self) -> Option<Head> {
        if self.first.count == 0 {
            return None;
        }
        let submission_bytes = self.first.length_bytes;
        let left_bytes = submission_bytes - self.begun_bytes;
        Some(Head { begun_bytes: self.begun_bytes, left_bytes, submission_bytes })
    }

    /// Cuts at most `length_bytes` off. There must be a head.
    #[inline]
    pub fn cut(&mut self, writer: u32, length_bytes: u64) -> Piece {
        let whole = self.first.length_bytes;
        let length_bytes = length_bytes.min(whole - self.begun_bytes);
        let write = WriteId { writer, sequence: self.sequence, part: self.begun_parts };
        let offset_bytes = self.begun_bytes;
        self.begun_bytes += length_bytes;
        self.begun_parts += 1;
        self.open_parts += 1;
        let ends_submission = self.begun_bytes == whole;
        if ends_submission {
            self.next_submission();
        }
        Piece { write, offset_bytes, length_bytes, ends_submission }
    }

    fn next_submission(&mut self) {
        self.sequence += 1;
        self.first.count -= 1;
        (self.begun_bytes, self.begun_parts) = (0, 0);
        if self.first.count == 0 {
            let next = self.later.as_mut().and_then(|later| later.pop_front());
            self.first = next.unwrap_or_default();
        }
    }

    /// Gives up what waits; says how much.
    pub fn lose_waiting(&mut self) -> u64 {
        let later = self.later.take().unwrap_or_default();
        let runs = || later.iter().chain([&self.first]);
        let waiting: u64 = runs().map(|run| run.length_bytes * u64::from(run.count)).sum();
        let lost = waiting - self.begun_bytes;
        self.sequence += runs().map(|run| run.count).sum::<u32>();
        self.first = Repeated::default();
        (self.begun_bytes, self.begun_parts) = (0, 0);
        self.lost_bytes += lost;
        lost
    }

    /// The one report that it is done, when it is.
    #[inline]
    pub fn report(&mut self, writer: u32) -> Option<Closed> {
        let is_done = self.is_closed && self.first.count == 0 && self.open_parts == 0;
        if !is_done || self.is_reported {
            return None;
        }
        self.is_reported = true;
        let (committed_bytes, lost_bytes) = (self.committed_bytes, self.lost_bytes);
        Some(Closed::Writer { writer, committed_bytes, lost_bytes })
    }
}
