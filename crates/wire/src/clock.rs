//! The two clocks of a measure: durations by the monotonic one, moments by the wall.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of the machine's monotonic clock, which all its processes share.
pub fn monotonic() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

/// Nanoseconds that lie between 1970 and the zero of the monotonic clock, now.
pub fn wall_offset() -> u64 {
    nanoseconds(ClockId::Realtime).saturating_sub(monotonic())
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
