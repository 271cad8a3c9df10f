use thiserror::Error;

/// Why a question has no answer. Each is one line.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum TheoryError {
    /// A count is outside of what the model covers.
    #[error("{what} is {value}, must be from {least} to {most}")]
    Count {
        /// Which count.
        what: &'static str,
        /// What was given.
        value: u64,
        /// The least that makes sense.
        least: u64,
        /// The most that makes sense or is supported.
        most: u64,
    },
    /// A real number is outside of what the model covers (NaN included).
    #[error("{what} is {value}, must be {must_be}")]
    Real {
        /// Which value.
        what: &'static str,
        /// What was given.
        value: f64,
        /// What would make sense.
        must_be: &'static str,
    },
    /// Each value is possible, together they are not.
    #[error("{0}")]
    Together(String),
    /// There is no answer within what is supported.
    #[error("no answer: {0}")]
    NoAnswer(String),
}

/// `value` if it is from `least` to `most`.
pub(crate) fn count(
    what: &'static str,
    value: u64,
    least: u64,
    most: u64,
) -> Result<u64, TheoryError> {
    if (least..=most).contains(&value) {
        Ok(value)
    } else {
        Err(TheoryError::Count { what, value, least, most })
    }
}

/// `value` if it is finite and greater than zero.
pub(crate) fn positive(what: &'static str, value: f64) -> Result<f64, TheoryError> {
    if value.is_finite() && value > 0.0 {
        Ok(value)
    } else {
        Err(TheoryError::Real { what, value, must_be: "finite and greater than zero" })
    }
}

/// `value` if it is finite and not negative.
pub(crate) fn not_negative(what: &'static str, value: f64) -> Result<f64, TheoryError> {
    if value.is_finite() && value >= 0.0 {
        Ok(value)
    } else {
        Err(TheoryError::Real { what, value, must_be: "finite and not negative" })
    }
}
