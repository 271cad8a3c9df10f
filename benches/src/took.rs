//! What work takes: time on the wall, and of processors, which others use, too.

use std::fmt;
use std::time::Instant;

use anyhow::Result;

use crate::process_cpu_seconds;

/// What some work took.
#[derive(Debug, Clone, Copy)]
pub struct Took {
    /// Seconds on the wall.
    pub wall: f64,
    /// Seconds of all processors.
    pub processors: f64,
}

impl Took {
    /// Does the work in this process.
    pub fn of<T>(work: impl FnOnce() -> Result<T>) -> Result<(Self, T)> {
        let (begun, before) = (Instant::now(), process_cpu_seconds());
        let done = work()?;
        let processors = process_cpu_seconds() - before;
        Ok((Took { wall: begun.elapsed().as_secs_f64(), processors }, done))
    }

    /// Keeps what something took, and returns the time on the wall; no number if it failed.
    pub fn noted(took: Result<Self>, all: &mut Vec<Self>) -> f64 {
        let Ok(took) = took else { return f64::NAN };
        all.push(took);
        took.wall
    }
}

impl fmt::Display for Took {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:.2} s, {:.2} s of processors", self.wall, self.processors)
    }
}
