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

/// The piece that was cut from a writer's first submission, and from those behind it where pieces are gathered.
pub(crate) struct Piece {
    pub write: WriteId,
    pub offset_bytes: u64,
    pub length_bytes: u64,
    /// Of at least one submission nothing is left.
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

    /// Returns what waits, in this submission and those behind it; runs of equal ones are added until there is enough.
    #[inline]
    pub fn waiting_bytes(&self, enough_bytes: u64) -> u64 {
        let bytes = |run: &Repeated| run.length_bytes.saturating_mul(u64::from(run.count));
        let mut waiting_bytes = bytes(&self.first).saturating_sub(self.begun_bytes);
        for run in self.later.iter().flat_map(|later| later.iter()) {
            if waiting_bytes >= enough_bytes {
                break;
            }
            waiting_bytes = waiting_bytes.saturating_add(bytes(run));
        }
        waiting_bytes
    }

    /// Returns how much may be cut off at once: what is left of the first submission; where that is short, up to so many bytes with those
    /// behind it.
    #[inline]
    pub fn piece_bytes(&self, head: &Head, gather_bytes: u64) -> u64 {
        if head.submission_bytes < gather_bytes {
            self.waiting_bytes(gather_bytes).min(gather_bytes)
        } else {
            head.left_bytes
        }
    }

    /// Returns whether the next piece may go while others are under way: never where the writer is serial, and else once enough
    /// waits, or nothing more comes.
    #[inline]
    pub fn may_go(&self, is_serial: bool, hold_bytes: u64) -> bool {
        let is_enough = || hold_bytes == 0 || self.waiting_bytes(hold_bytes) >= hold_bytes;
        self.open_parts == 0 || (!is_serial && (self.is_closed || is_enough()))
    }

    /// Cuts at most `length_bytes` off what waits. There must be a head.
    #[inline]
    pub fn cut(&mut self, writer: u32, length_bytes: u64) -> Piece {
        let write = WriteId { writer, sequence: self.sequence, part: self.begun_parts };
        let offset_bytes = self.begun_bytes;
        let mut left_bytes = length_bytes;
        self.begun_parts += 1;
        self.open_parts += 1;
        while left_bytes > 0 && self.first.count > 0 {
            let rest_bytes = self.first.length_bytes - self.begun_bytes;
            if left_bytes < rest_bytes {
                self.begun_bytes += left_bytes;
                left_bytes = 0;
            } else {
                // Many small ones at once.
                let more = (left_bytes - rest_bytes) / self.first.length_bytes;
                let count = more.min(u64::from(self.first.count - 1)) as u32 + 1;
                left_bytes -= rest_bytes + u64::from(count - 1) * self.first.length_bytes;
                self.end_submissions(count);
            }
        }
        let length_bytes = length_bytes - left_bytes;
        let ends_submission = self.sequence != write.sequence;
        Piece { write, offset_bytes, length_bytes, ends_submission }
    }

    /// Nothing is left of so many submissions in a row, which have one length.
    fn end_submissions(&mut self, count: u32) {
        self.sequence += count;
        self.first.count -= count;
        (self.begun_bytes, self.begun_parts) = (0, 0);
        if self.first.count == 0 {
            let next = self.later.as_mut().and_then(|later| later.pop_front());
            self.first = next.unwrap_or_default();
        }
    }

    /// Nothing more comes. Returns whether it was open before.
    pub fn close(&mut self) -> bool {
        !std::mem::replace(&mut self.is_closed, true)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(writer: &mut Writer, length_bytes: u64) -> (u32, u32, u64, u64, bool) {
        let Piece { write, offset_bytes, length_bytes, ends_submission } =
            writer.cut(7, length_bytes);
        assert_eq!(write.writer, 7);
        (write.sequence, write.part, offset_bytes, length_bytes, ends_submission)
    }

    #[test]
    fn a_piece_may_hold_the_end_of_one_submission_and_the_begin_of_another() {
        let mut writer = Writer::default();
        [3, 3, 3, 5, 1].into_iter().for_each(|length| writer.submit(length));
        assert_eq!(writer.waiting_bytes(1), 9, "enough in the first run");
        assert_eq!(writer.waiting_bytes(u64::MAX), 15);
        writer.open_parts = 1;
        assert!(writer.may_go(false, 15) && !writer.may_go(false, 16) && !writer.may_go(true, 0));
        writer.open_parts = 0;
        assert!(writer.may_go(true, 16));
        assert_eq!(cut(&mut writer, 2), (0, 0, 0, 2, false));
        assert_eq!(cut(&mut writer, 5), (0, 1, 2, 5, true), "of three submissions");
        assert_eq!(cut(&mut writer, 1), (2, 0, 1, 1, false), "its first own part");
        assert_eq!(cut(&mut writer, 1), (2, 1, 2, 1, true));
        assert_eq!(writer.waiting_bytes(u64::MAX), 6);
        assert_eq!(cut(&mut writer, 100), (3, 0, 0, 6, true), "not more than there is");
        assert!(writer.head().is_none());
        writer.submit(4);
        assert_eq!(cut(&mut writer, 4), (5, 0, 0, 4, true));
    }
}
