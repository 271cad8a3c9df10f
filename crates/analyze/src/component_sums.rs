//! Sums of single targets and servers.

use plimsoll_history::Day;
use plimsoll_stored::stored;

use crate::open_day::BOTH;
use crate::pairs::LagSums;

/// Sums of one target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TargetSums {
    /// Minutes that are known, of reads and of writes.
    pub known: [u64; BOTH],
    /// The greatest minute.
    pub most: [u64; BOTH],
    /// Bytes of minutes that were dropped.
    pub dropped: [u128; BOTH],
    /// Reads with reads, writes with writes, reads with writes.
    pub lags: [LagSums; 3],
    /// By number of the hour ([`crate::Zone::hour_number`]), in their order.
    pub hours: Vec<(u32, HourSums)>,
}

/// What a target did in an hour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HourSums {
    /// Bytes read and written in minutes that are known,
    pub bytes: [u64; BOTH],
    /// and how many these are.
    pub known: [u8; BOTH],
}

/// Sums of one server, in millionths of its processors' time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerSums {
    /// Minutes that are known.
    pub known: u64,
    /// Their sum,
    pub sum: u128,
    /// and the greatest.
    pub most: u64,
    /// With itself.
    pub lags: LagSums,
    /// Days of which anything is known, in their order.
    pub days: Vec<ServerDay>,
}

/// A day of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerDay {
    /// Which one.
    pub day: Day,
    /// Minutes that are known,
    pub known: u64,
    /// and their sum.
    pub sum: u64,
}

stored! {
    TargetSums { known, most, dropped, lags, hours }
    HourSums { bytes, known }
    ServerSums { known, sum, most, lags, days }
    ServerDay { day, known, sum }
}

impl TargetSums {
    /// Adds those of later days.
    pub(crate) fn plus(&mut self, more: TargetSums) {
        for direction in 0..BOTH {
            self.known[direction] = self.known[direction].saturating_add(more.known[direction]);
            self.most[direction] = self.most[direction].max(more.most[direction]);
            self.dropped[direction] =
                self.dropped[direction].saturating_add(more.dropped[direction]);
        }
        self.plus_lags(&more.lags);
        let mut hours = more.hours.iter();
        // Hours of some time zones go over midnight in UTC.
        if let (Some(last), Some(first)) = (self.hours.last_mut(), more.hours.first())
            && last.0 == first.0
        {
            last.1.plus(&first.1);
            hours.next();
        }
        self.hours.extend(hours);
    }

    /// Adds pairs.
    pub(crate) fn plus_lags(&mut self, more: &[LagSums; 3]) {
        self.lags.iter_mut().zip(more).for_each(|(own, more)| own.plus(more));
    }
}

impl ServerSums {
    /// Adds those of later days.
    pub(crate) fn plus(&mut self, more: ServerSums) {
        self.known = self.known.saturating_add(more.known);
        self.sum = self.sum.saturating_add(more.sum);
        self.most = self.most.max(more.most);
        self.lags.plus(&more.lags);
        self.days.extend(more.days);
    }
}

impl HourSums {
    /// Adds what another one has.
    pub fn plus(&mut self, other: &HourSums) {
        for direction in 0..BOTH {
            self.bytes[direction] = self.bytes[direction].saturating_add(other.bytes[direction]);
            self.known[direction] = self.known[direction].saturating_add(other.known[direction]);
        }
    }
}
