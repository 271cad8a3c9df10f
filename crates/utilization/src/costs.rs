//! What transactions cost targets, in whole numbers: sums are then the same in any order and at any age of the samples.

use plimsoll_stored::stored;
use plimsoll_theory::{TheoryError, TransactionCost};

/// Attoseconds: fine enough for the cost of a byte of the fastest storage.
pub(crate) const UNITS_PER_SECOND: f64 = 1e18;

/// What a transaction of b bytes costs: a_0 + a_1 b (Uselton and Wright, equation 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FixedCost {
    pub(crate) per_operation: u64,
    pub(crate) per_byte: u64,
}

/// What reading and writing cost a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TargetCosts {
    /// Reading.
    pub read: FixedCost,
    /// Writing.
    pub write: FixedCost,
}

stored! {
    FixedCost { per_operation, per_byte }
    TargetCosts { read, write }
}

impl FixedCost {
    /// Returns a cost in seconds for each operation and each byte.
    ///
    /// # Errors
    /// If one is negative, or both are zero; if an operation takes longer than 10 s or a byte longer than a millisecond.
    pub fn new(seconds_per_operation: f64, seconds_per_byte: f64) -> Result<Self, TheoryError> {
        TransactionCost::new(seconds_per_operation, seconds_per_byte)?;
        let whole = |seconds: f64, most: f64| (seconds.min(most) * UNITS_PER_SECOND).round() as u64;
        Ok(FixedCost {
            per_operation: whole(seconds_per_operation, 10.0),
            per_byte: whole(seconds_per_byte, 1e-3),
        })
    }
}

impl TargetCosts {
    /// What is assumed of targets that nobody calibrated: 10,000 operations and 2 GB a second, more than a disk array
    /// does. So they are at least as busy as is said, unless they are faster still.
    pub const ASSUMED: TargetCosts =
        TargetCosts { read: FixedCost::ASSUMED, write: FixedCost::ASSUMED };
}

impl FixedCost {
    /// What is assumed where nothing was measured: 0.1 ms and 0.5 ns for each byte.
    pub const ASSUMED: FixedCost =
        FixedCost { per_operation: 100_000_000_000_000, per_byte: 500_000_000 };

    /// Returns the cost of so many operations that moved so many bytes.
    pub(crate) fn of(self, operations: u64, bytes: u128) -> u128 {
        let of_operations = u128::from(self.per_operation) * u128::from(operations);
        // What no disk does is as much as there are numbers for.
        of_operations.saturating_add(u128::from(self.per_byte).saturating_mul(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_whole_numbers() {
        let cost = FixedCost::new(1.04e-3, 1.73e-9).unwrap();
        assert_eq!((cost.per_operation, cost.per_byte), (1_040_000_000_000_000, 1_730_000_000));
        let seconds = cost.of(1000, 4_096_000) as f64 / UNITS_PER_SECOND;
        assert!((seconds - 1.047_086_08).abs() < 1e-12);
        assert!(FixedCost::new(-1.0, 1e-9).is_err());
        assert_eq!(FixedCost::new(1e-4, 5e-10).unwrap(), FixedCost::ASSUMED);
    }
}
