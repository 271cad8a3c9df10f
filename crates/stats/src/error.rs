//! What can be wrong with a request for a statistic.

use thiserror::Error;

/// Why a statistic could not be computed.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum StatsError {
    /// There were no values at all.
    #[error("cannot describe an empty set of values")]
    Empty,
    /// A value is NaN or infinite.
    #[error("cannot use value {value} at position {position}: not a finite number")]
    NotFinite {
        /// Position in the input, counted from 0.
        position: usize,
        /// The value found there.
        value: f64,
    },
    /// Fewer observations than the method needs.
    #[error("cannot compute {what} from {n} values: at least {needed} needed")]
    TooFew {
        /// The statistic that was asked for.
        what: &'static str,
        /// Observations given.
        n: usize,
        /// Observations needed.
        needed: usize,
    },
    /// No pair of order statistics reaches the confidence asked for.
    #[error(
        "cannot bound the {probability} quantile with confidence {confidence} \
         from {n} values: at least {needed} needed"
    )]
    TooFewForConfidence {
        /// The quantile's probability.
        probability: f64,
        /// The confidence asked for.
        confidence: f64,
        /// Observations given.
        n: usize,
        /// The least number of observations that reaches the confidence.
        needed: usize,
    },
    /// A parameter lies outside its range.
    #[error("cannot use {what} {value}: must be {range}")]
    OutOfRange {
        /// The parameter.
        what: &'static str,
        /// The value given.
        value: f64,
        /// The range allowed, in words.
        range: &'static str,
    },
    /// Two inputs that belong together differ in length.
    #[error("cannot pair {left} values with {right}: lengths differ")]
    LengthMismatch {
        /// Length of the first input.
        left: usize,
        /// Length of the second input.
        right: usize,
    },
    /// All values are equal where the statistic divides by their spread.
    #[error("cannot compute {what}: all values are equal")]
    NoVariation {
        /// The statistic that was asked for.
        what: &'static str,
    },
    /// The columns of a regression do not determine its coefficients.
    #[error("cannot fit {columns} coefficients: column {column} depends on those before it")]
    RankDeficient {
        /// Number of columns.
        columns: usize,
        /// First dependent column, counted from 0.
        column: usize,
    },
    /// A statistic, or an intermediate sum, exceeds the range of a double.
    #[error("cannot compute {what}: result exceeds the range of a double")]
    Overflow {
        /// The statistic that was asked for.
        what: &'static str,
    },
    /// The statistic is not a finite number on some bootstrap resamples.
    #[error("cannot bootstrap: statistic undefined on {undefined} of {resamples} resamples")]
    StatisticUndefined {
        /// Resamples on which the statistic was NaN or infinite.
        undefined: usize,
        /// Resamples drawn.
        resamples: usize,
    },
    /// All bootstrap replicates lie on one side of the estimate, so the bias
    /// correction of the BCa interval is infinite.
    #[error("cannot correct bootstrap bias: all replicates lie on one side of the estimate")]
    BiasUndefined,
}

/// Fails on the first NaN or infinity, naming its position.
pub(crate) fn check_finite(values: &[f64]) -> Result<(), StatsError> {
    match values.iter().position(|v| !v.is_finite()) {
        Some(position) => Err(StatsError::NotFinite { position, value: values[position] }),
        None => Ok(()),
    }
}

/// Fails unless `0 < confidence < 1`.
pub(crate) fn check_confidence(confidence: f64) -> Result<(), StatsError> {
    if confidence > 0.0 && confidence < 1.0 {
        Ok(())
    } else {
        Err(StatsError::OutOfRange {
            what: "confidence",
            value: confidence,
            range: "between 0 and 1, both excluded",
        })
    }
}
