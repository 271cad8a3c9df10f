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
    /// Whether facts are planted: a ratio, hot targets, jobs that many targets work for alike, a daily job, outages, resets and lies. Otherwise there is noise only.
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

/// How often reads and writes get the same load: their correlation.
pub(crate) const SAME: f64 = 0.3;

/// Weights of hot targets; the others have 1.
pub(crate) const HOT: [f64; 2] = [3.0, 2.0];

/// How much of the time a job is on that keeps a third of the targets busy alike, and minutes until that may change.
pub(crate) const WIDE_SHARE: f64 = 0.2;
pub(crate) const WIDE_MINUTES: f64 = 10.0;

/// The daily job: from which minute of the day on (UTC), how many minutes, and what it reads in one of them, as a multiple of the mean.
pub(crate) const JOB_START: usize = 120;
pub(crate) const JOB_MINUTES: usize = 30;
pub(crate) const JOB_LEVEL: f64 = 4.0;

/// Closes of files over opens.
pub(crate) const CLOSES_PER_OPEN: f64 = 0.72;
/// Mean of files opened in a minute.
pub(crate) const OPENS: f64 = 600_000.0;
/// Mean share of their time that processors of servers work.
pub(crate) const PROCESSORS: f64 = 0.02;

impl Plan {
    /// Returns the targets that get more than others, with their weight.
    pub(crate) fn hot(&self) -> Vec<(u32, f64)> {
        let is_any = self.is_planted && self.targets >= 8;
        let places = [self.targets / 3, self.targets * 2 / 3];
        if is_any { places.into_iter().zip(HOT).collect() } else { Vec::new() }
    }

    /// Returns the weight of each target.
    pub(crate) fn weights(&self) -> Vec<f64> {
        let hot = self.hot();
        let weight = |target: u32| hot.iter().find(|it| it.0 == target).map_or(1.0, |it| it.1);
        (0..self.targets).map(weight).collect()
    }

    /// Returns how many targets, the first ones, work alike for some jobs: none of them is hot.
    pub(crate) fn wide_targets(&self) -> usize {
        if self.is_planted { self.targets as usize / 3 } else { 0 }
    }

    /// Returns what the daily job reads, as a multiple of the mean.
    pub(crate) fn job_level(&self) -> f64 {
        if self.is_planted { JOB_LEVEL } else { 0.0 }
    }

    /// Returns the mean bytes of a minute of all targets without the daily job, read and written.
    pub(crate) fn bytes(&self) -> [f64; 2] {
        let read = READ_BYTES_OF_TARGET * f64::from(self.targets);
        [read, read / if self.is_planted { RATIO } else { 1.0 }]
    }

    /// Returns the name of a target.
    pub(crate) fn target_name(number: u32) -> String {
        format!("synth-OST{number:04x}")
    }
}
