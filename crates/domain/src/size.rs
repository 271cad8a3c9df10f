//! Amounts of data.

use crate::decimal::{Scale, Unit, printed, quantity_text, understood};

/// A number of bytes. Reads and prints "64KiB", "1.5GB", "4096B", exactly.
///
/// KiB, MiB, … (or kib, mib, …) are powers of 1024. kB, MB, … are powers of 1000. A letter alone (k, m, g, t, p, small or large) is a power of 1024, as in dd, fio, IOR
/// and lfs: 16m is 16MiB. What can be read in two ways is refused: mb and Mb may be megabits or
/// megabytes, and a number without a unit may count bytes, blocks or MiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

impl Bytes {
    /// `count` bytes.
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// Returns the number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;
const PIB: u64 = 1 << 50;

/// Shared with [`crate::BytesPerSec`], whose units are these with "/s".
pub(crate) const UNITS: &[Unit] = &[
    printed("B", 1),
    printed("KiB", KIB),
    printed("MiB", MIB),
    printed("GiB", GIB),
    printed("TiB", TIB),
    printed("PiB", PIB),
    printed("kB", 1_000),
    printed("MB", 1_000_000),
    printed("GB", 1_000_000_000),
    printed("TB", 1_000_000_000_000),
    printed("PB", 1_000_000_000_000_000),
    understood("KB", 1_000),
    understood("K", KIB),
    understood("M", MIB),
    understood("G", GIB),
    understood("T", TIB),
    understood("P", PIB),
    understood("k", KIB),
    understood("m", MIB),
    understood("g", GIB),
    understood("t", TIB),
    understood("p", PIB),
    understood("kiB", KIB),
    understood("kib", KIB),
    understood("mib", MIB),
    understood("gib", GIB),
    understood("tib", TIB),
    understood("pib", PIB),
];

const SCALE: Scale =
    Scale { what: "size", base: "bytes", example: "64KiB or 1.5GB", units: UNITS, suffix: "" };

quantity_text!(Bytes, SCALE);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::QuantityError;
    use proptest::prelude::*;

    fn bytes(text: &str) -> u64 {
        text.parse::<Bytes>().unwrap().get()
    }

    #[test]
    fn reads_what_people_write() {
        assert_eq!(bytes("64KiB"), 65_536);
        assert_eq!(bytes("1.5GB"), 1_500_000_000);
        assert_eq!(bytes(" 4 MiB "), 4 << 20);
        assert_eq!(bytes("64k"), 65_536, "a bare k is 1024, as in dd");
        assert_eq!(bytes("64kB"), 64_000);
        assert_eq!(bytes("0.5KiB"), 512);
        assert_eq!(bytes("0B"), 0);
        assert_eq!(bytes("18446744073709551615B"), u64::MAX);
    }

    #[test]
    fn every_unit_is_what_it_says() {
        for (power, binary, bare, decimal) in [
            (1, "KiB", "K", "kB"),
            (2, "MiB", "M", "MB"),
            (3, "GiB", "G", "GB"),
            (4, "TiB", "T", "TB"),
            (5, "PiB", "P", "PB"),
        ] {
            assert_eq!(bytes(&format!("1{binary}")), 1024u64.pow(power));
            assert_eq!(bytes(&format!("1{}", binary.to_lowercase())), 1024u64.pow(power));
            assert_eq!(bytes(&format!("1{bare}")), 1024u64.pow(power));
            assert_eq!(bytes(&format!("1{}", bare.to_lowercase())), 1024u64.pow(power));
            assert_eq!(bytes(&format!("1{decimal}")), 1000u64.pow(power));
        }
        assert_eq!(bytes("1.000000000000000000000000000PiB"), 1 << 50, "zeros cost nothing");
    }

    #[test]
    fn prints_the_shortest_exact_form() {
        for (value, text) in [
            (0, "0B"),
            (1, "1B"),
            (1000, "1kB"),
            (1024, "1KiB"),
            (1280, "1.25KiB"),
            (1536, "1.5KiB"),
            (65_536, "64KiB"),
            (1_500_000_000, "1.5GB"),
            (1_234_567, "1234567B"),
            (u64::MAX, "18446744073709551615B"),
        ] {
            assert_eq!(Bytes::new(value).to_string(), text);
        }
    }

    #[test]
    fn refuses_with_the_reason() {
        let error = |text: &str| text.parse::<Bytes>().unwrap_err();
        assert!(matches!(error(""), QuantityError::Empty { .. }));
        assert!(matches!(error("-1B"), QuantityError::Negative { .. }));
        assert!(matches!(error("NaN"), QuantityError::NotANumber { .. }));
        assert!(matches!(error("1.B"), QuantityError::NotANumber { .. }));
        assert!(matches!(error("1..5KiB"), QuantityError::NotANumber { .. }));
        assert!(matches!(error("5"), QuantityError::Unit { .. }));
        for twofold in ["5Mb", "5mb", "5gb", "5kb", "5mB"] {
            assert!(
                matches!(error(twofold), QuantityError::Unit { .. }),
                "bits or bytes? {twofold}"
            );
        }
        assert!(matches!(error("5e3B"), QuantityError::Unit { .. }));
        assert!(matches!(error("0.3B"), QuantityError::Fraction { .. }));
        assert!(matches!(error("18446744073709551616B"), QuantityError::TooLarge { .. }));
        assert!(matches!(error("99999999PiB"), QuantityError::TooLarge { .. }));
        assert!(matches!(error(&"9".repeat(5000)), QuantityError::NotANumber { .. }));
        let padded = |digits: usize| format!("{}1B", "0".repeat(digits - 1));
        assert_eq!(bytes(&padded(28)), 1, "as many digits as any size needs");
        assert!(matches!(error(&padded(29)), QuantityError::NotANumber { .. }));
        assert_eq!(
            error("5Mb").to_string(),
            "size \"5Mb\" has the unknown unit \"Mb\"; write it like 64KiB or 1.5GB \
             (units: B KiB MiB GiB TiB PiB kB MB GB TB PB)"
        );
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back(value: u64) {
            prop_assert_eq!(bytes(&Bytes::new(value).to_string()), value);
        }

        #[test]
        fn round_values_read_back(mantissa in 0u64..5000, shift in 0u32..5) {
            let value = mantissa << (10 * shift);
            prop_assert_eq!(bytes(&Bytes::new(value).to_string()), value);
        }

        #[test]
        fn no_text_panics(text in ".{0,60}") {
            let _ = text.parse::<Bytes>();
        }
    }
}
