//! Hours of the day and days of the week (Patel, section 4).

use std::collections::BTreeMap;

use plimsoll_stats::distribution::normal_quantile;

use crate::Zone;
use crate::by_days::{ByDays, Estimate};
use crate::closing::is_enough;
use crate::open_day::BOTH;
use crate::timeline::Timeline;

/// Totals by hour of the day and by day of the week.
#[derive(Debug, Clone)]
pub struct Times {
    /// 24 of them, of reads and of writes.
    pub hours: Vec<[Recurring; BOTH]>,
    /// Monday first.
    pub weekdays: Vec<[Recurring; BOTH]>,
}

/// The same hour or day, again and again.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Recurring {
    /// How many of them are known.
    pub count: usize,
    /// Bytes.
    pub mean: Option<Estimate>,
    /// Standard deviation over mean.
    pub cov: Option<Estimate>,
}

/// Returns which of them has most and which least, by their means, if that is no chance: the intervals of the two, wide enough for all of them at once
/// (Bonferroni), lie apart.
pub fn apart(all: &[[Recurring; BOTH]], direction: usize) -> Option<(usize, usize)> {
    let one = normal_quantile(1.0 - 0.025);
    let widening = normal_quantile(1.0 - 0.025 / all.len().max(1) as f64) / one;
    let ends = |it: &[Recurring; BOTH]| {
        let mean = it[direction].mean?;
        let widen = |end: f64| mean.value + (end - mean.value) * widening;
        Some((mean.value, widen(mean.interval?.low), widen(mean.interval?.high)))
    };
    let ends: Option<Vec<(f64, f64, f64)>> = all.iter().map(ends).collect();
    let by_mean = |one: &(usize, (f64, f64, f64)), other: &(usize, (f64, f64, f64))| {
        one.1.0.total_cmp(&other.1.0)
    };
    let ends: Vec<(usize, (f64, f64, f64))> = ends?.into_iter().enumerate().collect();
    let most = ends.iter().copied().max_by(by_mean)?;
    let least = ends.iter().copied().min_by(by_mean)?;
    (most.1.1 > least.1.2).then_some((most.0, least.0))
}

/// What is known of an hour or a day: sums, minutes that are known, minutes that it has.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Period {
    pub bytes: [u64; BOTH],
    pub known: [u64; BOTH],
    pub minutes: u64,
}

impl Period {
    /// Returns the total of an hour or day of which enough is known; what is missing is taken to be as the rest.
    pub fn total(&self, direction: usize) -> Option<f64> {
        let known = self.known[direction];
        is_enough(known, self.minutes)
            .then(|| self.bytes[direction] as f64 * (self.minutes as f64 / known as f64))
    }
}

impl Times {
    /// Adds up hours and days.
    pub fn of(zone: &Zone, line: &Timeline, drawn: &ByDays) -> Self {
        let hours = hours(zone, line);
        let by_hour = hours
            .iter()
            .map(|(number, period)| (zone.local(zone.minute_of_hour(*number)).hour(), *period));
        let by_day = days(zone, &hours);
        let by_weekday = by_day.iter().map(|(day, period)| ((*day as usize + 3) % 7, *period));
        Times { hours: recurring(24, by_hour, drawn), weekdays: recurring(7, by_weekday, drawn) }
    }
}

/// Returns hours by number.
pub(crate) fn hours(zone: &Zone, line: &Timeline) -> BTreeMap<u32, Period> {
    let mut hours: BTreeMap<u32, Period> = BTreeMap::new();
    for (places, first) in line.days() {
        // Clocks are put forward and back at full quarters of hours.
        for (quarter, minute) in places.step_by(15).zip((first..).step_by(15)) {
            let period = hours.entry(zone.hour_number(minute)).or_default();
            period.minutes = 60;
            for direction in 0..BOTH {
                for bytes in line.bytes[direction][quarter..quarter + 15].iter().flatten() {
                    period.bytes[direction] = period.bytes[direction].saturating_add(*bytes);
                    period.known[direction] += 1;
                }
            }
        }
    }
    hours
}

/// Returns days on the wall by number since 1970.
pub(crate) fn days(zone: &Zone, hours: &BTreeMap<u32, Period>) -> BTreeMap<u32, Period> {
    let mut days: BTreeMap<u32, Period> = BTreeMap::new();
    for (number, hour) in hours {
        let minute = zone.minute_of_hour(*number);
        let day = days.entry(zone.local(minute).day()).or_insert_with(|| Period {
            minutes: minutes_of_day(zone, minute),
            ..Period::default()
        });
        for direction in 0..BOTH {
            day.bytes[direction] = day.bytes[direction].saturating_add(hour.bytes[direction]);
            day.known[direction] += hour.known[direction];
        }
    }
    days
}

/// Returns how long the day of a minute is: an hour less or more where clocks are put forward or back.
fn minutes_of_day(zone: &Zone, minute: u64) -> u64 {
    let day = zone.local(minute).day();
    let is_of_it = |hour: i64| zone.local(minute.saturating_add_signed(hour * 60)).day() == day;
    (-25..=25).filter(|hour| is_of_it(*hour)).count() as u64 * 60
}

fn recurring(
    count: usize,
    periods: impl Iterator<Item = (usize, Period)>,
    drawn: &ByDays,
) -> Vec<[Recurring; BOTH]> {
    let mut totals: Vec<[Vec<f64>; BOTH]> = vec![Default::default(); count];
    for (place, period) in periods {
        for (direction, totals) in totals[place].iter_mut().enumerate() {
            totals.extend(period.total(direction));
        }
    }
    // Hours of the day are there about as often as each other, and days of the week as well.
    let mut last = drawn.for_days(0).into_owned();
    let mut of = |values: Vec<f64>| {
        if values.is_empty() {
            return Recurring::default();
        }
        if last.days() != values.len() {
            last = drawn.for_days(values.len()).into_owned();
        }
        Recurring { count: values.len(), mean: last.mean(&values), cov: last.cov(&values) }
    };
    totals.into_iter().map(|both| both.map(&mut of)).collect()
}
