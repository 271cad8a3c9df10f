//! What an operation and a byte cost on a target: Uselton's ladder and its fit.

mod fit;
mod rung;
mod verdict;

pub use fit::{Coefficients, Fit, Interval, Negative};
pub use rung::{Measure, Row, Rung};
pub use verdict::{Cause, TOLERATED_MISFIT, Verdict};
