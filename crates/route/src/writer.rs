//! The books of one writer on a node: what it submitted and how much of it is settled.

use std::collections::VecDeque;

use crate::{Closed, WriteId};

/// One process. Termination is by counting: closed, nothing waits, no part is open.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Writer {
    /// Lengths of submissions that are not placed in full; the first may be begun.
    queue: VecDeque<u64>,
    begun_bytes: u64,
    begun_parts: u32,
    next_sequence: u32,
    pub open_parts: u32,
    pub committed_bytes: u64,
    pub lost_bytes: u64,
    pub is_closed: bool,
    pub is_ready: bool,
    is_reported: bool,
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
    pub fn submit(&mut self, length_bytes: u64) {
        self.queue.push_back(length_bytes);
        self.next_sequence += 1;
    }

    pub fn head(&self) -> Option<Head> {
        let submission_bytes = *self.queue.front()?;
        let left_bytes = submission_bytes - self.begun_bytes;
        Some(Head { begun_bytes: self.begun_bytes, left_bytes, submission_bytes })
    }

    /// Cuts at most `length_bytes` off. There must be a head.
    pub fn cut(&mut self, writer: u32, length_bytes: u64) -> Piece {
        let waiting = self.queue.len() as u32;
        let sequence = self.next_sequence - waiting;
        let whole = self.queue.front().copied().unwrap_or(0);
        let length_bytes = length_bytes.min(whole - self.begun_bytes);
        let write = WriteId { writer, sequence, part: self.begun_parts };
        let offset_bytes = self.begun_bytes;
        self.begun_bytes += length_bytes;
        self.begun_parts += 1;
        self.open_parts += 1;
        let ends_submission = self.begun_bytes == whole;
        if ends_submission {
            self.queue.pop_front();
            (self.begun_bytes, self.begun_parts) = (0, 0);
        }
        Piece { write, offset_bytes, length_bytes, ends_submission }
    }

    /// Gives up what waits; says how much.
    pub fn lose_waiting(&mut self) -> u64 {
        let lost = self.queue.iter().sum::<u64>() - self.begun_bytes;
        self.queue.clear();
        (self.begun_bytes, self.begun_parts) = (0, 0);
        self.lost_bytes += lost;
        lost
    }

    /// The one report that it is done, when it is.
    pub fn report(&mut self, writer: u32) -> Option<Closed> {
        let is_done = self.is_closed && self.queue.is_empty() && self.open_parts == 0;
        if !is_done || self.is_reported {
            return None;
        }
        self.is_reported = true;
        let (committed_bytes, lost_bytes) = (self.committed_bytes, self.lost_bytes);
        Some(Closed::Writer { writer, committed_bytes, lost_bytes })
    }
}
