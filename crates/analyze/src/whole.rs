//! A part that is whole.

use std::collections::BTreeMap;

use crate::Frame;
use crate::clusters::Degrees;
use crate::component_sums::{ServerSums, TargetSums};
use crate::day_summary::DaySummary;
use crate::lane::Taken;
use crate::open_day::BOTH;
use crate::stretch::Stretch;

/// A part that is whole: its last day is closed, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whole {
    /// In their order.
    pub days: Vec<DaySummary>,
    /// By target.
    pub targets: Vec<TargetSums>,
    /// By server.
    pub servers: Vec<ServerSums>,
    /// Clusters of reads and writes: of 5 % in minutes, of 10 % in minutes, of 5 % in windows of 5 minutes.
    pub degrees: [[Degrees; 3]; BOTH],
    /// By target: what all samples came to, of reads and of writes.
    pub counted: Vec<[Taken; BOTH]>,
}

impl Whole {
    pub(crate) fn of(
        stretch: Stretch,
        counted: BTreeMap<u32, [Taken; BOTH]>,
        frame: &Frame,
    ) -> Self {
        Whole {
            days: stretch.days,
            targets: all(stretch.targets, frame.targets.len()),
            servers: all(stretch.servers, frame.servers.len()),
            degrees: stretch.degrees,
            counted: all(counted, frame.targets.len()),
        }
    }

    /// Returns what a target read and wrote: all that was counted, without what was dropped.
    pub fn bytes(&self, target: usize) -> [u128; BOTH] {
        let (counted, dropped) = (&self.counted[target], self.targets[target].dropped);
        [0, 1].map(|direction: usize| counted[direction].total.saturating_sub(dropped[direction]))
    }
}

/// Returns a list of that length, also of those that have nothing.
fn all<T: Default>(mut some: BTreeMap<u32, T>, count: usize) -> Vec<T> {
    (0..count as u32).map(|number| some.remove(&number).unwrap_or_default()).collect()
}
