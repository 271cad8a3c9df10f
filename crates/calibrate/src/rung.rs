//! What one rung of the ladder gave: a transfer size, measured several times.

use plimsoll_stats::{Sample, StatsError};

/// One measure: transfers of one size, and what the target did for them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measure {
    /// Transfers that were asked for.
    pub transfers: u64,
    /// Bytes that were asked for.
    pub bytes: u64,
    /// Time from the first transfer to the last, fsync included, without what is between bursts.
    pub seconds: f64,
    /// Transactions that the target did in this direction.
    pub transactions: u64,
    /// Bytes of these transactions.
    pub transaction_bytes: u64,
    /// Bytes that the target moved in the other direction; not asked for by us.
    pub opposite_bytes: u64,
}

impl Measure {
    /// Returns the bytes per second that a program sees.
    pub fn bandwidth(&self) -> f64 {
        self.bytes as f64 / self.seconds
    }

    /// Returns the bytes that the target moved beyond what was asked for, as a share of that. Others'
    /// I/O, or what a file system adds of its own.
    pub fn foreign_share(&self) -> f64 {
        let beyond = self.transaction_bytes.saturating_sub(self.bytes);
        (beyond + self.opposite_bytes) as f64 / self.bytes as f64
    }
}

/// All measures of one transfer size, in the order of their repetition.
#[derive(Debug, Clone, PartialEq)]
pub struct Rung {
    /// Bytes of one transfer.
    pub size: u64,
    /// One for each repetition; not empty.
    pub measures: Vec<Measure>,
}

/// A row of equation 4: what a target does in a second while it is busy with one size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// N / T: transactions per second.
    pub transactions: f64,
    /// N b / T: bytes per second of these transactions.
    pub bytes: f64,
    /// Bytes per second that were asked for.
    pub requested: f64,
}

impl Row {
    /// Mean bytes of a transaction at the target.
    pub fn transaction_size(&self) -> f64 {
        self.bytes / self.transactions
    }
}

impl Rung {
    /// Returns the medians over the repetitions with these indices.
    ///
    /// # Errors
    /// If a rate is not finite: a measure without time or transactions.
    pub fn row(&self, repetitions: &[usize]) -> Result<Row, StatsError> {
        let median = |value: fn(&Measure) -> f64| {
            let values = repetitions.iter().filter_map(|index| self.measures.get(*index));
            Sample::new(values.map(value).collect()).map(|sample| sample.median())
        };
        let transactions = median(|it| it.transactions as f64 / it.seconds)?;
        let size = median(|it| it.transaction_bytes as f64 / it.transactions as f64)?;
        let bytes = transactions * size;
        Ok(Row { transactions, bytes, requested: median(Measure::bandwidth)? })
    }

    /// Returns the medians over all repetitions.
    ///
    /// # Errors
    /// As [`row`](Self::row).
    pub fn median_row(&self) -> Result<Row, StatsError> {
        self.row(&(0..self.measures.len()).collect::<Vec<_>>())
    }

    /// Returns the bandwidths of the repetitions.
    ///
    /// # Errors
    /// If one is not finite.
    pub fn bandwidths(&self) -> Result<Sample, StatsError> {
        Sample::new(self.measures.iter().map(Measure::bandwidth).collect())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Repetitions of one size that each took `seconds` for a hundred transactions.
    pub(crate) fn rung(size: u64, seconds: &[f64]) -> Rung {
        let measure = |seconds: &f64| Measure {
            transfers: 100,
            bytes: 100 * size,
            seconds: *seconds,
            transactions: 100,
            transaction_bytes: 100 * size,
            opposite_bytes: 0,
        };
        Rung { size, measures: seconds.iter().map(measure).collect() }
    }

    #[test]
    fn medians_are_over_repetitions() {
        let row = rung(4096, &[1.0, 2.0, 4.0]).median_row().unwrap();
        assert_eq!((row.transactions, row.bytes, row.requested), (50.0, 204_800.0, 204_800.0));
        assert_eq!(row.transaction_size(), 4096.0);
        assert!(rung(4096, &[]).median_row().is_err());
        assert!(rung(4096, &[0.0]).median_row().is_err());
    }

    #[test]
    fn what_was_not_asked_for_is_foreign() {
        let own = rung(4096, &[1.0]).measures[0];
        assert_eq!(own.foreign_share(), 0.0);
        let disturbed = Measure { transaction_bytes: 409_600 * 2, opposite_bytes: 409_600, ..own };
        assert_eq!(disturbed.foreign_share(), 2.0);
    }
}
