//! Processor sharing: all jobs at the same time, in equal parts.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};

use super::{Job, ROUNDING_BYTES};

/// Jobs that share a target. Every stream of ours gets the same rate, so one virtual clock
/// counts the work that each has had done since it began, and a job is done when that clock
/// reaches its mark.
#[derive(Debug, Default)]
pub struct SharingJobs {
    /// Work that each stream has had done since the target was last idle, in bytes.
    pub clock: f64,
    arrivals: u32,
    /// Jobs of one length end in the order in which they came, and there are few lengths: a line
    /// for each needs no heap of all jobs, whose every level would be a wait for memory.
    lines: Vec<LengthLine>,
    /// The heads of lines that are not empty: the first of all is on top.
    heads: BinaryHeap<Reverse<Head>>,
    streams: usize,
}

#[derive(Debug)]
struct LengthLine {
    length_bytes: u64,
    streams: VecDeque<Stream>,
}

#[derive(Debug, Clone, Copy)]
struct Stream {
    end: End,
    job: Job,
}

/// Ordered by virtual finish, then by arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct End {
    /// Where the clock is when it ends. Finishes are not negative, so their bits sort as they do.
    finish_bits: u64,
    arrival: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Head {
    end: End,
    line: u32,
}

impl SharingJobs {
    pub fn len(&self) -> usize {
        self.streams
    }

    /// The job that ends first.
    pub fn first(&self) -> Option<&Job> {
        let Reverse(head) = self.heads.peek()?;
        self.lines[head.line as usize].streams.front().map(|stream| &stream.job)
    }

    /// A job begins that is so much work: the more, the longer it is.
    pub fn push(&mut self, job: Job, work: f64) {
        let finish_bits = (self.clock + work).to_bits();
        let end = End { finish_bits, arrival: self.arrivals };
        self.arrivals = self.arrivals.wrapping_add(1);
        let line = self.line_for(job.length_bytes);
        let streams = &mut self.lines[line].streams;
        if streams.is_empty() {
            self.heads.push(Reverse(Head { end, line: line as u32 }));
        }
        streams.push_back(Stream { end, job });
        self.streams += 1;
    }

    /// The line of a length: known, or one that is empty, or a new one.
    fn line_for(&mut self, length_bytes: u64) -> usize {
        let known = self.lines.iter().position(|line| line.length_bytes == length_bytes);
        let reused = || self.lines.iter().position(|line| line.streams.is_empty());
        let line = known.or_else(reused).unwrap_or(self.lines.len());
        if line == self.lines.len() {
            self.lines.push(LengthLine { length_bytes, streams: VecDeque::new() });
        }
        self.lines[line].length_bytes = length_bytes;
        line
    }

    /// Work that is left of the job that ends first.
    pub fn first_left(&self) -> Option<f64> {
        let Reverse(head) = self.heads.peek()?;
        Some(f64::from_bits(head.end.finish_bits) - self.clock)
    }

    pub fn take_done(&mut self, done: &mut Vec<Job>) {
        while self.first_left().is_some_and(|left| left <= ROUNDING_BYTES) {
            done.extend(self.pop());
        }
        if self.streams == 0 {
            self.clock = 0.0;
        }
    }

    pub fn take_all(&mut self, taken: &mut Vec<Job>) {
        taken.extend(std::iter::from_fn(|| self.pop()));
        self.clock = 0.0;
    }

    fn pop(&mut self) -> Option<Job> {
        let mut top = self.heads.peek_mut()?;
        let streams = &mut self.lines[top.0.line as usize].streams;
        let stream = streams.pop_front()?;
        match streams.front() {
            Some(next) => top.0.end = next.end,
            None => drop(PeekMut::pop(top)),
        }
        self.streams -= 1;
        Some(stream.job)
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_route::AttemptId;
    use proptest::prelude::*;

    use super::*;

    /// Jobs of a few lengths, between which the clock goes on and those that are done leave, so
    /// that lines get empty and are used for other lengths.
    fn played(lengths: &[u64], served: &[u32]) -> (Vec<u32>, Vec<u32>) {
        let mut sharing = SharingJobs::default();
        let mut under_way: Vec<(f64, u32)> = Vec::new();
        let (mut expected, mut done) = (Vec::new(), Vec::new());
        for (nth, (length_bytes, bytes)) in (0u32..).zip(lengths.iter().zip(served)) {
            let attempt = AttemptId { slot: nth, generation: 0 };
            let job = Job { actor: 0, attempt, node: 0, length_bytes: *length_bytes };
            sharing.push(job, *length_bytes as f64);
            under_way.push((sharing.clock + *length_bytes as f64, nth));
            under_way.sort_by(|a, b| a.partial_cmp(b).unwrap());
            sharing.clock += f64::from(*bytes);
            let ended = under_way.partition_point(|(finish, _)| *finish <= sharing.clock);
            expected.extend(under_way.drain(..ended).map(|(_, nth)| nth));
            sharing.take_done(&mut done);
            assert_eq!(sharing.len(), under_way.len());
        }
        expected.extend(under_way.iter().map(|(_, nth)| *nth));
        sharing.take_all(&mut done);
        assert_eq!(sharing.len(), 0);
        (done.iter().map(|job| job.attempt.slot).collect(), expected)
    }

    proptest! {
        #[test]
        fn jobs_end_in_order_of_finish_then_of_arrival(
            lengths in proptest::collection::vec(1u64..40, 1..80),
            served in proptest::collection::vec(0u32..30, 80),
        ) {
            let (order, expected) = played(&lengths, &served);
            prop_assert_eq!(order, expected);
        }
    }
}
