//! Races the routers of `route` on real targets of one machine.
//!
//! A [`RacePlan`] says who races on which targets, how often, and what the targets allow at best;
//! [`RacePlan::race_all`] does it. Limits of a test bed may drop meanwhile ([`LimitDrop`]); a
//! process of its own restores them when the race is killed ([`Keeper`]).
//!
//! The coordinator hosts a router's machines in one event loop ([`race()`]). Writer processes,
//! started from the program itself ([`serve`]), have the data and write it by io_uring, each
//! into a file of its own on every target. Between them lies a socket.
//!
//! The makespan is from the first submission to the last fdatasync of a file that holds
//! committed data; creating the files before and removing them after is not in it. Messages
//! between the roles of `coordinator` stay within the coordinator: they cost no time here.
//!
//! A ledger is kept by the host, not by the router: what was submitted, which attempt of which
//! identity was committed and where it lies. So a router that commits twice, or not at all, or
//! that loses data is found out ([`RaceOutcome::is_sound`]), and the data is read back page by page.
//!
//! Deliberately not here: the routers (`route`), the bound as a formula (`theory`), several nodes,
//! recovery of what a dead process left behind.

mod bounds;
mod change;
mod contender;
mod course;
mod error;
mod files;
mod host;
mod keeper;
mod ledger;
mod limit_drop;
mod order;
mod outcome;
mod plan;
mod race;
mod read_back;
mod shared_ledger;
mod sharer;
mod stamp;
mod targets;
mod team;
mod write_queue;
mod writer;

pub use bounds::Counted;
pub use change::Change;
pub use contender::{Contender, Racer};
pub use course::Course;
pub use error::RaceError;
pub use keeper::{GivenBack, Keeper, keep};
pub use ledger::Committed;
pub use limit_drop::LimitDrop;
pub use order::Way;
pub use outcome::{Loss, RaceOutcome, ReadBack};
pub use plan::{FinishedRace, RacePlan, policies};
pub use race::{Entry, place_of_memory, race};
pub use targets::{RaceTarget, RateSource, Targets};
pub use team::Program;
pub use writer::serve;
