//! Moments: nanoseconds since 1970 in UTC, as people and RFC 3339 write them.

/// Names of days, Monday first.
pub const WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// Returns the hour of the day, 0 to 23, of a moment in nanoseconds since 1970, this many seconds east of UTC.
pub fn hour(nanos: u64, utc_offset: i32) -> usize {
    (local_seconds(nanos, utc_offset).rem_euclid(86_400) / 3600) as usize
}

/// Returns the day of the week, Monday is 0.
pub fn weekday(nanos: u64, utc_offset: i32) -> usize {
    // 1970-01-01 was a Thursday.
    (local_seconds(nanos, utc_offset).div_euclid(86_400) + 3).rem_euclid(7) as usize
}

fn local_seconds(nanos: u64, utc_offset: i32) -> i64 {
    (nanos / 1_000_000_000) as i64 + i64::from(utc_offset)
}

/// Returns a moment as RFC 3339 in UTC, to the second.
pub fn rfc3339(nanos: u64) -> String {
    let seconds = (nanos / 1_000_000_000) as i64;
    let (year, month, day) = civil(seconds.div_euclid(86_400));
    let second = seconds.rem_euclid(86_400);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}Z", second % 60)
}

/// Returns a moment as people write it, this many seconds east of UTC: to the second where the whole period lasted less than two
/// hours, with the date where it lasted longer than a day.
pub fn clock(nanos: u64, utc_offset: i32, span: f64) -> String {
    let seconds = local_seconds(nanos, utc_offset);
    let (year, month, day) = civil(seconds.div_euclid(86_400));
    let second = seconds.rem_euclid(86_400);
    let mut text = format!("{:02}:{:02}", second / 3600, second / 60 % 60);
    if span < 7200.0 {
        text += &format!(":{:02}", second % 60);
    }
    if span > 86_400.0 {
        text = format!("{year:04}-{month:02}-{day:02} {text}");
    }
    let (sign, hours) = (if utc_offset < 0 { '-' } else { '+' }, utc_offset.abs() / 3600);
    match utc_offset {
        0 => text + " UTC",
        offset => format!("{text} {sign}{hours:02}:{:02}", offset.abs() / 60 % 60),
    }
}

/// Year, month and day of a number of days since 1970-01-01 (Hinnant, "chrono-Compatible
/// Low-Level Date Algorithms", `civil_from_days`).
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Reads a moment: seconds since 1970, or "2018-01-28 12:00:00" with "T", "Z", an offset like
/// "+02:00" or nothing (then UTC). Nanoseconds since 1970; `None` for anything else.
pub fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        let is_possible = seconds.is_finite() && (0.0..1e10).contains(&seconds);
        return is_possible.then_some((seconds * 1e9) as u64);
    }
    let (date, time) = text.split_once(['T', ' '])?;
    let (clock, offset) = split_offset(time)?;
    let date: Vec<i64> = date.split('-').map(|it| it.parse().ok()).collect::<Option<_>>()?;
    let clock: Vec<f64> = clock.split(':').map(|it| it.parse().ok()).collect::<Option<_>>()?;
    let ([year, month, day], [hour, minute, second]) = (&date[..], &clock[..]) else {
        return None;
    };
    let is_date = (1970..2200).contains(year)
        && (1..=12).contains(month)
        && (1..=days_of_month(*year, *month)).contains(day);
    let is_time = (0.0..24.0).contains(hour) && (0.0..60.0).contains(minute);
    if !is_date || !is_time || !(0.0..61.0).contains(second) {
        return None;
    }
    let seconds = days(*year, *month, *day) as f64 * 86_400.0 + hour * 3600.0 + minute * 60.0;
    let seconds = seconds + second - f64::from(offset);
    (seconds >= 0.0).then_some((seconds * 1e9) as u64)
}

fn days_of_month(year: i64, month: i64) -> i64 {
    let (next_year, next) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    days(next_year, next, 1) - days(year, month, 1)
}

/// Returns the days since 1970-01-01 (`days_from_civil` of the same source).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Returns a clock and how far east of UTC it is.
fn split_offset(time: &str) -> Option<(&str, i32)> {
    if let Some(clock) = time.strip_suffix('Z') {
        return Some((clock, 0));
    }
    match time.find(['+', '-']) {
        Some(place) => Some((&time[..place], utc_offset(&time[place..])?)),
        None => Some((time, 0)),
    }
}

/// Returns the seconds east of UTC of "+02:00", "-0530", "+2" or "Z".
pub fn utc_offset(text: &str) -> Option<i32> {
    if matches!(text, "Z" | "UTC") {
        return Some(0);
    }
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = match (digits.split_once(':'), digits.len()) {
        (Some(parts), _) => parts,
        (None, 4) => digits.split_at_checked(2)?,
        (None, 1 | 2) => (digits, "0"),
        _ => return None,
    };
    let number = |text: &str| text.parse::<u8>().ok().map(i32::from);
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    (hours <= 14 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
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

    #[test]
    fn moments_are_written_and_read() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_769_902_200, "2026-01-31T23:30:00Z"),
            (1_767_225_599, "2025-12-31T23:59:59Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            let nanos = seconds * 1_000_000_000;
            assert_eq!(rfc3339(nanos), text);
            assert_eq!(parse(text), Some(nanos));
            assert_eq!(parse(&seconds.to_string()), Some(nanos));
        }
        assert_eq!(parse("2026-02-01 01:30:00+02:00"), parse("2026-01-31T23:30:00"));
        for bad in [
            "",
            "yesterday",
            "2026-13-01T00:00:00",
            "2026-02-29T00:00:00",
            "2100-02-29T00:00:00",
            "2026-04-31T00:00:00",
            "2026-12-32T00:00:00",
            "2026-01-01",
            "-5",
            "nan",
            "T",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
        for bad in [
            "2026-01-32T00:00:00",
            "2026-01-01T24:00:00",
            "2026-01-01T00:60:00",
            "2026-01-01T00:00:61",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn clocks() {
        let nanos = 1_769_902_205 * 1_000_000_000;
        assert_eq!(clock(nanos, 0, 60.0), "23:30:05 UTC");
        assert_eq!(clock(nanos, -19_800, 8000.0), "18:00 -05:30");
        assert_eq!(clock(nanos, 7200, 1e6), "2026-02-01 01:30 +02:00");
        assert_eq!(clock(nanos, 0, 2.0 * 3600.0), "23:30 UTC", "not less than two hours");
        assert_eq!(clock(nanos, 0, 86_400.0), "23:30 UTC", "not longer than a day");
    }

    #[test]
    fn offsets_from_utc() {
        for (text, seconds) in
            [("+02:00", 7200), ("-0530", -19_800), ("+2", 7200), ("+14:59", 53_940), ("Z", 0)]
        {
            assert_eq!(utc_offset(text), Some(seconds));
        }
        for bad in ["", "2", "+", "+99:00", "+15:00", "+01:60", "+01:99", "CET"] {
            assert_eq!(utc_offset(bad), None, "{bad}");
        }
    }
}
