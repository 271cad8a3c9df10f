//! Processes that wait for others, and who answers the signals meanwhile.
//!
//! A command that we run in the user's place answers signals itself ([`run_to_end`]). A process that works
//! for another one of ours leaves the answer to that one ([`leave_end_to_coordinator`]).
//!
//! Deliberately not here: what a process does that is asked to end (`cli`), and messages between processes (`wire`).

mod forward;
mod run;
mod signals;

pub use run::run_to_end;
pub use signals::{ASK_TO_END, leave_end_to_coordinator};
