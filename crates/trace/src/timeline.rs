//! From ticks to nanoseconds.

use crate::layout::Anchor;

/// Maps ticks of one process to nanoseconds of a clock: at first CLOCK_MONOTONIC of its node, by two moments known
/// on both, and once it was [moved](Self::moved), any other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timeline {
    start_ticks: u64,
    start_ns: i64,
    nanos_per_tick: f64,
}

impl Default for Timeline {
    /// Ticks that are nanoseconds.
    fn default() -> Self {
        Timeline::of_nanos(Anchor::default())
    }
}

impl Timeline {
    /// `None` when the moments do not define a rate: no time passed, or a clock ran backwards.
    pub fn new(start: Anchor, latest: Anchor) -> Option<Self> {
        let ticks = latest.ticks.checked_sub(start.ticks).filter(|ticks| *ticks > 0)?;
        let nanos = latest.monotonic_ns.checked_sub(start.monotonic_ns).filter(|ns| *ns > 0)?;
        let nanos_per_tick = nanos as f64 / ticks as f64;
        Some(Timeline { nanos_per_tick, ..Timeline::of_nanos(start) })
    }

    /// Ticks that are nanoseconds of CLOCK_MONOTONIC already.
    pub fn of_nanos(start: Anchor) -> Self {
        let start_ns = held(start.monotonic_ns);
        Timeline { start_ticks: start.ticks, start_ns, nanos_per_tick: 1.0 }
    }

    /// Returns the same ticks on another clock, which shows `start_ns` at their start and is faster by the share
    /// `drift`.
    pub fn moved(&self, start_ns: i64, drift: f64) -> Self {
        Timeline { start_ns, nanos_per_tick: self.nanos_per_tick * (1.0 + drift), ..*self }
    }

    /// Returns what the clock shows at these ticks.
    #[inline]
    pub fn at(&self, ticks: u64) -> i64 {
        let since = ticks.wrapping_sub(self.start_ticks) as i64;
        self.start_ns.saturating_add((since as f64 * self.nanos_per_tick) as i64)
    }

    /// Returns what the clock shows at the start.
    pub fn start_ns(&self) -> i64 {
        self.start_ns
    }
}

impl Anchor {
    /// Returns CLOCK_MONOTONIC at this moment; what only damage can be is the most that there is.
    pub fn monotonic(&self) -> i64 {
        held(self.monotonic_ns)
    }

    /// Returns what to add to CLOCK_MONOTONIC to get CLOCK_REALTIME.
    pub fn realtime_offset_ns(&self) -> i64 {
        held(self.realtime_ns).saturating_sub(held(self.monotonic_ns))
    }
}

fn held(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpolates_between_the_moments() {
        let start = Anchor { ticks: 1000, monotonic_ns: 50, realtime_ns: 1050 };
        let latest = Anchor { ticks: 3000, monotonic_ns: 1050, realtime_ns: 2050 };
        let timeline = Timeline::new(start, latest).unwrap();
        assert_eq!((timeline.at(2000), timeline.start_ns()), (550, 50));
        assert_eq!(timeline.at(0), -450);
        assert_eq!(start.realtime_offset_ns(), 1000);
        assert_eq!(Timeline::new(latest, start), None);
        assert_eq!(Timeline::new(start, start), None);
    }

    #[test]
    fn another_clock_shows_another_moment_and_may_be_faster() {
        let start = Anchor { ticks: 1000, monotonic_ns: 50, realtime_ns: 0 };
        let moved = Timeline::of_nanos(start).moved(-7, 0.5);
        assert_eq!((moved.at(1000), moved.at(1100)), (-7, 143));
    }

    #[test]
    fn damage_is_far_away_and_not_in_the_past() {
        let start = Anchor { ticks: 0, monotonic_ns: u64::MAX, realtime_ns: 1 };
        assert_eq!((start.monotonic(), start.realtime_offset_ns()), (i64::MAX, 1 - i64::MAX));
        assert_eq!(Timeline::of_nanos(start).at(5), i64::MAX);
    }
}
