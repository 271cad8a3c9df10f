//! Hours of the day and days of the week (Patel, section 4).

use std::collections::BTreeMap;

use plimsoll_stats::distribution::normal_quantile;

use crate::Zone;
use crate::by_days::{ByDays, Estimate, Interval};
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

/// Hours of the day, or days of the week, that have more or less than others by more than chance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outstanding {
    /// The one that has most,
    pub most: Option<usize>,
    /// and the one that has least.
    pub least: Option<usize>,
}

impl Outstanding {
    /// Tells them by their means and intervals, wide enough for all of them at once (Bonferroni). That of the most, or of the least, lies apart from that of the middle one; where neither does,
    /// but they lie apart from each other, both are told.
    pub fn of(all: &[[Recurring; BOTH]], direction: usize) -> Self {
        let one = normal_quantile(1.0 - 0.025);
        let widening = normal_quantile(1.0 - 0.025 / all.len().max(1) as f64) / one;
        let wide = |it: &[Recurring; BOTH]| {
            let mean = it[direction].mean?;
            let widen = |end: f64| mean.value + (end - mean.value) * widening;
            let Interval { low, high } = mean.interval?;
            Some((mean.value, Interval { low: widen(low), high: widen(high) }))
        };
        let known: Option<Vec<(f64, Interval)>> = all.iter().map(wide).collect();
        let mut order: Vec<(usize, (f64, Interval))> =
            known.unwrap_or_default().into_iter().enumerate().collect();
        order.sort_by(|one, other| one.1.0.total_cmp(&other.1.0));
        let (Some((least, (_, lowest))), Some((most, (_, highest)))) =
            (order.first(), order.last())
        else {
            return Outstanding::default();
        };
        let (_, middle) = order[order.len() / 2].1;
        let (is_most, is_least) = (highest.low > middle.high, lowest.high < middle.low);
        let are_both = !is_most && !is_least && highest.low > lowest.high;
        Outstanding {
            most: (is_most || are_both).then_some(*most),
            least: (is_least || are_both).then_some(*least),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Hours with such means, each known to within one.
    fn hours(means: &[f64]) -> Vec<[Recurring; BOTH]> {
        let of = |value: f64| {
            let interval = Some(Interval { low: value - 1.0, high: value + 1.0 });
            [Recurring { count: 9, mean: Some(Estimate { value, interval }), cov: None }; BOTH]
        };
        means.iter().map(|it| of(*it)).collect()
    }

    #[test]
    fn who_has_most_is_told_and_not_who_has_least_by_chance() {
        let of = |means: &[f64]| {
            let found = Outstanding::of(&hours(means), 0);
            (found.most, found.least)
        };
        assert_eq!(of(&[10.0, 40.0, 11.0, 10.5]), (Some(1), None));
        assert_eq!(of(&[10.0, 2.0, 11.0, 10.5]), (None, Some(1)));
        assert_eq!(of(&[10.0, 10.5, 11.0]), (None, None));
        // A slope: neither end lies apart from the middle.
        assert_eq!(of(&[10.0, 12.0, 14.0]), (Some(2), Some(0)));
        assert_eq!(of(&[]), (None, None));
    }
}
