//! What is known of all targets together in the minutes of a day.

use plimsoll_history::Day;
use plimsoll_stored::{Malformed, Reader, Stored, stored};

use crate::clusters::MinuteDegrees;
use crate::lane::DAY_MINUTES;
use crate::open_day::BOTH;

/// What is known of all targets together in the minutes of a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaySummary {
    /// Which day.
    pub day: Day,
    /// Targets with samples of bytes.
    pub targets: u32,
    /// Those of its 1440 minutes that anything is known of, in their order.
    pub minutes: Vec<(u16, SystemMinute)>,
    /// Minutes of targets, reads and writes apart, of which something but not enough is known,
    pub partial: u64,
    /// and those that were dropped because they were over the limit, or impossible.
    pub over_limit: u64,
}

/// All targets in one minute.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SystemMinute {
    /// Bytes read and written by the targets that are known.
    pub bytes: [u64; BOTH],
    /// How many are known.
    pub known: [u32; BOTH],
    /// Files opened and closed, if that is known.
    pub metadata: [Option<u64>; BOTH],
    /// Clusters of 5 %.
    pub degrees: [MinuteDegrees; BOTH],
}

impl SystemMinute {
    /// Returns whether nothing is known, or nothing happened.
    pub fn is_quiet(&self) -> bool {
        self.bytes == [0; BOTH] && self.metadata.iter().all(|it| it.unwrap_or(0) == 0)
    }
}

impl DaySummary {
    /// Calls for all of its minutes, also those that nothing is known of.
    pub fn each_minute(&self, mut each: impl FnMut(&SystemMinute)) {
        let (nothing, mut known) = (SystemMinute::default(), self.minutes.iter().peekable());
        for place in 0..DAY_MINUTES {
            match known.next_if(|(minute, _)| usize::from(*minute) == place) {
                Some((_, minute)) => each(minute),
                None => each(&nothing),
            }
        }
    }
}

stored! { SystemMinute { bytes, known, metadata, degrees } }

impl Stored for DaySummary {
    fn put(&self, out: &mut Vec<u8>) {
        let DaySummary { day, targets, minutes, partial, over_limit } = self;
        day.put(out);
        targets.put(out);
        minutes.put(out);
        (*partial, *over_limit).put(out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let day = Stored::get(from)?;
        let (targets, minutes) = <(u32, Vec<(u16, SystemMinute)>)>::get(from)?;
        let is_in_order = minutes.is_sorted_by(|one, next| one.0 < next.0);
        let is_of_day = minutes.last().is_none_or(|it| usize::from(it.0) < DAY_MINUTES);
        if !is_in_order || !is_of_day {
            return Err(Malformed);
        }
        let (partial, over_limit) = Stored::get(from)?;
        Ok(DaySummary { day, targets, minutes, partial, over_limit })
    }
}
