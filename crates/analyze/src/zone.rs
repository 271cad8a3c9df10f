//! Time zones: which hour and day a minute is of, where the clock on the wall is put forward and back.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// A time zone of the IANA's list.
#[derive(Debug, Clone, PartialEq)]
pub struct Zone {
    name: String,
    zone: TimeZone,
}

impl Zone {
    /// Returns the zone of that name: `Europe/Berlin`, `UTC`.
    pub fn named(name: &str) -> Option<Self> {
        let zone = TimeZone::get(name).ok()?;
        Some(Zone { name: name.to_string(), zone })
    }

    /// Returns the zone that nobody puts a clock forward in.
    pub fn utc() -> Self {
        Zone { name: "UTC".to_string(), zone: TimeZone::UTC }
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns by how many minutes clocks are ahead of UTC at a minute since 1970.
    pub fn offset_minutes(&self, minute: u64) -> i64 {
        let seconds = i64::try_from(minute.saturating_mul(60)).unwrap_or(i64::MAX);
        let moment = Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX);
        i64::from(self.zone.to_offset(moment).seconds()).div_euclid(60)
    }

    /// Returns when a month begins on the clocks, in milliseconds since 1970. None if there is no such month, or it began before 1970.
    pub fn begin_of_month(&self, year: i16, month: i8) -> Option<u64> {
        let midnight = Date::new(year, month, 1).ok()?.to_zoned(self.zone.clone()).ok()?;
        u64::try_from(midnight.timestamp().as_millisecond()).ok()
    }

    /// Returns what clocks on the wall show, in minutes since 1970.
    pub fn local(&self, minute: u64) -> LocalMinute {
        LocalMinute(minute.saturating_add_signed(self.offset_minutes(minute)))
    }

    /// Returns the number of the hour that a minute is in. Hours begin where clocks on the wall strike; one that is struck twice, when
    /// clocks are put back, is two.
    pub fn hour_number(&self, minute: u64) -> u32 {
        let past_the_hour = self.offset_minutes(minute).rem_euclid(60).cast_unsigned();
        u32::try_from(minute.saturating_add(past_the_hour) / 60).unwrap_or(u32::MAX)
    }

    /// Returns a minute of the hour with that number.
    pub fn minute_of_hour(&self, hour: u32) -> u64 {
        let minute = u64::from(hour) * 60;
        minute.saturating_sub(self.offset_minutes(minute).rem_euclid(60).cast_unsigned())
    }
}

/// What a clock on the wall shows, in minutes since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LocalMinute(u64);

impl LocalMinute {
    /// Returns the hour of the day.
    pub fn hour(self) -> usize {
        (self.0 / 60 % 24) as usize
    }

    /// Returns the number of the day since 1970.
    pub fn day(self) -> u32 {
        u32::try_from(self.0 / 1440).unwrap_or(u32::MAX)
    }

    /// Returns the day of the week, Monday is 0.
    pub fn weekday(self) -> usize {
        // 1970-01-01 was a Thursday.
        ((self.0 / 1440 + 3) % 7) as usize
    }

    /// Returns the number of the week since 1970. Weeks begin on Monday.
    pub fn week(self) -> u32 {
        (self.day().saturating_add(3)) / 7
    }

    /// Returns year and month.
    pub fn month(self) -> (i16, i8) {
        let seconds = i64::try_from(self.0.saturating_mul(60)).unwrap_or(i64::MAX);
        let moment = Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX);
        let date = TimeZone::UTC.to_datetime(moment);
        (date.year(), date.month())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-03-29T00:00:00Z: clocks in Berlin go from 2:00 to 3:00 at 1:00 UTC.
    const SPRING: u64 = 1_774_742_400 / 60;
    /// 2026-10-25T00:00:00Z: from 3:00 back to 2:00 at 1:00 UTC.
    const AUTUMN: u64 = 1_792_886_400 / 60;

    #[test]
    fn an_hour_is_left_out_in_spring_and_comes_twice_in_autumn() {
        let berlin = Zone::named("Europe/Berlin").unwrap();
        let hours = |start: u64| -> Vec<usize> {
            (0..4).map(|hour| berlin.local(start + hour * 60).hour()).collect()
        };
        assert_eq!(hours(SPRING), [1, 3, 4, 5]);
        assert_eq!(hours(AUTUMN), [2, 2, 3, 4]);
        let numbers: Vec<u32> = (0..4)
            .map(|hour| berlin.hour_number(AUTUMN + hour * 60) - berlin.hour_number(AUTUMN))
            .collect();
        assert_eq!(numbers, [0, 1, 2, 3], "two hours that are struck alike are two");
    }

    #[test]
    fn hours_begin_where_clocks_strike() {
        let kolkata = Zone::named("Asia/Kolkata").unwrap();
        let one = kolkata.hour_number(SPRING + 29);
        assert_eq!(kolkata.hour_number(SPRING + 30), one + 1);
        assert_eq!(kolkata.local(kolkata.minute_of_hour(one)).hour(), 5);
        assert_eq!(kolkata.hour_number(kolkata.minute_of_hour(one)), one);
    }

    #[test]
    fn a_month_begins_before_clocks_are_put_forward_on_its_first_day() {
        let sydney = Zone::named("Australia/Sydney").unwrap();
        // 2023-09-30T14:00Z: clocks go from 2:00 to 3:00 two hours later.
        assert_eq!(sydney.begin_of_month(2023, 10), Some(1_696_082_400_000));
        assert_eq!(sydney.begin_of_month(2023, 13), None);
        assert_eq!(Zone::utc().begin_of_month(1969, 12), None);
    }

    #[test]
    fn leap_days_weeks_and_months_are_those_of_the_calendar() {
        let utc = Zone::utc();
        // 2024-02-29T23:59Z, a Thursday, and the minute after it.
        let leap = utc.local(1_709_251_140 / 60);
        assert_eq!((leap.month(), leap.weekday(), leap.hour()), ((2024, 2), 3, 23));
        let next = utc.local(1_709_251_200 / 60);
        assert_eq!((next.month(), next.weekday(), next.day()), ((2024, 3), 4, leap.day() + 1));
        let monday = utc.local(1_709_251_200 / 60 + 3 * 1440);
        assert_eq!((monday.weekday(), monday.week()), (0, leap.week() + 1));
        assert_eq!(Zone::named("Middle/Earth"), None);
    }
}
