//! Days that are worked out, one after the other: what is known of the whole of the targets in each minute, and sums of each.

use std::collections::BTreeMap;

use plimsoll_stored::stored;

use crate::clusters::Degrees;
use crate::component_sums::{ServerSums, TargetSums};
use crate::day_summary::DaySummary;
use crate::edges::{Edges, Meeting};
use crate::open_day::BOTH;

/// Days that follow each other, worked out. Joining is associative and exact: sums are whole numbers. What it takes follows the data that is there: components without
/// samples are not in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stretch {
    /// In their order.
    pub days: Vec<DaySummary>,
    /// By number in the frame.
    pub targets: BTreeMap<u32, TargetSums>,
    pub servers: BTreeMap<u32, ServerSums>,
    /// Clusters of reads and writes: of 5 % in minutes, of 10 % in minutes, of 5 % in windows of 5 minutes.
    pub degrees: [[Degrees; 3]; BOTH],
    /// What its neighbours need.
    pub edges: Option<Box<Edges>>,
}

stored! { Stretch { days, targets, servers, degrees, edges } }

impl Stretch {
    /// Returns these days and those of a later stretch.
    #[must_use]
    pub fn join(mut self, next: Stretch) -> Stretch {
        let Some(mut own) = self.edges.take() else { return next };
        let Some(others) = next.edges else {
            self.edges = Some(own);
            return self;
        };
        for (number, more) in next.targets {
            self.targets.entry(number).or_default().plus(more);
        }
        for (number, more) in next.servers {
            self.servers.entry(number).or_default().plus(more);
        }
        let meeting = Meeting::of(&own.last, &others.first);
        meeting.each_target(|number, across| {
            self.targets.entry(number).or_default().plus_lags(&across);
        });
        meeting.each_server(|number, across| {
            self.servers.entry(number).or_default().lags.plus(&across);
        });
        for (own, more) in self.degrees.iter_mut().flatten().zip(next.degrees.iter().flatten()) {
            own.plus(more);
        }
        self.days.extend(next.days);
        own.last = others.last;
        self.edges = Some(own);
        self
    }
}
