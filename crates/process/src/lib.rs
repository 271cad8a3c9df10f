//! Processes that wait for others, and who answers the signals meanwhile.
//!
//! A command that we run in the user's place answers signals itself ([`run_to_end`]). A process that works
//! for another one of ours leaves the answer to that one ([`leave_end_to_coordinator`]).
//!
//! A process that waits for a program does not show the program's arguments ([`hide_last_arguments`]).
//! No process takes more memory than it may ([`limit_memory`]), and none keeps a terminal that it took over ([`TakenTerminal`]).
//!
//! Deliberately not here: what a process does that is asked to end (`cli`), and messages between processes (`wire`).

mod forward;
mod inherited;
mod memory_limit;
mod own_arguments;
mod run;
mod signals;
mod terminal;

pub use memory_limit::{LimitedMemory, limit_memory, memory_limit};
pub use own_arguments::hide_last_arguments;
pub use run::{execute, run_to_end};
pub use signals::{ASK_TO_END, leave_end_to_coordinator, outlive_limit_of_file_size};
pub use terminal::TakenTerminal;
