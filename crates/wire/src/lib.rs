//! What the processes of one measurement share: framed messages, and the clock of their machine.
//!
//! A measuring command starts processes of the same program and talks to them over a socket or
//! a pipe. [`send`] and [`receive`] carry any serialisable message there; [`clock`] gives times
//! that all of them can compare.
//!
//! Deliberately not here: what the messages say, and how processes are started (`bench`, `race`).

pub mod clock;
mod framing;

pub use framing::{MESSAGE_BYTES_MAX, framed, receive, send};
