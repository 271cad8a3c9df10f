//! What is known of storage over time.
//!
//! - [`Component`]: what is watched; [`Measure`]: what is measured of it, one table.
//! - [`Reading`]: counters and levels as they were read; [`Differences`]: what happened between two of them.
//!
//! Deliberately not here: where readings come from, and what they say about the storage.

mod component;
mod differences;
mod measure;
mod reading;

pub use component::{Component, ComponentKind};
pub use differences::{Difference, Differences, Since};
pub use measure::{Aging, Form, Measure};
pub use reading::{Reading, Value};
