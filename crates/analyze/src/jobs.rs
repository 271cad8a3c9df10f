//! Which jobs made the load, where targets count by job.

use crate::job_sums::JobSums;
use crate::open_day::BOTH;

/// What jobs read and wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Jobs {
    /// Those that moved most first.
    pub jobs: Vec<Job>,
    /// Bytes read and written by jobs that were too many to be told apart.
    pub others: [u128; BOTH],
}

/// What one job read and wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Job {
    /// As the targets know it.
    pub name: String,
    /// Bytes read and written.
    pub bytes: [u128; BOTH],
    /// Days on which it moved anything.
    pub days: u32,
}

impl Jobs {
    /// Puts jobs in order; nothing where targets do not count by job.
    pub(crate) fn of(sums: JobSums) -> Option<Self> {
        let (mut jobs, others) = sums.into_jobs();
        jobs.sort_by(|one, other| {
            let moved = |it: &Job| it.bytes[0].saturating_add(it.bytes[1]);
            moved(other).cmp(&moved(one)).then_with(|| one.name.cmp(&other.name))
        });
        let is_any = !jobs.is_empty() || others != [0; BOTH];
        is_any.then_some(Jobs { jobs, others })
    }

    /// Returns the bytes of all jobs together.
    pub fn bytes(&self) -> [u128; BOTH] {
        [0, 1].map(|direction: usize| {
            let all = self.jobs.iter().map(|it| it.bytes[direction]);
            all.fold(self.others[direction], u128::saturating_add)
        })
    }
}
