//! Samples of one series of a day, put into minutes.

use plimsoll_history::{Batch, Day, GAP_MILLIS, spread};
use plimsoll_stored::{Malformed, Reader, Stored, get_sparse, put_sparse, stored};

/// Milliseconds of a minute.
pub const MINUTE_MILLIS: u64 = 60_000;
/// Minutes of a day.
pub const DAY_MINUTES: usize = 1440;

/// A minute is known if so much of it is: ten of twelve samples at 5 s.
pub const LEAST_MILLIS: u32 = 50_000;

/// Bytes or operations of a minute beyond which a number is taken for wrong, with or without a limit: 18 TB/s of one target. It
/// also keeps sums of products exact.
pub const IMPOSSIBLE: u64 = 1 << 50;

/// What was counted in the minutes of a day, and in the last one of the day before, which samples may reach back to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lane {
    /// By hour; nothing of an hour without samples, as there may be a hundred thousand lanes that have one sample each.
    hours: Vec<Option<Box<Hour>>>,
}

const HOUR_MINUTES: usize = 60;

/// The minutes of an hour, from the one before it to its last but one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Hour([LaneMinute; HOUR_MINUTES]);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct LaneMinute {
    value: u64,
    /// Milliseconds that are known; of levels, how many samples there are.
    covered: u32,
}

/// What samples of a lane came to, whatever minute they are in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Taken {
    /// Samples.
    pub samples: u64,
    /// What was counted.
    pub total: u128,
    /// Samples over more than a minute,
    pub gaps: u64,
    /// and what was counted in them: nobody knows when.
    pub unplaced: u128,
}

stored! { Taken { samples, total, gaps, unplaced } }

/// Most minutes of a day that has samples have the same known part.
impl Stored for Lane {
    fn put(&self, out: &mut Vec<u8>) {
        let all = || (0..=DAY_MINUTES).map(|place| self.at(place));
        put_sparse(&all().map(|it| it.value).collect::<Vec<_>>(), out);
        put_sparse(&all().map(|it| it.covered).collect::<Vec<_>>(), out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let values: Vec<u64> = get_sparse(from, DAY_MINUTES + 1)?;
        let covered: Vec<u32> = get_sparse(from, DAY_MINUTES + 1)?;
        let mut lane = Lane::default();
        for (place, (value, covered)) in values.into_iter().zip(covered).enumerate() {
            lane.add(place, value, covered.into());
        }
        Ok(lane)
    }
}

impl Taken {
    /// Adds what another one has.
    pub fn plus(&mut self, other: &Taken) {
        self.samples = self.samples.saturating_add(other.samples);
        self.total = self.total.saturating_add(other.total);
        self.gaps = self.gaps.saturating_add(other.gaps);
        self.unplaced = self.unplaced.saturating_add(other.unplaced);
    }
}

impl Lane {
    /// Takes samples of a counter that end on this day.
    pub fn take(&mut self, day: Day, batch: &Batch<'_>) -> Taken {
        let mut taken = Taken { samples: batch.ends.len() as u64, ..Taken::default() };
        let first = day.start() / MINUTE_MILLIS;
        // The minute that samples are in now: most are in the same one as the sample before.
        let (mut from, mut until, mut place) = (u64::MAX, 0, 0);
        let (mut value_here, mut covered_here) = (0u64, 0u64);
        for ((end, length), value) in batch.ends.iter().zip(batch.lengths).zip(batch.values) {
            taken.total += u128::from(*value);
            let start = end.saturating_sub(*length);
            if start >= from && *end <= until && *length > 0 {
                value_here = value_here.saturating_add(*value);
                covered_here += length;
                continue;
            }
            self.add(place, value_here, covered_here);
            (value_here, covered_here, from, until) = (0, 0, u64::MAX, 0);
            if *length > GAP_MILLIS {
                taken.gaps += 1;
                taken.unplaced += u128::from(*value);
                continue;
            }
            spread(*end, *length, *value, MINUTE_MILLIS, |piece| {
                let here = (piece.window + 1).checked_sub(first);
                if let Some(here) = here.filter(|it| *it <= DAY_MINUTES as u64) {
                    self.add(here as usize, piece.value, piece.covered);
                    place = here as usize;
                    from = piece.window * MINUTE_MILLIS;
                    until = from.saturating_add(MINUTE_MILLIS);
                }
            });
        }
        self.add(place, value_here, covered_here);
        taken
    }

    /// Takes samples of a level: the mean of a minute is that of its samples.
    pub fn take_levels(&mut self, day: Day, batch: &Batch<'_>) {
        let first = day.start() / MINUTE_MILLIS;
        for (end, value) in batch.ends.iter().zip(batch.values) {
            let minute = end.saturating_sub(1) / MINUTE_MILLIS;
            if let Some(place) = (minute + 1).checked_sub(first) {
                self.add(usize::try_from(place).unwrap_or(usize::MAX), *value, 1);
            }
        }
    }

    fn add(&mut self, place: usize, value: u64, covered: u64) {
        if place > DAY_MINUTES || value == 0 && covered == 0 {
            return;
        }
        let (hour, minute) = (place / HOUR_MINUTES, place % HOUR_MINUTES);
        if self.hours.len() <= hour {
            self.hours.resize(hour + 1, None);
        }
        let empty = || Box::new(Hour([LaneMinute::default(); HOUR_MINUTES]));
        let minute = &mut self.hours[hour].get_or_insert_with(empty).0[minute];
        minute.value = minute.value.saturating_add(value);
        minute.covered = minute.covered.saturating_add(covered as u32);
    }

    /// Returns the minute at a place, of which the first is the last minute of the day before.
    fn at(&self, place: usize) -> LaneMinute {
        let hour = self.hours.get(place / HOUR_MINUTES).and_then(|it| it.as_deref());
        hour.map_or(LaneMinute::default(), |hour| hour.0[place % HOUR_MINUTES])
    }

    /// Returns what it has of the day before: value and what is known.
    pub fn back(&self) -> (u64, u32) {
        let LaneMinute { value, covered } = self.at(0);
        (value, covered)
    }

    /// Adds what the next day has of this one.
    pub fn reach_back(&mut self, (value, covered): (u64, u32)) {
        self.add(DAY_MINUTES, value, covered.into());
    }

    /// Returns what was counted in a minute of the day; nothing where too little of it is known. What is missing of the minute is taken to be as the rest.
    pub fn minute(&self, minute: usize) -> Option<u64> {
        let LaneMinute { value, covered } = self.at(minute + 1);
        if covered < LEAST_MILLIS {
            return None;
        }
        if u64::from(covered) >= MINUTE_MILLIS {
            return Some(value);
        }
        let scaled = u128::from(value) * u128::from(MINUTE_MILLIS) / u128::from(covered);
        Some(u64::try_from(scaled).unwrap_or(u64::MAX))
    }

    /// Returns what was counted in a minute of the day, however much of it is known.
    pub fn counted(&self, minute: usize) -> u64 {
        self.at(minute + 1).value
    }

    /// Returns whether something, but not enough, of a minute is known.
    pub fn is_partial(&self, minute: usize) -> bool {
        (1..LEAST_MILLIS).contains(&self.at(minute + 1).covered)
    }

    /// Returns the mean level of a minute.
    pub fn level(&self, minute: usize) -> Option<u64> {
        let LaneMinute { value: sum, covered: samples } = self.at(minute + 1);
        (samples > 0).then(|| sum / u64::from(samples))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_history::{Component, ComponentKind, Measure, Series};

    const DAY: u64 = 1_767_225_600_000;

    fn lane(rows: &[(u64, u64, u64)]) -> (Lane, Taken) {
        let component = Component::new(ComponentKind::Ost, "a");
        let series =
            Series { measure: Measure::ReadBytes, bin: 0, component, server: String::new() };
        let column = |of: fn(&(u64, u64, u64)) -> u64| rows.iter().map(of).collect::<Vec<_>>();
        let (ends, lengths, values) =
            (column(|it| DAY + it.0), column(|it| it.1), column(|it| it.2));
        let mut lane = Lane::default();
        let batch = Batch { series: &series, ends: &ends, lengths: &lengths, values: &values };
        let taken = lane.take(Day::ending_at(DAY + 1), &batch);
        (lane, taken)
    }

    #[test]
    fn samples_of_a_minute_add_up() {
        let rows: Vec<_> = (1..=12).map(|it| (it * 5_000, 5_000, 7)).collect();
        let (lane, taken) = lane(&rows);
        assert_eq!((lane.minute(0), lane.minute(1)), (Some(84), None));
        assert_eq!((taken.samples, taken.total, taken.gaps), (12, 84, 0));
    }

    #[test]
    fn ten_of_twelve_samples_are_scaled_and_nine_are_too_few() {
        let rows: Vec<_> = (1..=10).map(|it| (it * 5_000, 5_000, 6)).collect();
        let (ten, _) = lane(&rows);
        assert_eq!(ten.minute(0), Some(72));
        let (nine, taken) = lane(&rows[..9]);
        assert_eq!((nine.minute(0), nine.is_partial(0), taken.total), (None, true, 54));
    }

    #[test]
    fn samples_over_the_ends_of_minutes_are_shared_out() {
        let (lane, _) =
            lane(&[(30_000, 60_000, 60), (90_000, 60_000, 600), (150_000, 60_000, 6000)]);
        assert_eq!(
            (lane.back(), lane.minute(0), lane.minute(1)),
            ((30, 30_000), Some(330), Some(3300))
        );
        assert_eq!(lane.minute(2), None);
    }

    #[test]
    fn gaps_have_no_minute() {
        let (lane, taken) =
            lane(&[(60_000, 60_000, 5), (130_000, 70_000, 9), (180_000, 50_000, 5)]);
        assert_eq!((lane.minute(0), lane.minute(1), lane.minute(2)), (Some(5), None, Some(6)));
        assert_eq!((taken.gaps, taken.unplaced, taken.total), (1, 9, 19));
    }

    #[test]
    fn what_the_next_day_has_of_the_last_minute_is_added() {
        let (mut last, _) = lane(&[(86_398_000, 58_000, 58)]);
        assert_eq!(last.minute(1439), Some(60));
        last.reach_back((100, 2_000));
        assert_eq!(last.minute(1439), Some(158));
    }
}
