//! Moves one burst of one process: opens, transfers, makes durable, checks.
//!
//! A [`Burst`] says what to do. [`Prepared::open`] does everything that must not be measured,
//! [`Prepared::transfer`] exactly what must, and [`Prepared::finish`] what comes after.

pub mod burst;

pub use burst::{Burst, Stripe};
