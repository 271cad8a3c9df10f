//! The nouns of Plimsoll: quantities with their units, and the site file that
//! describes the storage.
//!
//! - [`Bytes`], [`BytesPerSec`], [`OpsPerSec`], [`Nanos`], [`Limit`]: quantities as people write them.
//! - [`Counter`] and [`Change`]: a counter that was read twice; [`moment`]: dates and hours.
//! - [`burst`]: what a process moves, and how; [`site`]: the storage, described once.
//!
//! Everything here is data: parse, print, check. Quantities are whole numbers of
//! their base unit and convert to and from the way people write them without
//! rounding; rounding for display belongs to the `report` crate. Nothing here
//! looks at the machine; that is the `machine` crate.

mod counter;
mod decimal;
mod duration;
mod limit;
mod natural;
mod rate;
mod size;

pub mod burst;
pub mod moment;
pub mod site;

pub use counter::{Change, Counter};
pub use decimal::QuantityError;
pub use duration::Nanos;
pub use limit::Limit;
pub use natural::natural;
pub use rate::{BytesPerSec, OpsPerSec};
pub use size::Bytes;
