//! Counters that are read repeatedly: what two readings say about the time between them.

/// A counter that only grows, until it overflows and continues from zero, or is reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counter {
    bits: u32,
}

/// What two readings of a counter say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It grew by this much.
    Grew(u64),
    /// It was reset in between (a restart, a device that was attached again), and has counted this much
    /// since. What it counted before is lost.
    BeganAnew(u64),
    /// It could not be read both times.
    Unknown,
}

impl Counter {
    /// Of 64 bits: it overflows after centuries, so a counter that went back was reset.
    pub const WIDE: Counter = Counter { bits: 64 };
    /// Of 32 bits, such as the milliseconds of a block device, which overflow after 50 days.
    pub const NARROW: Counter = Counter { bits: 32 };

    /// Returns what happened between two readings; nothing was read where one is `None`.
    ///
    /// A narrow counter that went back has overflowed if it then grew by less than half of its range; otherwise it
    /// was reset. So it must be read at least twice in the time in which it overflows.
    pub fn change(self, before: Option<u64>, after: Option<u64>) -> Change {
        let (Some(before), Some(after)) = (before, after) else { return Change::Unknown };
        if let Some(more) = after.checked_sub(before) {
            return Change::Grew(more);
        }
        let most = u64::MAX >> (64 - self.bits);
        let around = after.wrapping_sub(before) & most;
        let was_full = self.bits < 64 && before <= most && around <= most / 2;
        if was_full { Change::Grew(around) } else { Change::BeganAnew(after) }
    }
}

impl Change {
    /// Returns by how much it grew, if that is known.
    pub fn grown(self) -> Option<u64> {
        match self {
            Change::Grew(more) => Some(more),
            Change::BeganAnew(_) | Change::Unknown => None,
        }
    }

    /// Returns what was counted for certain: since the reset, if there was one.
    pub fn at_least(self) -> Option<u64> {
        match self {
            Change::Grew(more) | Change::BeganAnew(more) => Some(more),
            Change::Unknown => None,
        }
    }

    /// Returns the change in another unit, such as bytes of sectors; unknown if it would not fit.
    pub fn times(self, factor: u64) -> Change {
        match self {
            Change::Grew(more) => more.checked_mul(factor).map_or(Change::Unknown, Change::Grew),
            Change::BeganAnew(more) => {
                more.checked_mul(factor).map_or(Change::Unknown, Change::BeganAnew)
            }
            Change::Unknown => Change::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn two_readings_tell_growth_wrap_restart_or_nothing() {
        const FULL: u64 = u32::MAX as u64;
        for (counter, before, after, change) in [
            (Counter::WIDE, Some(5), Some(12), Change::Grew(7)),
            (Counter::WIDE, Some(5), Some(5), Change::Grew(0)),
            (Counter::WIDE, Some(u64::MAX), Some(3), Change::BeganAnew(3)),
            (Counter::WIDE, None, Some(12), Change::Unknown),
            (Counter::WIDE, Some(5), None, Change::Unknown),
            (Counter::NARROW, Some(FULL), Some(3), Change::Grew(4)),
            (Counter::NARROW, Some(FULL - 1000), Some(50), Change::Grew(1051)),
            (Counter::NARROW, Some(1000), Some(50), Change::BeganAnew(50)),
            // A kernel that counts in more bits than it says.
            (Counter::NARROW, Some(FULL + 10), Some(3), Change::BeganAnew(3)),
            (Counter::NARROW, Some(FULL), Some(FULL + 10), Change::Grew(10)),
        ] {
            assert_eq!(counter.change(before, after), change, "{before:?} to {after:?}");
        }
        assert_eq!(Change::Grew(3).grown(), Some(3));
        assert_eq!(Change::BeganAnew(3).grown(), None);
        assert_eq!(Change::BeganAnew(3).at_least(), Some(3));
        assert_eq!(Change::Grew(3).times(512), Change::Grew(1536));
        assert_eq!(Change::Grew(u64::MAX).times(512), Change::Unknown);
    }

    proptest! {
        /// Whatever was counted comes back, also around the end of a narrow counter.
        #[test]
        fn what_was_counted_comes_back(start: u32, counted in 0..u64::from(u32::MAX / 2)) {
            let end = (u64::from(start) + counted) & u64::from(u32::MAX);
            let change = Counter::NARROW.change(Some(start.into()), Some(end));
            prop_assert_eq!(change, Change::Grew(counted));
        }
    }
}
