//! Races the routers of `route` on real targets of one machine.
//!
//! The coordinator hosts a router's machines in one event loop ([`race()`]). Writer processes,
//! started from the program itself ([`serve`]), have the data and write it by io_uring, each
//! into a file of its own on every target. Between them lies a socket.
//!
//! The makespan is from the first submission to the last fdatasync of a file that holds
//! committed data; creating the files before and removing them after is not in it. Messages
//! between the roles of `paper` stay within the coordinator: they cost no time here.
//!
//! Books are kept by the host, not by the router: what was submitted, which attempt of which
//! identity was committed and where it lies. So a router that commits twice, or not at all, or
//! that loses data is found out ([`Outcome::is_sound`]), and the data is read back page by page.
//!
//! Deliberately not here: what the targets can do (limits and bounds are the caller's), several
//! nodes, recovery of what a dead process left behind.

mod books;
mod change;
mod error;
mod flights;
mod fluid;
mod host;
mod order;
mod outcome;
mod race;
mod read_back;
mod router;
mod stamp;
mod team;
mod writer;

pub use books::Committed;
pub use change::Change;
pub use error::RaceError;
pub use fluid::{RateChange, fluid_bound};
pub use order::Way;
pub use outcome::{Loss, Outcome, ReadBack};
pub use race::{Course, Entry, race};
pub use router::{Policy, home};
pub use team::Program;
pub use writer::serve;
