//! A day whose samples are being read.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_history::{Batch, Day, Form};

use crate::Frame;
use crate::lane::{Lane, Taken};
use crate::lane_key::{Counted, LaneKey};

/// Reads and writes, or opens and closes: two series of one component.
pub const BOTH: usize = 2;

/// What the lanes of a day have of the day before.
pub type Back = Vec<(LaneKey, (u64, u32))>;

/// Lanes of a day that are not closed yet: the next day may have some of the last minute. Only components that have samples have lanes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenDay {
    /// Which day.
    pub day: Day,
    pub lanes: BTreeMap<LaneKey, Lane>,
}

impl OpenDay {
    /// Returns a day without samples.
    pub fn new(day: Day) -> Self {
        OpenDay { day, lanes: BTreeMap::new() }
    }

    /// Takes samples. Returns what they came to where they are bytes of a target, with its number and direction.
    pub fn take(&mut self, frame: &Frame, batch: &Batch<'_>) -> Option<(u32, usize, Taken)> {
        let series = batch.series;
        let number = frame.place(&series.component)?;
        let counted = Counted::of(series.component.kind, series.measure)?;
        let lane = self.lanes.entry(LaneKey { counted, number }).or_default();
        if series.measure.form() == Form::Level {
            lane.take_levels(self.day, batch);
            return None;
        }
        let taken = lane.take(self.day, batch);
        counted.direction().map(|direction| (number, direction, taken))
    }

    /// Returns a lane.
    pub fn lane(&self, counted: Counted, number: u32) -> Option<&Lane> {
        self.lanes.get(&LaneKey { counted, number })
    }

    /// Returns the components that have lanes of any of these.
    pub fn numbers(&self, of: &[Counted]) -> BTreeSet<u32> {
        let of_one = |counted: &Counted| {
            let key = |number: u32| LaneKey { counted: *counted, number };
            self.lanes.range(key(0)..=key(u32::MAX)).map(|(key, _)| key.number)
        };
        of.iter().flat_map(of_one).collect()
    }

    /// Returns what each lane has of the day before, where it has anything.
    pub fn back(&self) -> Back {
        let of_lanes = self.lanes.iter().filter(|(key, _)| key.counted != Counted::Load);
        of_lanes.map(|(key, lane)| (*key, lane.back())).filter(|it| it.1.1 > 0).collect()
    }

    /// Adds what the next day has of this one.
    pub fn reach_back(&mut self, back: &Back) {
        for (key, back) in back {
            self.lanes.entry(*key).or_default().reach_back(*back);
        }
    }
}
