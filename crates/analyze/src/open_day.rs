//! A day whose samples are being read.

use plimsoll_history::{Batch, ComponentKind, Day, Form, Measure};

use crate::Frame;
use crate::lane::{Lane, Taken};

/// Reads and writes, or opens and closes: two series of one component.
pub const BOTH: usize = 2;

/// Lanes of a day that are not closed yet: the next day may have some of the last minute.
#[derive(Debug, Clone)]
pub struct OpenDay {
    /// Which day.
    pub day: Day,
    /// Bytes read and written, by target.
    pub targets: [Vec<Option<Lane>>; BOTH],
    /// Files opened and closed, by target of metadata.
    pub metadata: [Vec<Option<Lane>>; BOTH],
    /// Time that processors were busy and that they had, by server.
    pub processors: [Vec<Option<Lane>>; BOTH],
    /// Load of processors, where only this is known.
    pub loads: Vec<Option<Lane>>,
}

/// Which lanes samples go to.
enum Place {
    Target(usize),
    Metadata(usize),
    Processor(usize),
    Load,
}

impl OpenDay {
    /// Returns a day without samples.
    pub fn new(day: Day, frame: &Frame) -> Self {
        let lanes = |count: usize| [vec![None; count], vec![None; count]];
        OpenDay {
            day,
            targets: lanes(frame.targets.len()),
            metadata: lanes(frame.metadata.len()),
            processors: lanes(frame.servers.len()),
            loads: vec![None; frame.servers.len()],
        }
    }

    /// Takes samples. Returns what they came to where they are bytes of a target, with its place and direction.
    pub fn take(&mut self, frame: &Frame, batch: &Batch<'_>) -> Option<(usize, usize, Taken)> {
        let series = batch.series;
        let number = frame.place(&series.component)?;
        let place = place(series.component.kind, series.measure)?;
        let lanes = match place {
            Place::Target(direction) => &mut self.targets[direction],
            Place::Metadata(direction) => &mut self.metadata[direction],
            Place::Processor(which) => &mut self.processors[which],
            Place::Load => &mut self.loads,
        };
        let lane = lanes.get_mut(number)?.get_or_insert_default();
        if series.measure.form() == Form::Level {
            lane.take_levels(self.day, batch);
            return None;
        }
        let taken = lane.take(self.day, batch);
        match place {
            Place::Target(direction) => Some((number, direction, taken)),
            _ => None,
        }
    }

    /// Returns what each lane has of the day before.
    pub fn back(&self) -> Vec<(u64, u32)> {
        let lists = self.targets.iter().chain(&self.metadata).chain(&self.processors);
        lists.flatten().map(|lane| lane.as_ref().map_or((0, 0), Lane::back)).collect()
    }

    /// Adds what the next day has of this one.
    pub fn reach_back(&mut self, back: &[(u64, u32)]) {
        let lists = self.targets.iter_mut().chain(&mut self.metadata).chain(&mut self.processors);
        for (lane, back) in lists.flatten().zip(back) {
            if back.1 > 0 {
                lane.get_or_insert_default().reach_back(*back);
            }
        }
    }
}

fn place(kind: ComponentKind, measure: Measure) -> Option<Place> {
    Some(match measure {
        Measure::ReadBytes if kind.is_data_target() => Place::Target(0),
        Measure::WrittenBytes if kind.is_data_target() => Place::Target(1),
        Measure::Opens if kind == ComponentKind::Mdt => Place::Metadata(0),
        Measure::Closes if kind == ComponentKind::Mdt => Place::Metadata(1),
        Measure::CpuBusyTime if kind == ComponentKind::Server => Place::Processor(0),
        Measure::CpuTime if kind == ComponentKind::Server => Place::Processor(1),
        Measure::CpuLoad if kind == ComponentKind::Server => Place::Load,
        _ => return None,
    })
}
