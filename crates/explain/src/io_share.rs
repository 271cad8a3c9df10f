//! What part of their lives processes spent inside I/O calls.
//!
//! It is a part of the analysis, made from the analyses of processes: the two files use each other.

use std::collections::BTreeMap;

use crate::activity::{ACTIVITIES, Activity};
use crate::analysis::ProcessAnalysis;
use plimsoll_stats::Sample;
use plimsoll_trace::Class;

/// Beside ranks, another process takes part when it has at least this part of the I/O time of
/// the process with most: a launcher has far less.
const PART_BESIDE_RANKS_MIN: f64 = 0.1;

/// Without ranks, a process takes part when it has at least this part of the I/O time of the
/// process with most, or of its own life: shells that wait have neither.
const PART_MIN: f64 = 0.01;

/// The share of I/O in the lives of the processes that take part in it. Those are the ranks and
/// other processes with a tenth of the I/O time of the one with most; without ranks, processes
/// with a hundredth of it or of their own life. Time in which several threads of a process are
/// inside calls counts once. A process that replaces itself by another program goes on as that one,
/// and counts once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IoShare {
    /// Processes that take part.
    pub processes: usize,
    /// Sum of their wall times.
    pub wall_seconds: f64,
    /// Sum of the times in which they were inside I/O calls.
    pub busy_seconds: f64,
    /// That time by what the calls do, in the order of [`Activity::ALL`]; it adds up to
    /// `busy_seconds`.
    pub by_activity: [f64; ACTIVITIES],
    /// The process with most I/O time: an index in [`crate::Analysis::processes`].
    pub slowest: Option<usize>,
    /// Median of the processes' shares.
    pub median_share: Option<f64>,
}

impl IoShare {
    /// I/O time over wall time; `None` when no process takes part.
    pub fn share(&self) -> Option<f64> {
        (self.wall_seconds > 0.0).then(|| self.busy_seconds / self.wall_seconds)
    }

    /// Returns the share of calls that do one thing.
    pub fn share_of(&self, activity: Activity) -> Option<f64> {
        let seconds = self.by_activity[activity as usize];
        (self.wall_seconds > 0.0).then(|| seconds / self.wall_seconds)
    }
}

/// Marks the processes that take part, and adds them up.
pub(crate) fn io_share(processes: &mut [ProcessAnalysis]) -> IoShare {
    let most = processes.iter().map(|process| process.busy_seconds).fold(0.0, f64::max);
    let has_ranks = processes.iter().any(|process| process.rank.is_some());
    for process in processes.iter_mut() {
        let busy = process.busy_seconds;
        let has_part = if has_ranks {
            process.rank.is_some() || busy >= PART_BESIDE_RANKS_MIN * most && busy > 0.0
        } else {
            busy > 0.0 && busy >= PART_MIN * most.min(process.wall_seconds)
        };
        process.takes_part = has_part;
    }
    let mut sum = IoShare::default();
    let mut lives: BTreeMap<(&str, u32), (f64, f64)> = BTreeMap::new();
    for (index, process) in processes.iter().enumerate().filter(|(_, it)| it.takes_part) {
        let life = lives.entry((&process.host, process.pid)).or_default();
        life.0 += process.busy_seconds;
        life.1 += process.wall_seconds;
        add_activities(&mut sum.by_activity, process);
        let is_slower = |slowest: usize| process.busy_seconds > processes[slowest].busy_seconds;
        if process.busy_seconds > 0.0 && sum.slowest.is_none_or(is_slower) {
            sum.slowest = Some(index);
        }
    }
    sum.processes = lives.len();
    // Not `sum`, which of nothing is minus zero.
    sum.busy_seconds = lives.values().fold(0.0, |sum, (busy, _)| sum + busy);
    sum.wall_seconds = lives.values().map(|(_, wall)| wall).sum();
    let shares =
        lives.values().filter(|(_, wall)| *wall > 0.0).map(|(busy, wall)| (busy / wall).min(1.0));
    sum.median_share = median(shares.collect());
    sum
}

fn add_activities(sums: &mut [f64; ACTIVITIES], process: &ProcessAnalysis) {
    let all = process.own.total_seconds();
    // Threads side by side: each call's time counts by its part in the process's.
    let part = if all > 0.0 { process.busy_seconds / all } else { 0.0 };
    for class in Class::ALL {
        sums[Activity::of(class) as usize] += process.own.seconds(class) * part;
    }
}

fn median(values: Vec<f64>) -> Option<f64> {
    Sample::new(values).ok().map(|sample| sample.median())
}
