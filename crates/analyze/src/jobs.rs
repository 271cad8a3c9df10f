//! Which jobs made the load, where targets count by job.

use std::collections::HashMap;

use plimsoll_history::{Component, HistoryError, Measure, Selection, Store};

use crate::Frame;
use crate::open_day::BOTH;

/// Names of jobs that are told apart: users think of any number of them. What is beyond is added up as one.
const NAMES_MOST: usize = 1 << 20;

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
    /// Returns the bytes of all jobs together.
    pub fn bytes(&self) -> [u128; BOTH] {
        [0, 1].map(|direction: usize| {
            let sum: u128 = self.jobs.iter().map(|it| it.bytes[direction]).sum();
            sum + self.others[direction]
        })
    }
}

/// Adds up what jobs did on the targets of a frame; nothing where targets do not count by job.
///
/// # Errors
/// If the store is damaged or cannot be read.
pub fn jobs(store: &Store, frame: &Frame) -> Result<Option<Jobs>, HistoryError> {
    let is_wanted = |component: &Component| {
        component.is_job() && frame.has_target(&component.clone().of_job(String::new()))
    };
    let selection = Selection {
        since: frame.options.since,
        until: frame.options.until,
        measures: &[Measure::ReadBytes, Measure::WrittenBytes],
        is_wanted: Some(&is_wanted),
    };
    let (mut all, mut others): (HashMap<String, Job>, [u128; BOTH]) = Default::default();
    for day in store.days(&selection)? {
        let mut of_day: HashMap<String, [u128; BOTH]> = HashMap::new();
        store.read_day(day, &selection, |batch| -> Result<(), HistoryError> {
            let name = &batch.series.component.job;
            let bytes: u128 = batch.values.iter().map(|it| u128::from(*it)).sum();
            let direction = usize::from(batch.series.measure == Measure::WrittenBytes);
            let has_room = of_day.len() < NAMES_MOST;
            match of_day.get_mut(name) {
                Some(sums) => sums[direction] += bytes,
                None if has_room => {
                    let mut sums = [0; BOTH];
                    sums[direction] = bytes;
                    of_day.insert(name.clone(), sums);
                }
                None => others[direction] += bytes,
            }
            Ok(())
        })?;
        for (name, bytes) in of_day {
            let has_room = all.len() < NAMES_MOST;
            let job = match all.get_mut(&name) {
                Some(job) => job,
                None if has_room => {
                    all.entry(name.clone()).or_insert(Job { name, ..Job::default() })
                }
                None => {
                    others.iter_mut().zip(bytes).for_each(|(sum, it)| *sum += it);
                    continue;
                }
            };
            job.bytes.iter_mut().zip(bytes).for_each(|(sum, it)| *sum += it);
            job.days += u32::from(bytes != [0; BOTH]);
        }
    }
    let mut jobs: Vec<Job> = all.into_values().collect();
    jobs.sort_by(|one, other| {
        let moved = |it: &Job| it.bytes[0] + it.bytes[1];
        moved(other).cmp(&moved(one)).then_with(|| one.name.cmp(&other.name))
    });
    let is_any = !jobs.is_empty() || others != [0; BOTH];
    Ok(is_any.then_some(Jobs { jobs, others }))
}
