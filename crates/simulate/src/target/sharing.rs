//! Processor sharing: all jobs at the same time, in equal parts.

use std::collections::VecDeque;

use super::{Job, ROUNDING_BYTES};

/// Jobs that share a target. Every stream of ours gets the same rate, so one virtual clock
/// counts the bytes that each has received since it began, and a job is done when that clock
/// reaches its mark.
#[derive(Debug, Default)]
pub struct Sharing {
    /// Bytes that each stream has received since the target was last idle.
    pub clock: f64,
    arrivals: u32,
    /// Jobs of one length end in the order in which they came, and there are few lengths: a line
    /// for each needs no heap, whose every level would be a wait for memory.
    lines: Vec<Line>,
    streams: usize,
    /// The line whose head ends first; of no meaning while there are no streams.
    first: usize,
}

#[derive(Debug)]
struct Line {
    length_bytes: u64,
    streams: VecDeque<Stream>,
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
        self.streams
    }

    /// The job that ends first.
    pub fn first(&self) -> Option<&Job> {
        self.head(self.first).map(|stream| &stream.job)
    }

    fn head(&self, line: usize) -> Option<&Stream> {
        self.lines.get(line)?.streams.front()
    }

    pub fn push(&mut self, job: Job) {
        let finish_bits = (self.clock + job.length_bytes as f64).to_bits();
        let stream = Stream { finish_bits, arrival: self.arrivals, job };
        self.arrivals = self.arrivals.wrapping_add(1);
        let line = self.line_for(job.length_bytes);
        self.lines[line].streams.push_back(stream);
        self.streams += 1;
        let is_first = self.head(self.first).is_none_or(|first| stream < *first);
        if is_first {
            self.first = line;
        }
    }

    /// The line of a length: known, or one that is empty, or a new one.
    fn line_for(&mut self, length_bytes: u64) -> usize {
        let known = self.lines.iter().position(|line| line.length_bytes == length_bytes);
        let reused = || self.lines.iter().position(|line| line.streams.is_empty());
        let line = known.or_else(reused).unwrap_or(self.lines.len());
        if line == self.lines.len() {
            self.lines.push(Line { length_bytes, streams: VecDeque::new() });
        }
        self.lines[line].length_bytes = length_bytes;
        line
    }

    /// Bytes that the job that ends first must still receive.
    pub fn first_left(&self) -> Option<f64> {
        self.head(self.first).map(|stream| stream.finish() - self.clock)
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
        let stream = self.lines.get_mut(self.first)?.streams.pop_front()?;
        self.streams -= 1;
        let heads = (0..self.lines.len()).filter_map(|line| Some((self.head(line)?, line)));
        self.first = heads.min().map_or(0, |(_, line)| line);
        Some(stream.job)
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_route::AttemptId;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn jobs_end_in_order_of_finish_then_of_arrival(
            lengths in proptest::collection::vec(1u64..6, 1..60),
            served in proptest::collection::vec(0u32..4, 60),
        ) {
            let mut sharing = Sharing::default();
            let (mut expected, mut done) = (Vec::new(), Vec::new());
            for (nth, (length_bytes, bytes)) in lengths.iter().zip(&served).enumerate() {
                let attempt = AttemptId { slot: nth as u32, generation: 0 };
                sharing.push(Job { actor: 0, attempt, length_bytes: *length_bytes });
                expected.push((sharing.clock + *length_bytes as f64, nth as u32));
                if *bytes == 3 {
                    sharing.clock += 0.5;
                }
            }
            prop_assert_eq!(sharing.len(), lengths.len());
            expected.sort_by(|a, b| a.partial_cmp(b).unwrap());
            sharing.take_all(&mut done);
            let order: Vec<u32> = done.iter().map(|job| job.attempt.slot).collect();
            prop_assert_eq!(order, expected.iter().map(|(_, nth)| *nth).collect::<Vec<_>>());
            prop_assert_eq!(sharing.len(), 0);
        }
    }
}
