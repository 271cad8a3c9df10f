//! What a lane counts, and of which component.

use plimsoll_history::{ComponentKind, Measure};
use plimsoll_stored::{Malformed, Reader, Stored, stored};

/// What a lane counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counted {
    /// Bytes read and written of targets.
    Read,
    Written,
    /// Files opened and closed of targets of metadata.
    Opened,
    Closed,
    /// Time that processors were busy and that they had, of servers.
    Busy,
    Processors,
    /// Load of processors, where only this is known.
    Load,
}

impl Counted {
    const ALL: [Counted; 7] = [
        Counted::Read,
        Counted::Written,
        Counted::Opened,
        Counted::Closed,
        Counted::Busy,
        Counted::Processors,
        Counted::Load,
    ];

    /// Returns what a measure of such a component counts, if it is counted.
    pub fn of(kind: ComponentKind, measure: Measure) -> Option<Self> {
        Some(match measure {
            Measure::ReadBytes if kind.is_data_target() => Counted::Read,
            Measure::WrittenBytes if kind.is_data_target() => Counted::Written,
            Measure::Opens if kind == ComponentKind::Mdt => Counted::Opened,
            Measure::Closes if kind == ComponentKind::Mdt => Counted::Closed,
            Measure::CpuBusyTime if kind == ComponentKind::Server => Counted::Busy,
            Measure::CpuTime if kind == ComponentKind::Server => Counted::Processors,
            Measure::CpuLoad if kind == ComponentKind::Server => Counted::Load,
            _ => return None,
        })
    }

    /// Returns the direction of bytes of a target: 0 for reads, 1 for writes.
    pub fn direction(self) -> Option<usize> {
        match self {
            Counted::Read => Some(0),
            Counted::Written => Some(1),
            _ => None,
        }
    }
}

/// What a lane counts, and of which component: its place in the frame's list of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LaneKey {
    pub counted: Counted,
    pub number: u32,
}

impl Stored for Counted {
    fn put(&self, out: &mut Vec<u8>) {
        (*self as u8).put(out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        Counted::ALL.get(usize::get(from)?).copied().ok_or(Malformed)
    }
}

stored! { LaneKey { counted, number } }
