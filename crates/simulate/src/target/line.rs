//! First in, first out: one job after the other, and those of others in between.

use std::collections::VecDeque;

use super::{Job, ROUNDING_BYTES};

/// A waiting line. Noise has one block in it for each of its streams, which gets in line again
/// as soon as it was served. Blocks of noise that stand together are one place, so that many streams
/// cost as little as few.
#[derive(Debug, Default)]
pub struct Line {
    places: VecDeque<Standing>,
    own: u32,
}

#[derive(Debug)]
struct Standing {
    who: Who,
    /// Work that is left, of all blocks together, in bytes.
    left: f64,
}

#[derive(Debug)]
enum Who {
    Us(Job),
    Others { blocks: u32 },
}

impl Line {
    /// Jobs of ours.
    pub fn own(&self) -> u32 {
        self.own
    }

    /// A job gets in line; the first one behind the noise that is always there.
    pub fn push(&mut self, job: Job, work: f64, noise_streams: u32, noise_block: f64) {
        match self.own {
            0 => self.push_noise(noise_streams, noise_block),
            _ => self.send_back_served(noise_block),
        }
        self.own += 1;
        self.places.push_back(Standing { who: Who::Us(job), left: work });
    }

    /// The job at the head; `None` if it is not ours.
    pub fn head(&self) -> Option<&Job> {
        match &self.places.front()?.who {
            Who::Us(job) => Some(job),
            Who::Others { .. } => None,
        }
    }

    /// Work that is left of the head.
    pub fn first_left(&self) -> Option<f64> {
        self.places.front().map(|place| place.left)
    }

    /// Does so much work of the head; tells how much of it was ours.
    pub fn serve(&mut self, work: f64) -> f64 {
        let Some(place) = self.places.front_mut() else { return 0.0 };
        place.left -= work;
        match place.who {
            Who::Us(_) => work,
            Who::Others { .. } => 0.0,
        }
    }

    pub fn take_done(&mut self, noise_block: f64, done: &mut Vec<Job>) {
        while self.first_left().is_some_and(|left| left <= ROUNDING_BYTES) {
            match self.places.pop_front().map(|place| place.who) {
                Some(Who::Us(job)) => {
                    done.push(job);
                    self.own -= 1;
                    if self.own == 0 {
                        self.places.clear();
                    }
                }
                Some(Who::Others { blocks }) => self.push_noise(blocks, noise_block),
                None => {}
            }
        }
    }

    pub fn take_all(&mut self, taken: &mut Vec<Job>) {
        taken.extend(self.places.drain(..).filter_map(|place| match place.who {
            Who::Us(job) => Some(job),
            Who::Others { .. } => None,
        }));
        self.own = 0;
    }

    /// Blocks at the head that were served are behind everybody who came before their end. Who comes
    /// now must find them there.
    fn send_back_served(&mut self, block: f64) {
        let Some(Standing { who: Who::Others { blocks }, left }) = self.places.front_mut() else {
            return;
        };
        let unserved = ((*left - ROUNDING_BYTES) / block).ceil().max(1.0) as u32;
        let served = blocks.saturating_sub(unserved);
        *blocks -= served;
        self.push_noise(served, block);
    }

    fn push_noise(&mut self, blocks: u32, block: f64) {
        let work = f64::from(blocks) * block;
        // The head is never the last, because a job of ours is in line.
        if let Some(Standing { who: Who::Others { blocks: others }, left }) = self.places.back_mut()
        {
            *others += blocks;
            *left += work;
        } else if blocks > 0 {
            self.places.push_back(Standing { who: Who::Others { blocks }, left: work });
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_route::AttemptId;

    use super::*;

    fn job(nth: u32) -> Job {
        Job { actor: nth, attempt: AttemptId { slot: 0, generation: 0 }, node: 0, length_bytes: 10 }
    }

    /// Noise as the line has it: (ours, bytes that are left) of each place.
    fn places(line: &Line) -> Vec<(bool, f64)> {
        line.places.iter().map(|place| (matches!(place.who, Who::Us(_)), place.left)).collect()
    }

    #[test]
    fn who_comes_stands_behind_the_noise_that_was_served() {
        let mut line = Line::default();
        line.push(job(1), 10.0, 3, 4.0);
        assert_eq!(places(&line), [(false, 12.0), (true, 10.0)]);
        assert_eq!(line.serve(9.0), 0.0);
        line.push(job(2), 10.0, 3, 4.0);
        let with_both = [(false, 3.0), (true, 10.0), (false, 8.0), (true, 10.0)];
        assert_eq!(places(&line), with_both, "two of three were served");
        line.push(job(3), 10.0, 3, 4.0);
        assert_eq!(line.places.len(), 5, "not a second time");
        line.serve(3.0);
        line.take_done(4.0, &mut Vec::new());
        line.serve(10.0);
        line.take_done(4.0, &mut Vec::new());
        line.serve(8.0);
        line.take_done(4.0, &mut Vec::new());
        let together = [(true, 10.0), (true, 10.0), (false, 12.0)];
        assert_eq!(places(&line), together, "blocks that stand together are one place");
    }

    #[test]
    fn blocks_of_others_are_counted_when_they_come_together() {
        let mut line = Line::default();
        line.push(job(1), 10.0, 3, 4.0);
        line.serve(4.0);
        line.push(job(2), 10.0, 3, 4.0);
        let with_both = [(false, 8.0), (true, 10.0), (false, 4.0), (true, 10.0)];
        assert_eq!(places(&line), with_both, "just one was served");
        // The two others are served, and then our first: three blocks of others stand together again.
        line.serve(8.0);
        line.take_done(4.0, &mut Vec::new());
        line.serve(10.0);
        line.take_done(4.0, &mut Vec::new());
        line.serve(4.0);
        line.take_done(4.0, &mut Vec::new());
        assert_eq!((places(&line), line.own()), (vec![(true, 10.0), (false, 12.0)], 1));
        line.push(job(3), 10.0, 3, 4.0);
        line.serve(10.0);
        line.take_done(4.0, &mut Vec::new());
        line.serve(5.0);
        line.push(job(4), 10.0, 3, 4.0);
        let one_back = [(false, 7.0), (true, 10.0), (false, 4.0), (true, 10.0)];
        assert_eq!(places(&line), one_back, "one of the three was served");
        let mut taken = Vec::new();
        line.take_all(&mut taken);
        assert_eq!(taken.iter().map(|job| job.actor).collect::<Vec<_>>(), [3, 4]);
        assert_eq!((line.own(), line.places.len()), (0, 0));
    }

    #[test]
    fn many_streams_are_one_place() {
        let mut line = Line::default();
        line.push(job(1), 10.0, 100_000_000, 4.0);
        assert_eq!(line.places.len(), 2);
        line.serve(4e8);
        let mut done = Vec::new();
        line.take_done(4.0, &mut done);
        assert_eq!(places(&line), [(true, 10.0), (false, 4e8)]);
        line.serve(10.0);
        line.take_done(4.0, &mut done);
        assert_eq!((done.len(), line.places.len()), (1, 0));
    }
}
