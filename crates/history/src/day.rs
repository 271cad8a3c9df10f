//! Days: what a store is partitioned by.

use std::fmt;

use plimsoll_domain::moment;

/// A day in UTC, by its number since 1970-01-01.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(u32);

/// What the name of a day's directory begins with: the form in which other programs find a column in names (Hive).
const PREFIX: &str = "day=";

impl Day {
    /// Milliseconds of a day.
    pub const MILLIS: u64 = 86_400_000;

    /// Returns the day that time up to this end is of: midnight ends the day before.
    pub fn ending_at(end_millis: u64) -> Self {
        Day(u32::try_from(end_millis.saturating_sub(1) / Self::MILLIS).unwrap_or(u32::MAX))
    }

    /// Returns its first millisecond.
    pub fn start(self) -> u64 {
        u64::from(self.0) * Self::MILLIS
    }

    /// Returns the first millisecond after it.
    pub fn end(self) -> u64 {
        self.start() + Self::MILLIS
    }

    /// Returns the name of its directory.
    pub fn directory(self) -> String {
        format!("{PREFIX}{self}")
    }

    /// Returns the day of that directory.
    pub fn of_directory(name: &str) -> Option<Self> {
        let date = name.strip_prefix(PREFIX)?;
        let millis = moment::parse(&format!("{date}T00:00:00Z"))? / 1_000_000;
        let day = Day((millis / Self::MILLIS) as u32);
        (day.directory() == name).then_some(day)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&moment::rfc3339(self.start().saturating_mul(1_000_000))[..10])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn midnight_ends_a_day() {
        let day = Day::of_directory("day=2024-02-29").unwrap();
        assert_eq!(day.directory(), "day=2024-02-29");
        assert_eq!((day.start(), day.end()), (1_709_164_800_000, 1_709_251_200_000));
        assert_eq!(Day::ending_at(day.end()), day);
        assert_eq!(Day::ending_at(day.start() + 1), day);
        assert_eq!(Day::ending_at(day.start()).to_string(), "2024-02-28");
        for bad in ["day=", "day=2023-02-29", "day=2024-2-29", "2024-02-29", "day=2024-02-29x"] {
            assert_eq!(Day::of_directory(bad), None, "{bad}");
        }
    }
}
