//! Moves one burst of one process: opens, transfers, makes durable, checks.
//!
//! A [`Burst`] says what to do. [`Prepared::open`] does everything that must not be measured,
//! [`Prepared::transfer`] exactly what must, and [`Prepared::finish`] what comes after. Between
//! the first two a caller puts its barrier, and around the second its clock.
//!
//! Deliberately not here: processes, barriers, clocks and the removal of files (the caller's),
//! and any repetition of what failed: a burst that did not arrive whole is an error.

pub mod burst;
mod check;
mod content;
mod direct_io;
mod error;
mod file_layout;
mod files;
mod finished;
mod lustre;
mod memory;
mod mismatch;
mod moved;
mod page_cache;
mod permutation;
mod prepared;
mod supply;
mod synchronous;
mod transfers;
mod uring;

pub use burst::{Burst, Stripe};
pub use check::{DEPTH_MAX, TRANSFER_MAX, check};
pub use error::EngineError;
pub use file_layout::FileLayout;
pub use files::Source;
pub use finished::{CacheKeptOut, Finished, PageCache};
pub use lustre::parse_file_layout;
pub use memory::Memory;
pub use mismatch::Mismatch;
pub use page_cache::Dropped;
pub use permutation::Permutation;
pub use prepared::Prepared;
pub use uring::ring_of;
