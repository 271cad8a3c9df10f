//! Runs experiments: plan, schedule, a team of processes, results.
//!
//! An experiment is what Xie (section 3, figure 6) calls one: runs, each a sequence of groups, each
//! a round for every burst size, each an instance for every value of the parameter that is varied.
//!
//! | question | module | |
//! |---|---|---|
//! | What is measured? | [`plan`], [`template`] | pure |
//! | In which order, at which cost, until when? | [`schedule`], [`estimate`](mod@estimate), [`stopping`] | pure |
//! | What is it in words? | [`describe`] | pure |
//! | Where does it run? | [`environment`] | |
//! | Can the targets be used? Which bursts outlast their caches? | [`preflight`], [`growth`] | |
//! | Who does it? | [`job`] has a [`Team`]: [`local_team`], or [`mpi_team`] with its [`launcher`]; [`worker`] is one of them | |
//! | What happens? | [`stage`], [`runner`], [`measuring`], [`load`], [`warm_up`] | |
//!
//! Deliberately not here: how one process moves its bytes (`engine`), the form of the results
//! (`measures`), what follows from them (`score`).

mod choice;
pub mod describe;
pub mod environment;
pub mod estimate;
pub mod growth;
pub mod job;
pub mod launcher;
pub mod load;
pub mod local_team;
pub mod measuring;
mod message;
mod mpi;
pub mod mpi_team;
pub mod plan;
pub mod preflight;
mod process_plan;
mod release;
pub mod runner;
pub mod schedule;
mod shape;
pub mod stage;
pub mod stopping;
mod team;
pub mod template;
pub mod warm_up;
pub mod worker;
mod workplace;

pub use message::Done;
pub use mpi::LIBRARY_VARIABLE;
pub use team::{Member, NotDone, Part, Team, TeamError};
