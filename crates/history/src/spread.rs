//! Counters on a grid of time: what grew over some time is spread evenly over the windows that the time is in.

/// Longer times without a reading are gaps: what was counted in them is known, but not when.
pub const GAP_MILLIS: u64 = 60_000;

/// What of a sample lies in one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Number of the window since 1970.
    pub window: u64,
    /// Milliseconds of it that are covered.
    pub covered: u64,
    /// What was counted in them.
    pub value: u64,
}

/// Calls for each window that the time of a sample touches. Values are whole, and add up to the sample's: they are
/// differences of what was counted up to the ends of windows, rounded down.
///
/// A sample that is already of one window comes out as it is, so that spreading again changes nothing.
// Inlined, so that windows of a constant length cost no divisions: this is done for every sample that is read.
#[inline]
pub fn spread(end: u64, length: u64, value: u64, window_millis: u64, mut each: impl FnMut(Piece)) {
    if length == 0 {
        let window = end.saturating_sub(1) / window_millis;
        return each(Piece { window, covered: 0, value });
    }
    let start = end.saturating_sub(length);
    let length = end - start;
    let (first, last) = (start / window_millis, end.saturating_sub(1) / window_millis);
    if first >= last {
        return each(Piece { window: last, covered: length, value });
    }
    let counted = |until: u64| {
        (u128::from(value) * u128::from(until - start) / u128::from(length.max(1))) as u64
    };
    let mut from = start;
    for window in first..=last {
        let until = (window + 1).saturating_mul(window_millis).min(end);
        each(Piece { window, covered: until - from, value: counted(until) - counted(from) });
        from = until;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pieces(end: u64, length: u64, value: u64, window: u64) -> Vec<(u64, u64, u64)> {
        let mut all = Vec::new();
        spread(end, length, value, window, |it| all.push((it.window, it.covered, it.value)));
        all
    }

    #[test]
    fn samples_lie_in_windows_by_their_time() {
        assert_eq!(pieces(10_000, 5_000, 7, 5_000), [(1, 5_000, 7)]);
        assert_eq!(pieces(11_000, 2_000, 7, 5_000), [(1, 1_000, 3), (2, 1_000, 4)]);
        assert_eq!(pieces(10_000, 0, 7, 5_000), [(1, 0, 7)], "a level at its end");
        assert_eq!(pieces(10_001, 0, 7, 5_000), [(2, 0, 7)]);
        assert_eq!(pieces(3, 5, 7, 5_000), [(0, 3, 7)], "before 1970");
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_spreading_again_changes_nothing(
            end in 0u64..1 << 42, length in 0u64..100_000, value: u64, window in 1u64..100_000,
        ) {
            prop_assume!(length / window < 10_000);
            let once = pieces(end, length, value, window);
            let sum: u128 = once.iter().map(|it| u128::from(it.2)).sum();
            prop_assert_eq!(sum, u128::from(value));
            prop_assert_eq!(once.iter().map(|it| it.1).sum::<u64>(), length.min(end));
            for (number, covered, value) in once {
                let again = pieces((number + 1) * window, covered, value, window);
                prop_assert_eq!(again, [(number, covered, value)]);
            }
        }
    }
}
