//! The times at the head of counters.

use crate::text::{digits, words};

/// A time that stands at the head of counters, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// When the counters were read, since 1970.
    Snapshot(u64),
    /// When they began to count, since 1970 (Lustre 2.15 and later).
    Start(u64),
    /// How long they have counted (Lustre 2.15 and later).
    Elapsed(u64),
}

const SECOND: u64 = 1_000_000_000;

/// Reads "snapshot_time:  1589909588.327213269 (secs.nsecs)" and its kin; `None` if the line is none of them.
pub(crate) fn time(line: &[u8]) -> Option<Time> {
    let line = line.trim_ascii();
    // Nearly all lines are not times.
    if !matches!(line.first(), Some(b's' | b'e')) {
        return None;
    }
    let (kind, rest): (fn(u64) -> Time, _) = if let Some(rest) = line.strip_prefix(b"snapshot_time")
    {
        (Time::Snapshot, rest)
    } else if let Some(rest) = line.strip_prefix(b"start_time") {
        (Time::Start, rest)
    } else {
        (Time::Elapsed, line.strip_prefix(b"elapsed_time")?)
    };
    Some(kind(nanoseconds(rest.strip_prefix(b":").unwrap_or(rest))?))
}

/// Reads seconds and their fraction.
///
/// The fraction is a count of the unit that follows: releases have printed it with leading zeros, with leading blanks
/// and with neither (`%lu.%lu secs.usecs` until 2.9, `%llu.%9lu secs.nsecs`, `%llu.%09lu secs.nsecs`).
fn nanoseconds(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii();
    let whole_end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let whole = digits(&text[..whole_end])?.checked_mul(SECOND)?;
    let Some(fraction) = text[whole_end..].strip_prefix(b".") else {
        return text[whole_end..].is_empty().then_some(whole);
    };
    let fraction = fraction.trim_ascii_start();
    let end = fraction.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(fraction.len());
    let (count, unit) = (&fraction[..end], words(fraction[end..].trim_ascii())?);
    let nanoseconds = match (unit.trim_matches(['(', ')']), count.len()) {
        ("secs.usecs", 1..=6) => digits(count)? * 1000,
        ("secs.nsecs", 1..=9) => digits(count)?,
        // Without a unit it is a decimal fraction.
        ("", length @ 1..=9) => digits(count)? * 10u64.pow(9 - length as u32),
        _ => return None,
    };
    whole.checked_add(nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_every_release() {
        for (line, expected) in [
            (
                "snapshot_time             1438693135.640551 secs.usecs",
                Time::Snapshot(1_438_693_135_640_551_000),
            ),
            // 97 microseconds, as the old format has no leading zeros.
            ("snapshot_time  1438693135.97 secs.usecs", Time::Snapshot(1_438_693_135_000_097_000)),
            (
                "snapshot_time: 1589909588.327213269 (secs.nsecs)",
                Time::Snapshot(1_589_909_588_327_213_269),
            ),
            ("snapshot_time 10.       7 secs.nsecs", Time::Snapshot(10_000_000_007)),
            ("snapshot_time 10.000000007 secs.nsecs", Time::Snapshot(10_000_000_007)),
            ("  snapshot_time:   1461772761", Time::Snapshot(1_461_772_761_000_000_000)),
            ("  snapshot_time:   1461772761.5", Time::Snapshot(1_461_772_761_500_000_000)),
            (
                "start_time:  1688526476.694479379 secs.nsecs",
                Time::Start(1_688_526_476_694_479_379),
            ),
            ("elapsed_time  76565.859365453 secs.nsecs", Time::Elapsed(76_565_859_365_453)),
        ] {
            assert_eq!(time(line.as_bytes()), Some(expected), "{line}");
        }
        for line in ["snapshot_time", "snapshot_time x", "snapshot_time 1.2 years", "setattr 1", ""]
        {
            assert_eq!(time(line.as_bytes()), None, "{line}");
        }
        assert_eq!(time(b"snapshot_time 99999999999999999999"), None);
        assert_eq!(time(b"snapshot_time 18446744073.999999999 secs.nsecs"), None);
    }
}
