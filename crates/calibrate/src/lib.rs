//! What an operation and a byte cost on a target: Uselton's ladder and its fit.
//!
//! A ladder of transfer sizes, each transfer after a random seek in a file that was written in
//! full before (Uselton and Wright, figure 4), gives for each size b the time T of N(b)
//! transactions. The N that count are those that the device did, not those that were requested
//! (section IV). Least squares on relative errors (equation 4) gives the cost of an operation
//! and that of a byte, separately for reads and writes, and [`Verdict`] says whether these two
//! explain what was measured.
//!
//! [`calibrate`](fn@calibrate) does what a [`CalibrationPlan`] says on a [`CalibrationTarget`] and returns a
//! [`Calibration`].
//!
//! Deliberately not here: the transfers themselves (the `engine` crate's), printing, and the
//! use of the costs (`theory::transaction`).

mod calibration;
mod error;
mod fit;
mod ladder;
mod plan;
mod rung;
mod scratch;
mod transactions;
mod verdict;

pub use calibration::{Calibration, CalibrationTarget, DirectionFit, calibrate};
pub use error::CalibrateError;
pub use fit::{Coefficients, Fit, Interval, Negative};
pub use ladder::Step;
pub use plan::{CalibrationPlan, Turn};
pub use rung::{Measure, Row, Rung};
pub use transactions::{Counters, Done, Snapshot};
pub use verdict::{Cause, SIZES_TESTED, TOLERATED_MISFIT, Verdict};
