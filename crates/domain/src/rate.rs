//! Data and operations per second.

use crate::decimal::{Scale, Unit, printed, quantity_text, understood};
use crate::size;

/// A number of bytes per second. Reads and prints "551MiB/s", "1.5GB/s", exactly. Its units are those of
/// [`Bytes`](crate::Bytes) with "/s".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct BytesPerSec(u64);

impl BytesPerSec {
    /// `count` bytes per second.
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// Returns the number of bytes per second.
    pub const fn get(self) -> u64 {
        self.0
    }
}

const BYTE_RATE_SCALE: Scale = Scale {
    what: "rate",
    base: "bytes per second",
    example: "20MiB/s or 1.5GB/s",
    units: size::UNITS,
    suffix: "/s",
};

quantity_text!(BytesPerSec, BYTE_RATE_SCALE);

/// A number of operations per second. Reads and prints "200op/s"; "200iops" is understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct OpsPerSec(u64);

impl OpsPerSec {
    /// `count` operations per second.
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// Returns the number of operations per second.
    pub const fn get(self) -> u64 {
        self.0
    }
}

const OPERATION_RATES: &[Unit] = &[
    printed("op/s", 1),
    printed("kop/s", 1_000),
    printed("Mop/s", 1_000_000),
    understood("ops/s", 1),
    understood("iops", 1),
    understood("IOPS", 1),
    understood("kiops", 1_000),
];

const OPERATION_RATE_SCALE: Scale = Scale {
    what: "operation rate",
    base: "operations per second",
    example: "200op/s or 200iops",
    units: OPERATION_RATES,
    suffix: "",
};

quantity_text!(OpsPerSec, OPERATION_RATE_SCALE);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_and_prints_rates() {
        assert_eq!("1.5GB/s".parse(), Ok(BytesPerSec::new(1_500_000_000)));
        assert_eq!(BytesPerSec::new(20 << 20).to_string(), "20MiB/s");
        assert_eq!("200iops".parse(), Ok(OpsPerSec::new(200)));
        assert_eq!(OpsPerSec::new(1500).to_string(), "1.5kop/s");
    }

    #[test]
    fn every_unit_is_what_it_says() {
        let rate = |text: &str| text.parse::<BytesPerSec>().unwrap().get();
        for (power, binary, decimal) in [
            (1, "KiB", "kB"),
            (2, "MiB", "MB"),
            (3, "GiB", "GB"),
            (4, "TiB", "TB"),
            (5, "PiB", "PB"),
        ] {
            assert_eq!(rate(&format!("1{binary}/s")), 1024u64.pow(power));
            assert_eq!(rate(&format!("1{decimal}/s")), 1000u64.pow(power));
        }
        for text in ["20M/s", "20m/s", "20mib/s"] {
            assert_eq!(rate(text), 20 << 20, "{text} is read as in sizes");
        }
        let operations = |text: &str| text.parse::<OpsPerSec>().unwrap().get();
        assert_eq!(operations("1kiops"), 1000);
        assert_eq!(operations("1kop/s"), 1000);
        assert_eq!(operations("1Mop/s"), 1_000_000);
    }

    #[test]
    fn a_size_is_not_a_rate() {
        let error = "20MiB".parse::<BytesPerSec>().unwrap_err().to_string();
        assert!(error.contains("20MiB/s"), "{error}");
        assert!(error.contains("the unknown unit \"MiB\""), "{error}");
        assert!(error.contains("(units: B/s KiB/s MiB/s"), "{error}");
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back(value: u64) {
            let rate = BytesPerSec::new(value);
            prop_assert_eq!(rate.to_string().parse(), Ok(rate));
            let operations = OpsPerSec::new(value);
            prop_assert_eq!(operations.to_string().parse(), Ok(operations));
        }
    }
}
