//! All targets together, minute by minute, with outages set apart.

use plimsoll_history::Day;

use crate::closing::is_enough;
use crate::day_summary::{DaySummary, SystemMinute};
use crate::lane::{DAY_MINUTES, MINUTE_MILLIS};
use crate::open_day::BOTH;
use crate::outage::outages;

/// Gaps of more days are shortened, by a multiple of this: as many as whole windows of all widths fit in, so that windows stay where they are.
const GAP_DAYS: u64 = 5;

/// All targets together over time.
#[derive(Debug, Clone)]
pub struct Timeline {
    /// Bytes read and written in each minute; nothing where that is not known, or in an outage.
    pub bytes: [Vec<Option<u64>>; BOTH],
    /// Files opened and closed.
    pub metadata: [Vec<Option<u64>>; BOTH],
    /// Times without any activity or knowledge.
    pub outages: Vec<Outage>,
    /// Minutes between the first and the last that anything is known of.
    pub observed: u64,
    /// Those of which too little is known, outages apart.
    pub missing: u64,
    /// Those in which some target is missing, but enough are known.
    pub incomplete: u64,
    /// Place of the first minute of each day, and which minute since 1970 this is.
    days: Vec<(usize, u64)>,
    /// Place of the first minute that something is known of.
    first: usize,
}

/// A time in which nothing is known of any target, or nothing at all happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// Its first minute since 1970.
    pub start: u64,
    /// How many minutes it has.
    pub minutes: u64,
    /// Those in which counters are known, and did not move.
    pub flat: u64,
}

impl Timeline {
    /// Puts days behind each other.
    pub fn of(summaries: &[DaySummary]) -> Self {
        let mut line = Timeline {
            bytes: Default::default(),
            metadata: Default::default(),
            outages: Vec::new(),
            observed: 0,
            missing: 0,
            incomplete: 0,
            days: Vec::new(),
            first: 0,
        };
        let (mut quiet, mut known): (Vec<bool>, Vec<bool>) = (Vec::new(), Vec::new());
        let mut next: Option<u64> = None;
        for summary in summaries {
            let start = summary.day.start() / MINUTE_MILLIS;
            let gap = gap_days(next.unwrap_or(start), start);
            line.skip(gap as usize * DAY_MINUTES);
            quiet.resize(line.len(), true);
            known.resize(line.len(), false);
            line.days.push((line.len(), start));
            summary.each_minute(|minute| {
                line.push(minute, summary.targets);
                quiet.push(minute.is_quiet());
                known.push(minute.known != [0; BOTH]);
            });
            next = Some(start + DAY_MINUTES as u64);
        }
        line.cut(&mut quiet, &known);
        line
    }

    fn push(&mut self, minute: &SystemMinute, targets: u32) {
        for direction in 0..BOTH {
            let is_known = is_enough(minute.known[direction].into(), targets.into());
            self.bytes[direction].push(is_known.then_some(minute.bytes[direction]));
            self.metadata[direction].push(minute.metadata[direction]);
        }
        let is_any = |it: u32| it > 0 && it < targets;
        self.incomplete += u64::from(minute.known.into_iter().any(is_any));
    }

    fn skip(&mut self, minutes: usize) {
        let length = self.len() + minutes;
        self.bytes.iter_mut().chain(&mut self.metadata).for_each(|it| it.resize(length, None));
    }

    /// Sets outages apart between the first and the last minute of which anything is known.
    fn cut(&mut self, quiet: &mut [bool], known: &[bool]) {
        let bounds = known.iter().position(|it| *it).zip(known.iter().rposition(|it| *it));
        let Some((first, last)) = bounds else { return };
        self.first = first;
        self.observed = self.minute(last) + 1 - self.minute(first);
        quiet[..first].fill(false);
        quiet[last + 1..].fill(false);
        let mut found = Vec::new();
        outages(quiet, |range| found.push(range));
        let mut out_of_order = 0;
        for range in found {
            let start = self.minute(range.start);
            let minutes = self.minute(range.end - 1) + 1 - start;
            let flat = known[range.clone()].iter().filter(|it| **it).count() as u64;
            self.outages.push(Outage { start, minutes, flat });
            out_of_order += minutes;
            for series in self.bytes.iter_mut().chain(&mut self.metadata) {
                series[range.clone()].fill(None);
            }
        }
        let missing = self.bytes[0].iter().zip(&self.bytes[1]);
        let is_missing = |it: &(&Option<u64>, &Option<u64>)| it.0.is_none() && it.1.is_none();
        let known = missing.filter(|it| !is_missing(it)).count() as u64;
        self.missing = self.observed.saturating_sub(known + out_of_order);
    }

    /// Returns how many places there are.
    pub fn len(&self) -> usize {
        self.bytes[0].len()
    }

    /// Returns whether there are no minutes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns which minute since 1970 is at a place.
    pub fn minute(&self, place: usize) -> u64 {
        let after = self.days.partition_point(|day| day.0 <= place);
        let (start, minute) = self.days[after.saturating_sub(1)];
        minute + (place - start) as u64
    }

    /// Returns the places of each day, with its first minute since 1970.
    pub fn days(&self) -> impl Iterator<Item = (std::ops::Range<usize>, u64)> {
        self.days.iter().map(|(place, minute)| (*place..*place + DAY_MINUTES, *minute))
    }

    /// Returns the first minute since 1970 that anything is known of.
    pub fn first_minute(&self) -> Option<u64> {
        (self.observed > 0).then(|| self.minute(self.first))
    }

    /// Returns a series in wider windows, counted from 1970 on; one with a missing minute is missing.
    pub fn windows(&self, series: &[Option<u64>], width: usize) -> Vec<Option<u64>> {
        let Some((_, first)) = self.days.first() else { return Vec::new() };
        let into = (first % width as u64) as usize;
        let skipped = if into == 0 { 0 } else { (width - into).min(series.len()) };
        series[skipped..].chunks_exact(width).map(|some| some.iter().copied().sum()).collect()
    }
}

/// Returns how many days are left out between two minutes at which days end and begin.
fn gap_days(end: u64, start: u64) -> u64 {
    let days = start.saturating_sub(end) / DAY_MINUTES as u64;
    if days <= 2 * GAP_DAYS { days } else { GAP_DAYS + days % GAP_DAYS }
}

/// Returns how many days there are from the first to the last, long gaps shortened.
pub(crate) fn days_with_gaps(days: impl Iterator<Item = Day>) -> u64 {
    let (mut count, mut next) = (0, None);
    for day in days {
        let start = day.start() / MINUTE_MILLIS;
        count += 1 + gap_days(next.unwrap_or(start), start);
        next = Some(start + DAY_MINUTES as u64);
    }
    count
}
