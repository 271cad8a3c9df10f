//! What is to be made.

use plimsoll_history::Day;

/// What is to be made. Equal plans give equal histories.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Of all that is drawn at random.
    pub seed: u64,
    /// The first day.
    pub first_day: Day,
    /// How many.
    pub days: u32,
    /// Targets of data.
    pub targets: u32,
    /// Seconds between samples; 60 divides by it.
    pub step_seconds: u32,
    /// Whether facts are planted: a ratio, hot targets, a daily job, outages, resets and lies. Otherwise there is noise only.
    pub is_planted: bool,
}

/// Mean bytes that are read in a minute, of all targets of a plan: 10 GiB for each.
pub(crate) const READ_BYTES_OF_TARGET: f64 = 10.0 * (1u64 << 30) as f64;

/// Bytes read over bytes written without the daily job (Patel: 1.75 over a year).
pub(crate) const RATIO: f64 = 1.75;

/// Minutes that load stays as it is, on average: of all targets together, and the share of one of them.
pub(crate) const LEVEL_MINUTES: f64 = 6.0;
pub(crate) const SHARE_MINUTES: f64 = 20.0;

/// Shape of the gamma distribution of load: its coefficient of variation is the root of its inverse.
pub(crate) const LEVEL_SHAPE: f64 = 0.5;
/// And that of the share of a target.
pub(crate) const SHARE_SHAPE: f64 = 1.0;

/// How much of the load reads and writes have in common.
pub(crate) const COMMON: f64 = 0.3;

/// By how much hot targets have more than others.
pub(crate) const HOT: f64 = 2.0;

/// The daily job: from which minute of the day on (UTC), how many minutes, and what it reads in one of them, as a multiple of the mean.
pub(crate) const JOB_START: usize = 120;
pub(crate) const JOB_MINUTES: usize = 30;
pub(crate) const JOB_LEVEL: f64 = 4.0;

/// Closes of files over opens.
pub(crate) const CLOSES_PER_OPEN: f64 = 0.72;

impl Plan {
    /// Returns the targets that get more than others.
    pub(crate) fn hot(&self) -> Vec<u32> {
        let is_any = self.is_planted && self.targets >= 8;
        if is_any { vec![self.targets / 3, self.targets * 2 / 3] } else { Vec::new() }
    }

    /// Returns the weight of each target; their mean is 1.
    pub(crate) fn weights(&self) -> Vec<f64> {
        let hot = self.hot();
        let raw: Vec<f64> =
            (0..self.targets).map(|it| if hot.contains(&it) { HOT } else { 1.0 }).collect();
        let mean = raw.iter().sum::<f64>() / raw.len() as f64;
        raw.into_iter().map(|it| it / mean).collect()
    }

    /// Returns the name of a target.
    pub(crate) fn target_name(number: u32) -> String {
        format!("synth-OST{number:04x}")
    }
}
