//! Closed-form answers about parallel storage, each with its paper and equation.
//!
//! - [`Contention`]: jobs that choose targets at random contend for them
//!   (Wright, equations 6.1 to 6.6), with the whole distribution, and a seeded
//!   simulation ([`simulate_placement`]) to compare it with.
//! - [`Noise`] and [`MeasuredRates`]: how much data to re-route away from slow targets
//!   (Huang, equation 1, and its general form).
//! - [`Absorption`]: when a client cache hides output bursts (Xie, section 2.1).
//! - [`Pattern`] and [`TransactionCost`]: how busy transactions keep a target
//!   (Uselton and Wright, equations 1 to 7).
//!
//! What no model can answer is a [`TheoryError`] in the words of the models.
//!
//! Formulas only: base units in, base units out, nothing read, measured or printed, and no option of a
//! command known by name. What changes over time belongs to the simulator.

mod absorption;
mod contention;
mod error;
mod inverse;
mod noise;
mod occupancy;
mod placement;
mod rates;
mod transaction;

pub use absorption::Absorption;
pub use contention::{Contention, JOBS_MAX, Requests, TARGETS_MAX};
pub use error::{Problem, Quantity, TheoryError};
pub use noise::Noise;
pub use occupancy::{Occupancy, WorstTarget};
pub use placement::{DRAWS_MAX, PlacementBand, PlacementRuns, Spread, simulate_placement};
pub use rates::{MeasuredRates, RateChange, TargetShare};
pub use transaction::{Class, OPTIMAL_BYTES, Operations, Pattern, TransactionCost};
