//! Spans of time.

use crate::decimal::{Scale, Unit, printed, quantity_text, understood};

/// A number of nanoseconds. Reads and prints "250ms", "1.5s", "2h", exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanos(u64);

const SECOND: u64 = 1_000_000_000;

impl Nanos {
    /// `count` nanoseconds.
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// Returns the number of nanoseconds.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Seconds, for formulas. Exact up to 2^53 ns (104 days), then to 16 digits.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / SECOND as f64
    }
}

const UNITS: &[Unit] = &[
    printed("ns", 1),
    printed("us", 1_000),
    printed("ms", 1_000_000),
    printed("s", SECOND),
    printed("min", 60 * SECOND),
    printed("h", 3600 * SECOND),
    printed("d", 86_400 * SECOND),
    understood("\u{b5}s", 1_000),
    understood("\u{3bc}s", 1_000),
    understood("sec", SECOND),
];

const SCALE: Scale = Scale {
    what: "duration",
    base: "nanoseconds",
    example: "250ms or 1.5h",
    units: UNITS,
    suffix: "",
};

quantity_text!(Nanos, SCALE);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_and_prints_durations() {
        for (text, nanos) in
            [("250ms", 250_000_000), ("1.5s", 1_500_000_000), ("2h", 7200 * SECOND), ("0ns", 0)]
        {
            let duration: Nanos = text.parse().unwrap();
            assert_eq!(duration.get(), nanos);
            assert_eq!(duration.to_string(), text);
        }
        assert_eq!("3\u{b5}s".parse(), Ok(Nanos::new(3000)));
        for (text, seconds) in [("1min", 60), ("1h", 3600), ("1d", 86_400), ("1sec", 1)] {
            assert_eq!(text.parse(), Ok(Nanos::new(seconds * SECOND)));
        }
        assert_eq!("1us".parse(), Ok(Nanos::new(1000)));
        assert_eq!(Nanos::new(90 * SECOND).to_string(), "90s");
        assert_eq!(Nanos::new(1_500_000_000).as_seconds(), 1.5);
        assert!("5m".parse::<Nanos>().is_err(), "minutes or metres? write min");
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back(value: u64) {
            let duration = Nanos::new(value);
            prop_assert_eq!(duration.to_string().parse(), Ok(duration));
        }
    }
}
