//! A recording from outside: where it is kept, what begins it, what a program needs to be recorded, and how to
//! collect what a crash left behind.
//!
//! The calls themselves are recorded by the preload library, which knows all this from the variables of
//! `trace::variables`.
//!
//! [`Launch`] prepares a recording, [`collect`](fn@collect) gathers what is left of one. [`Stowing`] prepares a program whose files are containers: the library is the
//! same.
//!
//! Deliberately not here: recording calls (`preload`), the format (`trace`), waiting for the program and ending like it (`cli`).

mod collect;
mod directory;
mod error;
mod key;
mod launch;
pub mod marker;
mod nested;
mod newest;
mod spool;
mod stowing;
mod unseen;

pub use collect::{Collected, Others, collect};
pub use error::RecordError;
pub use key::{rank, recording_around};
pub use launch::{Launch, Prepared};
pub use newest::newest;
pub use stowing::Stowing;
