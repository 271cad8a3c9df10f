//! What a command takes from the clock: the time of a measurement, and a seed.

use std::time::UNIX_EPOCH;

use plimsoll_domain::moment::rfc3339;

/// Now as RFC 3339 in UTC, to the second.
pub fn timestamp() -> String {
    rfc3339(nanoseconds())
}

/// Returns a seed that differs from one experiment to the next, also of two that begin at once, and is
/// short enough to be typed again.
pub fn seed() -> u64 {
    (nanoseconds() ^ u64::from(std::process::id())) & 0xffff_ffff
}

/// Returns nanoseconds since 1970.
pub fn nanoseconds() -> u64 {
    UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos() as u64
}
