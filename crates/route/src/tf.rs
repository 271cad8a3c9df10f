//! The throttling factor as people ask for it.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::{Factor, PolicyError};

/// A throttling factor as it is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tf {
    /// This one.
    Given(f64),
    /// TF*: the least with which all targets can end together (Huang's equation 1).
    Optimal,
    /// No bound.
    Unbounded,
}

impl Tf {
    /// Factors that make sense: with 1e6 a target may take in everything.
    pub const RANGE: RangeInclusive<f64> = 0.0..=1e6;

    /// Returns the factor as routers take it; `optimal` is asked only if it is wanted.
    ///
    /// # Errors
    /// Fails if `optimal` does.
    pub fn factor<E>(self, optimal: impl FnOnce() -> Result<f64, E>) -> Result<Factor, E> {
        let value = match self {
            Tf::Unbounded => return Ok(Factor::NONE),
            Tf::Given(value) => value,
            Tf::Optimal => optimal()?,
        };
        Ok(Factor::from_millionths((value * 1e6).round() as u64))
    }
}

impl FromStr for Tf {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let (number, parts) = match text.strip_suffix('%') {
            Some(percent) => (percent.trim_end(), 100.0),
            None => (text, 1.0),
        };
        match (text, number.parse::<f64>().map(|value| value / parts)) {
            ("optimal", _) => Ok(Tf::Optimal),
            ("none", _) => Ok(Tf::Unbounded),
            // The sum has no sign where the value is a negative zero.
            (_, Ok(value)) if Tf::RANGE.contains(&value) => Ok(Tf::Given(value + 0.0)),
            _ => Err(PolicyError(format!(
                "tf={text} is not a throttling factor; hint: tf=0.1, tf=optimal or tf=none"
            ))),
        }
    }
}

impl fmt::Display for Tf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tf::Given(value) => write!(f, "{value}"),
            Tf::Optimal => f.write_str("optimal"),
            Tf::Unbounded => f.write_str("none"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_millionths_and_the_optimum_is_asked_for_only_when_wanted() {
        let never = || -> Result<f64, ()> { panic!("nobody asked") };
        assert_eq!(Tf::Given(0.307_692_4).factor(never), Ok(Factor::from_millionths(307_692)));
        assert_eq!(Tf::Unbounded.factor(never), Ok(Factor::NONE));
        assert_eq!(Tf::Optimal.factor(|| Ok::<_, ()>(0.25)), Ok(Factor::from_millionths(250_000)));
        assert_eq!(Tf::Optimal.factor(|| Err("no rates")), Err("no rates"));
    }
}
