//! What was added up of some days, and how such parts become one.

use std::collections::BTreeMap;

use plimsoll_history::Day;
use plimsoll_stored::{Malformed, Reader, Stored};

use crate::closing::close;
use crate::lane::Taken;
use crate::open_day::{BOTH, Back, OpenDay};
use crate::stretch::Stretch;
use crate::{Frame, Whole};

/// What was added up of some days that follow each other.
///
/// [`Partial::join`] is associative and exact, so that days can be divided among threads, processes and machines in any way, and the result is the same to the last
/// bit. The last day stays open until its next one is known: samples of the next day may reach back into its last minute.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Partial {
    stretch: Stretch,
    /// What the first day has of the day before it.
    back: Option<(Day, Back)>,
    open: Option<OpenDay>,
    /// By target: what all samples came to, of reads and of writes.
    counted: BTreeMap<u32, [Taken; BOTH]>,
}

impl Partial {
    /// Returns a part of one day.
    pub(crate) fn of_day(open: OpenDay, counted: BTreeMap<u32, [Taken; BOTH]>) -> Self {
        let back = Some((open.day, open.back()));
        Partial { stretch: Stretch::default(), back, open: Some(open), counted }
    }

    /// Returns these days and those of a later part.
    #[must_use]
    pub fn join(mut self, next: Partial, frame: &Frame) -> Self {
        for (target, more) in &next.counted {
            let own = self.counted.entry(*target).or_default();
            own.iter_mut().zip(more).for_each(|(own, more)| own.plus(more));
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
        Whole::of(self.stretch.join(last), self.counted, frame)
    }

    /// Returns its days, in their order.
    fn days(&self) -> impl Iterator<Item = Day> {
        self.stretch.days.iter().map(|it| it.day).chain(self.open.as_ref().map(|it| it.day))
    }

    /// Returns whether it is of these days, and of components that the frame has, so that it can be joined.
    pub(crate) fn is_of(&self, days: &[Day], frame: &Frame) -> bool {
        let edges = self.stretch.edges.as_deref();
        let has_edges = edges.map(|it| (it.first.day, it.last.day));
        let expected = days.first().zip(days.iter().rev().nth(1)).map(|(one, last)| (*one, *last));
        let is_below = |number: Option<&u32>, count: usize| {
            number.is_none_or(|it| usize::try_from(*it).is_ok_and(|it| it < count))
        };
        let lists = [&edges.map(|it| &it.first), &edges.map(|it| &it.last)];
        let of_edges = lists.into_iter().flatten().all(|it| {
            is_below(it.targets.keys().last(), frame.targets.len())
                && is_below(it.servers.keys().last(), frame.servers.len())
        });
        self.days().eq(days.iter().copied())
            && self.back.as_ref().map(|it| &it.0) == days.first()
            && has_edges == expected
            && of_edges
            && is_below(self.stretch.targets.keys().last(), frame.targets.len())
            && is_below(self.stretch.servers.keys().last(), frame.servers.len())
            && is_below(self.counted.keys().last(), frame.targets.len())
            && self.lane_keys().all(|key| frame.has(key))
    }

    fn lane_keys(&self) -> impl Iterator<Item = crate::lane_key::LaneKey> {
        let of_open = self.open.iter().flat_map(|it| it.lanes.keys());
        let of_back = self.back.iter().flat_map(|it| it.1.iter().map(|it| &it.0));
        of_open.chain(of_back).copied()
    }
}

impl Stored for Partial {
    fn put(&self, out: &mut Vec<u8>) {
        let Partial { stretch, back, open, counted } = self;
        stretch.put(out);
        back.is_some().put(out);
        if let Some((day, back)) = back {
            day.put(out);
            back.put(out);
        }
        open.is_some().put(out);
        if let Some(open) = open {
            open.day.put(out);
            open.lanes.put(out);
        }
        counted.put(out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let stretch = Stored::get(from)?;
        let back = match bool::get(from)? {
            true => Some((Stored::get(from)?, Back::get(from)?)),
            false => None,
        };
        let open = match bool::get(from)? {
            true => Some(OpenDay { day: Stored::get(from)?, lanes: Stored::get(from)? }),
            false => None,
        };
        Ok(Partial { stretch, back, open, counted: Stored::get(from)? })
    }
}
