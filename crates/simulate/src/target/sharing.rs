//! Processor sharing: all jobs at the same time, in equal parts.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::{Job, ROUNDING_BYTES};

/// Jobs that share a target. Every stream of ours gets the same rate, so one virtual clock
/// counts the bytes that each has received since it began, and a job is done when that clock
/// reaches its mark.
#[derive(Debug, Default)]
pub struct Sharing {
    /// Bytes that each stream has received since the target was last idle.
    pub clock: f64,
    arrivals: u32,
    /// Streams in the order in which they end. Most writes are as long as those before, so
    /// that they end in the order in which they came.
    in_order: VecDeque<Stream>,
    /// Those that end before one that came before them.
    others: BinaryHeap<Reverse<Stream>>,
}

/// Ordered by virtual finish, then by arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Stream {
    /// Where the clock is when it ends. Finishes are not negative, so their bits sort as they do.
    finish_bits: u64,
    arrival: u32,
    job: Job,
}

impl Stream {
    fn finish(&self) -> f64 {
        f64::from_bits(self.finish_bits)
    }
}

impl Sharing {
    pub fn len(&self) -> usize {
        self.in_order.len() + self.others.len()
    }

    /// The job that most likely ends first.
    pub fn first(&self) -> Option<&Job> {
        self.in_order.front().map(|stream| &stream.job)
    }

    pub fn push(&mut self, job: Job) {
        let finish_bits = (self.clock + job.length_bytes as f64).to_bits();
        let stream = Stream { finish_bits, arrival: self.arrivals, job };
        self.arrivals = self.arrivals.wrapping_add(1);
        if self.in_order.back().is_none_or(|last| last.finish_bits <= finish_bits) {
            self.in_order.push_back(stream);
        } else {
            self.others.push(Reverse(stream));
        }
    }

    /// Bytes that the job that ends first must still receive.
    pub fn first_left(&self) -> Option<f64> {
        let first = match self.is_other_first() {
            true => self.others.peek().map(|Reverse(stream)| stream),
            false => self.in_order.front(),
        };
        first.map(|stream| stream.finish() - self.clock)
    }

    pub fn take_done(&mut self, done: &mut Vec<Job>) {
        while self.first_left().is_some_and(|left| left <= ROUNDING_BYTES) {
            done.extend(self.pop());
        }
        if self.len() == 0 {
            self.clock = 0.0;
        }
    }

    pub fn take_all(&mut self, taken: &mut Vec<Job>) {
        taken.extend(std::iter::from_fn(|| self.pop()));
        self.clock = 0.0;
    }

    fn pop(&mut self) -> Option<Job> {
        let first = match self.is_other_first() {
            true => self.others.pop().map(|Reverse(stream)| stream),
            false => self.in_order.pop_front(),
        };
        first.map(|stream| stream.job)
    }

    fn is_other_first(&self) -> bool {
        match (self.in_order.front(), self.others.peek()) {
            (Some(first), Some(Reverse(other))) => other < first,
            (first, _) => first.is_none(),
        }
    }
}
