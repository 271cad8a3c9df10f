//! Which jobs of a target are read: a bounded number of new ones in a time, whatever ids their users choose.

use std::collections::HashMap;

/// How many times as many jobs may be new in an hour as are read at once. Each job of a target becomes about a dozen series of the history, and a
/// day's must fit into memory: with 200 jobs and 20 targets that is 4.6 million series a day at most, about 2.3 GB.
const TURNOVER: usize = 4;

const HOUR: u64 = 3_600_000_000_000;

/// The jobs of one target that are read.
#[derive(Debug, Default)]
pub struct Admission {
    /// When each was read last, in nanoseconds. One that was not for an hour is forgotten.
    known: HashMap<String, u64>,
    /// When the present hour began, and how many have been new since.
    hour: u64,
    new: usize,
}

impl Admission {
    /// Returns whether a job is read now: it is known, or there may be another new one. `most` is how many are read at once.
    pub fn admits(&mut self, job: &str, now: u64, most: usize) -> bool {
        // Also after the clock was put back.
        if now.abs_diff(self.hour) >= HOUR {
            self.known.retain(|_, read| now.abs_diff(*read) < HOUR);
            (self.hour, self.new) = (now, 0);
        }
        if let Some(read) = self.known.get_mut(job) {
            *read = now;
            return true;
        }
        if self.new >= most.saturating_mul(TURNOVER) {
            return false;
        }
        self.new += 1;
        self.known.insert(job.to_owned(), now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_change_all_the_time_are_bounded_and_known_jobs_go_on() {
        let mut jobs = Admission::default();
        let now = 1_800_000_000_000_000_000;
        assert!(jobs.admits("steady", now, 2));
        let admitted = (0..1000).filter(|it| jobs.admits(&it.to_string(), now + it, 2)).count();
        assert_eq!(admitted, 2 * TURNOVER - 1);
        assert!(jobs.admits("steady", now + HOUR - 1, 2));
        assert!(!jobs.admits("late", now + HOUR - 1, 2));
        assert!(jobs.admits("late", now + HOUR, 2), "another hour");
        assert!(jobs.admits("steady", now + HOUR, 2));
        assert!(jobs.admits("steady", now + 2 * HOUR, 2));
        assert!(jobs.known.len() <= 2, "those that are gone are forgotten");
        let back = now - 10 * HOUR;
        assert!(jobs.admits("earlier", back, 2), "the clock was put back");
        assert!(jobs.known.len() <= 2 * TURNOVER);
    }
}
