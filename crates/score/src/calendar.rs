//! Scores by hour of day and by weekday (Xie 5.6).

use crate::Columns;
use crate::columns::InstanceRow;
use crate::distribution::Distribution;
use crate::relative::Fastest;

/// Names of days, Monday first.
pub const WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// Hour of the day, 0 to 23, of a moment in nanoseconds since 1970, so many seconds east of UTC.
pub fn hour(nanos: u64, utc_offset: i32) -> usize {
    (local_seconds(nanos, utc_offset).rem_euclid(86_400) / 3600) as usize
}

/// Day of the week, Monday is 0.
pub fn weekday(nanos: u64, utc_offset: i32) -> usize {
    // 1970-01-01 was a Thursday.
    (local_seconds(nanos, utc_offset).div_euclid(86_400) + 3).rem_euclid(7) as usize
}

fn local_seconds(nanos: u64, utc_offset: i32) -> i64 {
    (nanos / 1_000_000_000) as i64 + i64::from(utc_offset)
}

/// PEB of all pairs, by when their instance began. A missing hour has no distribution.
#[derive(Debug, Clone, PartialEq)]
pub struct Calendar {
    /// By hour, 24 of them.
    pub hours: Vec<Option<Distribution>>,
    /// By weekday, Monday first.
    pub weekdays: Vec<Option<Distribution>>,
    /// Of all pairs.
    pub all: Option<Distribution>,
}

/// The calendar of the instances that `included` lets through.
pub fn calendar(
    columns: &Columns,
    fastest: &Fastest,
    utc_offset: i32,
    included: impl Fn(&InstanceRow) -> bool,
) -> Calendar {
    let mut hours = vec![Vec::new(); 24];
    let mut weekdays = vec![Vec::new(); 7];
    let mut all = Vec::new();
    for instance in columns.instances().iter().filter(|it| included(it)) {
        if !columns.has_scores(instance) {
            continue;
        }
        let pebs = columns.pairs(instance).iter().filter_map(|pair| fastest.peb(instance, pair));
        for peb in pebs {
            hours[hour(instance.start, utc_offset)].push(peb);
            weekdays[weekday(instance.start, utc_offset)].push(peb);
            all.push(peb);
        }
    }
    Calendar {
        hours: hours.into_iter().map(Distribution::new).collect(),
        weekdays: weekdays.into_iter().map(Distribution::new).collect(),
        all: Distribution::new(all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_that_are_known() {
        let second = 1_000_000_000;
        assert_eq!((hour(0, 0), weekday(0, 0)), (0, 3));
        // 2026-01-31 23:30:00 UTC was a Saturday; two hours east it was Sunday 01:30.
        let moment = 1_769_902_200 * second;
        assert_eq!((hour(moment, 0), WEEKDAYS[weekday(moment, 0)]), (23, "Saturday"));
        assert_eq!((hour(moment, 7200), WEEKDAYS[weekday(moment, 7200)]), (1, "Sunday"));
        assert_eq!((hour(0, -3600), WEEKDAYS[weekday(0, -3600)]), (23, "Wednesday"));
    }
}
