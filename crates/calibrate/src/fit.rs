//! The two coefficients of equation 1, from a ladder of sizes.

use plimsoll_stats::cost::{CostTest, relative_cost_fit};
use plimsoll_stats::sample::quantile_sorted;
use plimsoll_stats::{Random, Sample, StatsError};

use crate::rung::{Row, Rung};

/// What a transaction costs: seconds_per_operation + seconds_per_byte * b.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coefficients {
    /// w0, the cost of a transaction of no bytes; not negative.
    pub seconds_per_operation: f64,
    /// w1, the cost of a byte; not negative.
    pub seconds_per_byte: f64,
}

impl Coefficients {
    /// Returns the share of a second that the model says a row's transactions take: 1 if it is right.
    fn busy(&self, row: &Row) -> f64 {
        self.seconds_per_operation * row.transactions + self.seconds_per_byte * row.bytes
    }
}

/// A coefficient that least squares made negative, which no cost is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Negative {
    /// w0 would have been this.
    Operation(f64),
    /// w1 would have been this.
    Byte(f64),
}

/// Ends of a 95 % bootstrap interval.
pub type Interval = (f64, f64);

/// Coefficients with their uncertainty and what they leave unexplained.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// The coefficients of the medians.
    pub coefficients: Coefficients,
    /// The coefficient that was held at zero because it came out negative.
    pub negative: Option<Negative>,
    /// Interval of w0, by resampling the repetitions; `None` with fewer than two.
    pub operation_interval: Option<Interval>,
    /// Interval of w1.
    pub byte_interval: Option<Interval>,
    /// The medians that were fitted, one row for each rung.
    pub rows: Vec<Row>,
    /// (measured - predicted) / measured time, for each rung.
    pub residuals: Vec<f64>,
}

/// Sizes at the target that differ by less than this factor say the same twice.
const SIZES_APART: f64 = 2.0;

impl Fit {
    /// Fits equation 4 to the medians of the rungs.
    ///
    /// # Errors
    /// [`StatsError::RankDeficient`] when the target's transactions were all of about one size:
    /// the two costs cannot be told apart then. Others if a measure has no time.
    pub fn of(rungs: &[Rung], seed: u64) -> Result<Self, StatsError> {
        let rows = rungs.iter().map(Rung::median_row).collect::<Result<Vec<_>, _>>()?;
        let sizes = Sample::new(rows.iter().map(Row::transaction_size).collect())?;
        if sizes.max() < SIZES_APART * sizes.min() {
            return Err(StatsError::RankDeficient { columns: 2, column: 1 });
        }
        let (coefficients, negative) = solve(&rows)?;
        let (operation_interval, byte_interval) = intervals(rungs, seed).unzip();
        let residuals = rows.iter().map(|row| 1.0 - coefficients.busy(row)).collect();
        Ok(Fit { coefficients, negative, operation_interval, byte_interval, rows, residuals })
    }

    /// Returns the bandwidth that the model predicts for what was asked for on a rung (equation 6).
    pub fn predicted(&self, rung: usize) -> Option<f64> {
        let row = self.rows.get(rung)?;
        Some(row.requested / self.coefficients.busy(row))
    }

    /// Returns the median magnitude of the residuals.
    pub fn median_residual(&self) -> f64 {
        let magnitudes = self.residuals.iter().map(|it| it.abs()).collect();
        Sample::new(magnitudes).map_or(f64::NAN, |sample| sample.median())
    }

    /// Returns the largest magnitude of a residual.
    pub fn max_residual(&self) -> f64 {
        self.residuals.iter().fold(0.0, |most: f64, it| most.max(it.abs()))
    }

    /// Returns the root mean square of the residuals.
    pub fn rms_residual(&self) -> f64 {
        let squares: f64 = self.residuals.iter().map(|it| it * it).sum();
        (squares / self.residuals.len() as f64).sqrt()
    }
}

/// Least squares on relative errors under the condition that no cost is negative. With two
/// coefficients the best point of the border is the best fit of the other one alone.
fn solve(rows: &[Row]) -> Result<(Coefficients, Option<Negative>), StatsError> {
    let test =
        |row: &Row| CostTest { operations: row.transactions, bytes: row.bytes, seconds: 1.0 };
    let free = relative_cost_fit(&rows.iter().map(test).collect::<Vec<_>>())?;
    let coefficients =
        |operation, byte| Coefficients { seconds_per_operation: operation, seconds_per_byte: byte };
    if free.per_operation < 0.0 {
        let byte = single_cost(rows.iter().map(|row| row.bytes));
        return Ok((coefficients(0.0, byte), Some(Negative::Operation(free.per_operation))));
    }
    if free.per_byte < 0.0 {
        let operation = single_cost(rows.iter().map(|row| row.transactions));
        return Ok((coefficients(operation, 0.0), Some(Negative::Byte(free.per_byte))));
    }
    Ok((coefficients(free.per_operation, free.per_byte), None))
}

/// Returns the cost c that makes c x = 1 as nearly as can be for all rates x.
pub(crate) fn single_cost(rates: impl Iterator<Item = f64>) -> f64 {
    let (sum, squares) = rates.fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    sum / squares
}

/// Intervals of both coefficients. Whole repetitions of the ladder are drawn, not single
/// measures: what slows a target for a while slows the neighbours on the ladder too.
fn intervals(rungs: &[Rung], seed: u64) -> Option<(Interval, Interval)> {
    const RESAMPLES: usize = 2000;
    let repetitions = rungs.iter().map(|rung| rung.measures.len()).min()?;
    if repetitions < 2 {
        return None;
    }
    let mut random = Random::for_stream(seed, INTERVAL_STREAM);
    let mut drawn = vec![0; repetitions];
    let (mut operations, mut bytes) = (Vec::new(), Vec::new());
    for _ in 0..RESAMPLES {
        drawn.fill_with(|| random.index(repetitions));
        let rows: Option<Vec<Row>> = rungs.iter().map(|rung| rung.row(&drawn).ok()).collect();
        let (coefficients, _) = solve(&rows?).ok()?;
        operations.push(coefficients.seconds_per_operation);
        bytes.push(coefficients.seconds_per_byte);
    }
    Some((middle(operations)?, middle(bytes)?))
}

/// Apart from the streams of the order of the ladder and of the offsets.
const INTERVAL_STREAM: u64 = 0x1c_a1;

fn middle(mut values: Vec<f64>) -> Option<Interval> {
    values.sort_by(f64::total_cmp);
    Some((quantile_sorted(&values, 0.025)?, quantile_sorted(&values, 0.975)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rung::tests::rung;

    const SIZES: [u64; 6] = [4096, 16_384, 65_536, 262_144, 1 << 20, 4 << 20];

    fn ladder(seconds: fn(f64) -> f64) -> Vec<Rung> {
        let noise = [0.99, 1.0, 1.01, 0.995, 1.005];
        SIZES
            .map(|size| rung(size, &noise.map(|factor| 100.0 * factor * seconds(size as f64))))
            .to_vec()
    }

    #[test]
    fn recovers_table_one() {
        let fit = Fit::of(&ladder(|b| 1.04e-3 + 1.73e-9 * b), 1).unwrap();
        assert!((fit.coefficients.seconds_per_operation / 1.04e-3 - 1.0).abs() < 1e-9);
        assert!((fit.coefficients.seconds_per_byte / 1.73e-9 - 1.0).abs() < 1e-9);
        assert_eq!(fit.negative, None);
        assert!(fit.max_residual() < 1e-9);
        let (low, high) = fit.operation_interval.unwrap();
        assert!(low < 1.04e-3 && 1.04e-3 < high && high / low < 1.03, "{low} {high}");
        let predicted = fit.predicted(0).unwrap();
        assert!((predicted / (4096.0 / (1.04e-3 + 1.73e-9 * 4096.0)) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn no_cost_is_negative_and_that_is_said() {
        // Slightly less than in proportion to the size: least squares alone gives w0 < 0.
        let fit = Fit::of(&ladder(|b| 1e-8 * b - 2e-6), 1).unwrap();
        assert_eq!(fit.coefficients.seconds_per_operation, 0.0);
        assert!(matches!(fit.negative, Some(Negative::Operation(w0)) if w0 < 0.0));
        let fit = Fit::of(&ladder(|b| 1e-3 - 1e-12 * b), 1).unwrap();
        assert_eq!(fit.coefficients.seconds_per_byte, 0.0);
        assert!(matches!(fit.negative, Some(Negative::Byte(w1)) if w1 < 0.0));
    }

    #[test]
    fn one_size_at_the_target_is_not_enough() {
        let same = [rung(4096, &[1.0, 1.1]), rung(6144, &[1.5, 1.4])];
        assert!(matches!(Fit::of(&same, 1), Err(StatsError::RankDeficient { .. })));
    }

    #[test]
    fn a_seed_fixes_the_interval_and_one_repetition_gives_none() {
        let ladder = ladder(|b| 1e-3 + 1e-9 * b);
        assert_eq!(Fit::of(&ladder, 7), Fit::of(&ladder, 7));
        let once = SIZES.map(|size| rung(size, &[0.1 + size as f64 * 1e-7])).to_vec();
        assert_eq!(Fit::of(&once, 1).unwrap().operation_interval, None);
    }
}
