//! What was added up of some days, and how such parts become one.

use plimsoll_history::Day;

use crate::Frame;
use crate::closing::close;
use crate::lane::Taken;
use crate::open_day::{BOTH, OpenDay};
use crate::stretch::Stretch;

/// What was added up of some days that follow each other.
///
/// [`Partial::join`] is associative and exact, so that days can be divided among threads, processes and machines in any way, and the result is the same to the last
/// bit. The last day stays open until its next one is known: samples of the next day may reach back into its last minute.
#[derive(Debug, Clone)]
pub struct Partial {
    stretch: Stretch,
    /// What the first day has of the day before it.
    back: Option<(Day, Vec<(u64, u32)>)>,
    open: Option<OpenDay>,
    /// By target: what all samples came to, of reads and of writes.
    counted: Vec<[Taken; BOTH]>,
}

/// A part that is whole: its last day is closed, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whole {
    /// All days.
    pub stretch: Stretch,
    /// By target: what all samples came to, of reads and of writes.
    pub counted: Vec<[Taken; BOTH]>,
}

impl Whole {
    /// Returns what a target read and wrote: all that was counted, without what was dropped.
    pub fn bytes(&self, target: usize) -> [u128; BOTH] {
        let dropped = self.stretch.targets.get(target).map_or([0; BOTH], |it| it.dropped);
        [0, 1].map(|direction: usize| {
            self.counted[target][direction].total.saturating_sub(dropped[direction])
        })
    }
}

impl Partial {
    /// Returns a part without days.
    pub fn none(frame: &Frame) -> Self {
        Partial {
            stretch: Stretch::default(),
            back: None,
            open: None,
            counted: vec![Default::default(); frame.targets.len()],
        }
    }

    /// Returns a part of one day.
    pub(crate) fn of_day(open: OpenDay, counted: Vec<[Taken; BOTH]>) -> Self {
        let back = Some((open.day, open.back()));
        Partial { stretch: Stretch::default(), back, open: Some(open), counted }
    }

    /// Returns these days and those of a later part.
    #[must_use]
    pub fn join(mut self, next: Partial, frame: &Frame) -> Self {
        for (own, more) in self.counted.iter_mut().flatten().zip(next.counted.iter().flatten()) {
            own.plus(more);
        }
        let Some(mut open) = self.open.take() else {
            return Partial { counted: self.counted, ..next };
        };
        let Some((first, back)) = next.back else {
            return Partial { open: Some(open), ..self };
        };
        if open.day.end() == first.start() {
            open.reach_back(&back);
        }
        let stretch = self.stretch.join(close(&open, frame)).join(next.stretch);
        Partial { stretch, back: self.back, open: next.open, counted: self.counted }
    }

    /// Closes the last day.
    pub fn whole(self, frame: &Frame) -> Whole {
        let last = self.open.map(|open| close(&open, frame)).unwrap_or_default();
        Whole { stretch: self.stretch.join(last), counted: self.counted }
    }
}
