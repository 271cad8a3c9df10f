//! From ticks to nanoseconds.

use crate::layout::Anchor;

/// Maps ticks of one process to CLOCK_MONOTONIC of its node, by two moments known on both.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timeline {
    start: Anchor,
    nanos_per_tick: f64,
}

impl Timeline {
    /// `None` when the moments do not define a rate: no time passed, or a clock ran backwards.
    pub fn new(start: Anchor, latest: Anchor) -> Option<Self> {
        let ticks = latest.ticks.checked_sub(start.ticks).filter(|ticks| *ticks > 0)?;
        let nanos = latest.monotonic_ns.checked_sub(start.monotonic_ns).filter(|ns| *ns > 0)?;
        Some(Timeline { start, nanos_per_tick: nanos as f64 / ticks as f64 })
    }

    /// Ticks that are nanoseconds of CLOCK_MONOTONIC already.
    pub fn of_nanos(start: Anchor) -> Self {
        Timeline { start, nanos_per_tick: 1.0 }
    }

    /// CLOCK_MONOTONIC at these ticks.
    #[inline]
    pub fn monotonic_ns(&self, ticks: u64) -> i64 {
        let since = ticks.wrapping_sub(self.start.ticks) as i64;
        (self.start.monotonic_ns as i64).saturating_add((since as f64 * self.nanos_per_tick) as i64)
    }

    /// Nanoseconds that so many ticks last.
    #[inline]
    pub fn nanos(&self, ticks: u64) -> f64 {
        ticks as f64 * self.nanos_per_tick
    }

    /// Returns what to add to CLOCK_MONOTONIC to get CLOCK_REALTIME, when recording began.
    pub fn realtime_offset_ns(&self) -> i64 {
        (self.start.realtime_ns as i64).saturating_sub(self.start.monotonic_ns as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpolates_between_the_moments() {
        let start = Anchor { ticks: 1000, monotonic_ns: 50, realtime_ns: 1050 };
        let latest = Anchor { ticks: 3000, monotonic_ns: 1050, realtime_ns: 2050 };
        let timeline = Timeline::new(start, latest).unwrap();
        assert_eq!(timeline.monotonic_ns(2000), 550);
        assert_eq!(timeline.monotonic_ns(0), -450);
        assert_eq!(timeline.realtime_offset_ns(), 1000);
        assert_eq!((timeline.nanos(0), timeline.nanos(10)), (0.0, 5.0));
        assert_eq!(Timeline::of_nanos(start).nanos(10), 10.0);
        assert_eq!(Timeline::new(latest, start), None);
        assert_eq!(Timeline::new(start, start), None);
    }
}
