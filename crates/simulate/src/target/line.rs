//! First in, first out: one job after the other, and those of others in between.

use std::collections::VecDeque;

use super::{Job, ROUNDING_BYTES};

/// A waiting line. Noise has one block in it for each of its streams.
#[derive(Debug, Default)]
pub struct Line {
    /// Jobs of ours or blocks of noise, and the bytes that are left of each.
    jobs: VecDeque<(Option<Job>, f64)>,
    own: u32,
}

impl Line {
    /// Jobs of ours.
    pub fn own(&self) -> u32 {
        self.own
    }

    /// A job gets in line; the first one behind the noise that is always there.
    pub fn push(&mut self, job: Job, noise_streams: u32, noise_block_bytes: f64) {
        if self.own == 0 {
            let blocks = noise_streams as usize;
            self.jobs.extend(std::iter::repeat_n((None, noise_block_bytes), blocks));
        }
        self.own += 1;
        self.jobs.push_back((Some(job), job.length_bytes as f64));
    }

    /// Bytes that are left of the head.
    pub fn first_left(&self) -> Option<f64> {
        self.jobs.front().map(|(_, left)| *left)
    }

    /// Gives the head so many bytes; tells how many of them were ours.
    pub fn serve(&mut self, bytes: f64) -> f64 {
        let Some((job, left)) = self.jobs.front_mut() else { return 0.0 };
        *left -= bytes;
        if job.is_none() { 0.0 } else { bytes }
    }

    pub fn take_done(&mut self, noise_block_bytes: f64, done: &mut Vec<Job>) {
        while self.first_left().is_some_and(|left| left <= ROUNDING_BYTES) {
            let Some((Some(job), _)) = self.jobs.pop_front() else {
                self.jobs.push_back((None, noise_block_bytes));
                continue;
            };
            done.push(job);
            self.own -= 1;
            if self.own == 0 {
                self.jobs.clear();
            }
        }
    }

    pub fn take_all(&mut self, taken: &mut Vec<Job>) {
        taken.extend(self.jobs.drain(..).filter_map(|(job, _)| job));
        self.own = 0;
    }
}
