//! How long transactions keep a target busy (Uselton and Wright).

use crate::TheoryError;
use crate::error::{Quantity, count, not_negative, positive};

/// I/O of at least this size is optimal; the size that Lustre sends at best (section V).
pub const OPTIMAL_BYTES: u64 = 1 << 20;

/// t = a_0 + a_1 b: what a transaction of b bytes costs (equation 1).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TransactionCost {
    seconds_per_operation: f64,
    seconds_per_byte: f64,
}

impl TransactionCost {
    /// Neither part may be negative, and a transaction must cost something.
    pub fn new(seconds_per_operation: f64, seconds_per_byte: f64) -> Result<Self, TheoryError> {
        let cost = TransactionCost {
            seconds_per_operation: not_negative(Quantity::OperationCost, seconds_per_operation)?,
            seconds_per_byte: not_negative(Quantity::ByteCost, seconds_per_byte)?,
        };
        positive(Quantity::TransactionCost, seconds_per_operation + seconds_per_byte)?;
        Ok(cost)
    }

    /// Equation 3, which is linear: only the number of operations and of bytes matters.
    pub fn seconds(&self, operations: Operations) -> f64 {
        self.seconds_per_operation * operations.count as f64
            + self.seconds_per_byte * operations.bytes as f64
    }
}

/// Operations and the bytes that they moved, by size where that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operations {
    /// Number of transactions, N.
    pub count: u64,
    /// Bytes of all of them, N b.
    pub bytes: u64,
    /// Transactions of at least the optimal size; `None` when sizes are not known.
    pub optimal: Option<u64>,
}

impl Operations {
    /// None at all. Their sizes are known: there are none.
    pub const NONE: Operations = Operations { count: 0, bytes: 0, optimal: Some(0) };

    /// Operations whose sizes are not known.
    pub fn new(operations: u64, bytes: u64) -> Result<Self, TheoryError> {
        if operations == 0 && bytes > 0 {
            Err(TheoryError::BytesWithoutOperation { bytes })
        } else {
            Ok(Operations { count: operations, bytes, optimal: None })
        }
    }

    /// From a histogram of (size in bytes, number of transactions).
    pub fn from_sizes(sizes: &[(u64, u64)], optimal_bytes: u64) -> Result<Self, TheoryError> {
        let mut sum = Operations::NONE;
        for &(size, operations) in sizes {
            count(Quantity::TransactionSize, size, 1, u64::MAX)?;
            let bytes = size.checked_mul(operations).ok_or(TheoryError::Overflow)?;
            sum.count = sum.count.checked_add(operations).ok_or(TheoryError::Overflow)?;
            sum.bytes = sum.bytes.checked_add(bytes).ok_or(TheoryError::Overflow)?;
            if size >= optimal_bytes {
                sum.optimal = sum.optimal.map(|optimal| optimal + operations);
            }
        }
        Ok(sum)
    }
}

/// Reads and writes on one or more targets during an interval, with what each costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pattern {
    reads: (Operations, TransactionCost),
    writes: (Operations, TransactionCost),
}

/// How busy a target was (tables II and III): idle FSU < 2, moderate < 30, else busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// FSU under 2, nothing at all included.
    Idle,
    /// FSU from 2 to under 30.
    Moderate,
    /// FSU of 30 or more.
    Busy,
}

impl Class {
    /// Returns the class of a utilization.
    pub fn of(fsu: f64) -> Self {
        match fsu {
            fsu if fsu < 2.0 => Class::Idle,
            fsu if fsu < 30.0 => Class::Moderate,
            _ => Class::Busy,
        }
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Class::Idle => "idle",
            Class::Moderate => "moderate",
            Class::Busy => "busy",
        }
    }
}

impl Pattern {
    /// Reads and writes, each with its own cost.
    pub fn new(
        reads: (Operations, TransactionCost),
        writes: (Operations, TransactionCost),
    ) -> Self {
        Pattern { reads, writes }
    }

    /// T(N): the time that the transactions take a target (equation 5).
    pub fn seconds(&self) -> f64 {
        self.reads.1.seconds(self.reads.0) + self.writes.1.seconds(self.writes.0)
    }

    /// Returns the bytes moved.
    pub fn bytes(&self) -> f64 {
        self.reads.0.bytes as f64 + self.writes.0.bytes as f64
    }

    /// B_achievable: the bandwidth at which one target, fully busy, does this pattern
    /// (equation 6). `None` without transactions.
    pub fn achievable(&self) -> Option<f64> {
        (self.seconds() > 0.0).then(|| self.bytes() / self.seconds())
    }

    /// File system utilization in percent over `interval` seconds (equation 7), the mean
    /// over `targets` targets. Never clamped: figure 11 reaches 200.
    pub fn fsu(&self, interval: f64, targets: u64) -> Result<f64, TheoryError> {
        positive(Quantity::Interval, interval)?;
        count(Quantity::Targets, targets, 1, u64::MAX)?;
        Ok(100.0 * self.seconds() / (interval * targets as f64))
    }

    /// Returns the share of transactions of at least the optimal size. `None` when sizes are not known
    /// or there are no transactions.
    pub fn optimal_share(&self) -> Option<f64> {
        let all = self.reads.0.count as f64 + self.writes.0.count as f64;
        let optimal = self.reads.0.optimal? as f64 + self.writes.0.optimal? as f64;
        (all > 0.0).then(|| optimal / all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Table I.
    fn grace() -> (TransactionCost, TransactionCost) {
        let read = TransactionCost::new(8.02e-4, 1.23e-9).unwrap();
        (read, TransactionCost::new(1.04e-3, 1.73e-9).unwrap())
    }

    #[test]
    fn small_transactions_keep_a_target_as_busy_as_large_ones() {
        let (read, write) = grace();
        let none = (Operations::NONE, read);
        let small = Operations::from_sizes(&[(4096, 1000)], OPTIMAL_BYTES).unwrap();
        let pattern = Pattern::new(none, (small, write));
        // 1000 (1.04e-3 + 1.73e-9 * 4096) s
        assert!((pattern.seconds() - 1.047_086_08).abs() < 1e-9);
        assert!((pattern.achievable().unwrap() - 4096e3 / 1.047_086_08).abs() < 1e-3);
        assert!((pattern.fsu(5.0, 1).unwrap() - 20.941_721_6).abs() < 1e-9);
        assert!((pattern.fsu(5.0, 10).unwrap() - 2.094_172_16).abs() < 1e-9);
        assert_eq!(pattern.optimal_share(), Some(0.0));
    }

    #[test]
    fn large_transactions_of_both_directions_are_a_share_of_all() {
        let (read, write) = grace();
        let sizes = |small, large| {
            Operations::from_sizes(&[(4096, small), (OPTIMAL_BYTES, large)], OPTIMAL_BYTES).unwrap()
        };
        let pattern = Pattern::new((sizes(4, 1), read), (sizes(1, 2), write));
        assert_eq!(pattern.optimal_share(), Some(3.0 / 8.0));
        let unknown = Operations::new(5, 5 * 4096).unwrap();
        assert_eq!(Pattern::new((unknown, read), (sizes(1, 2), write)).optimal_share(), None);
    }

    #[test]
    fn classes_have_the_papers_edges() {
        let classes = [0.0, 1.99, 2.0, 29.9, 30.0, 200.0].map(|fsu| Class::of(fsu).name());
        assert_eq!(classes, ["idle", "idle", "moderate", "moderate", "busy", "busy"]);
    }

    #[test]
    fn nothing_is_idle_not_undefined() {
        let (read, write) = grace();
        let nothing = Pattern::new((Operations::NONE, read), (Operations::NONE, write));
        assert_eq!(nothing.fsu(5.0, 1), Ok(0.0));
        assert_eq!((nothing.achievable(), nothing.optimal_share()), (None, None));
    }

    #[test]
    fn impossible_patterns_are_refused() {
        let (read, write) = grace();
        assert!(TransactionCost::new(-1.0, 1e-9).is_err());
        assert!(TransactionCost::new(0.0, 0.0).is_err());
        assert!(TransactionCost::new(f64::NAN, 1e-9).is_err());
        assert!(Operations::new(0, 1).is_err());
        assert!(Operations::from_sizes(&[(u64::MAX, 2)], 1).is_err());
        assert!(Operations::from_sizes(&[(0, 2)], 1).is_err());
        let pattern = Pattern::new((Operations::NONE, read), (Operations::NONE, write));
        assert!(pattern.fsu(0.0, 1).is_err() && pattern.fsu(1.0, 0).is_err());
    }

    proptest! {
        #[test]
        fn counts_alone_give_the_same_time_as_the_histogram(
            sizes in proptest::collection::vec((1u64..1 << 22, 0u64..100_000), 0..12),
        ) {
            let (read, write) = grace();
            let none = (Operations::NONE, read);
            let histogram = Operations::from_sizes(&sizes, OPTIMAL_BYTES).unwrap();
            let plain = Operations::new(histogram.count, histogram.bytes).unwrap();
            let seconds = |operations| Pattern::new(none, (operations, write)).seconds();
            prop_assert_eq!(seconds(histogram), seconds(plain));
            let by_size: f64 =
                sizes.iter().map(|&(b, n)| n as f64 * (1.04e-3 + 1.73e-9 * b as f64)).sum();
            prop_assert!((seconds(histogram) - by_size).abs() <= 1e-9 * by_size.max(1.0));
        }
    }
}
