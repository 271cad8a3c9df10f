//! What jobs read and wrote on some days.

use std::collections::BTreeMap;

use plimsoll_history::{Component, Day, HistoryError, Measure, Selection, Store};
use plimsoll_stored::{Malformed, Reader, Stored, get_at_most};

use crate::open_day::BOTH;
use crate::{Frame, Job};

/// Names of jobs that are told apart: users think of any number of them. What is beyond is added up as one.
const NAMES_MOST: usize = 1 << 20;

/// What jobs read and wrote on some days. Of more names than are told apart, those with the least hashes are: a name that is told apart in the end was so in
/// all parts, so that it does not matter how the days were divided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobSums {
    /// By hash and name.
    jobs: BTreeMap<(u64, String), OfJob>,
    /// Bytes read and written by others.
    others: [u128; BOTH],
    most: usize,
}

/// What one job did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct OfJob {
    bytes: [u128; BOTH],
    /// Days on which it moved anything.
    days: u32,
}

plimsoll_stored::stored! { OfJob { bytes, days } }

impl Default for JobSums {
    fn default() -> Self {
        JobSums { jobs: BTreeMap::new(), others: [0; BOTH], most: NAMES_MOST }
    }
}

impl JobSums {
    /// Adds up what jobs did on the targets of a frame, on some of its days.
    ///
    /// # Errors
    /// If the store is damaged or cannot be read.
    pub fn read(store: &Store, frame: &Frame, days: &[Day]) -> Result<Self, HistoryError> {
        let is_wanted = |component: &Component| {
            component.is_job() && frame.has_target(&component.clone().of_job(String::new()))
        };
        let selection = Selection {
            since: frame.options.since,
            until: frame.options.until,
            measures: &[Measure::ReadBytes, Measure::WrittenBytes],
            is_wanted: Some(&is_wanted),
        };
        let mut all = JobSums::default();
        for day in days {
            let mut of_day = JobSums::default();
            store.read_day(*day, &selection, |batch| -> Result<(), HistoryError> {
                let mut bytes = [0; BOTH];
                let direction = usize::from(batch.series.measure == Measure::WrittenBytes);
                bytes[direction] = batch.values.iter().map(|it| u128::from(*it)).sum();
                of_day.add(batch.series.component.job.clone(), OfJob { bytes, days: 0 });
                Ok(())
            })?;
            for job in of_day.jobs.values_mut() {
                job.days = u32::from(job.bytes != [0; BOTH]);
            }
            all.join(of_day);
        }
        Ok(all)
    }

    /// Adds other days.
    pub fn join(&mut self, next: JobSums) {
        for ((_, name), sums) in next.jobs {
            self.add(name, sums);
        }
        plus(&mut self.others, next.others);
    }

    fn add(&mut self, name: String, more: OfJob) {
        let key = (hash(&name), name);
        let is_full = self.jobs.len() >= self.most;
        if is_full && self.jobs.last_key_value().is_none_or(|(last, _)| key > *last) {
            return plus(&mut self.others, more.bytes);
        }
        let own = self.jobs.entry(key).or_default();
        plus(&mut own.bytes, more.bytes);
        own.days = own.days.saturating_add(more.days);
        if self.jobs.len() > self.most
            && let Some((_, last)) = self.jobs.pop_last()
        {
            plus(&mut self.others, last.bytes);
        }
    }

    /// Returns those that are told apart, and the bytes of the others.
    pub fn into_jobs(self) -> (Vec<Job>, [u128; BOTH]) {
        let job = |((_, name), OfJob { bytes, days })| Job { name, bytes, days };
        (self.jobs.into_iter().map(job).collect(), self.others)
    }
}

fn plus(own: &mut [u128; BOTH], more: [u128; BOTH]) {
    own.iter_mut().zip(more).for_each(|(own, more)| *own = own.saturating_add(more));
}

/// Fowler, Noll and Vo's hash (FNV-1a, 64 bits): the same in every run.
fn hash(name: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    name.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

impl Stored for JobSums {
    fn put(&self, out: &mut Vec<u8>) {
        let JobSums { jobs, others, most: _ } = self;
        jobs.len().put(out);
        for ((_, name), sums) in jobs {
            name.put(out);
            sums.put(out);
        }
        others.put(out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let list: Vec<(String, OfJob)> = get_at_most(from, NAMES_MOST)?;
        let count = list.len();
        let jobs = list.into_iter().map(|(name, sums)| ((hash(&name), name), sums)).collect();
        let sums = JobSums { jobs, others: Stored::get(from)?, most: NAMES_MOST };
        if sums.jobs.len() == count { Ok(sums) } else { Err(Malformed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Days on which some of twenty jobs move something, of which five are told apart.
    fn days() -> Vec<JobSums> {
        let day = |day: u128| {
            let mut sums = JobSums { most: 5, ..JobSums::default() };
            for job in (0..20).filter(|job| !(job + day).is_multiple_of(3)) {
                sums.add(format!("job{job}"), OfJob { bytes: [job, day], days: 1 });
            }
            sums
        };
        (0..9).map(day).collect()
    }

    fn joined(days: &[JobSums]) -> JobSums {
        let mut all = JobSums { most: 5, ..JobSums::default() };
        days.iter().for_each(|it| all.join(it.clone()));
        all
    }

    #[test]
    fn which_names_are_told_apart_does_not_depend_on_the_division() {
        let days = days();
        let whole = joined(&days);
        assert_eq!(whole.jobs.len(), 5);
        assert!(whole.jobs.values().all(|it| it.days == 6), "all days of a name count");
        for cut in 0..=days.len() {
            let parts = [joined(&days[..cut]), joined(&days[cut..])];
            assert_eq!(joined(&parts), whole);
        }
        let (jobs, others) = whole.into_jobs();
        let all: u128 = jobs.iter().map(|it| it.bytes[0]).sum();
        assert_eq!(all + others[0], 6 * (0..20).sum::<u128>(), "nothing is lost");
    }

    #[test]
    fn what_is_stored_reads_back_and_twice_the_same_name_does_not() {
        let whole = JobSums { most: NAMES_MOST, ..joined(&days()) };
        let mut bytes = Vec::new();
        whole.put(&mut bytes);
        let read = |bytes: &[u8]| JobSums::get(&mut Reader::new(bytes, 1 << 20));
        assert_eq!(read(&bytes), Ok(whole));
        let mut twice = Vec::new();
        let one = || ("a".to_string(), OfJob::default());
        vec![one(), one()].put(&mut twice);
        [0u128; BOTH].put(&mut twice);
        assert_eq!(read(&twice), Err(Malformed));
    }
}
