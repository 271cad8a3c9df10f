//! Takes the segments of containers to the targets that are fast now: a [`Router`](plimsoll_stow::Router) by the law of `window`, which the
//! processes of a user on a node share through their memory.
//!
//! Each segment is a lease. A lease counts as under way from the end of its segment until anybody sees that the kernel has written it out; whoever waits
//! for room looks at the segments of all processes, also at those of other containers. Leases only count bytes: what a container
//! holds never depends on them.
//!
//! Processes with the same targets share one memory, wherever their containers are; with a throttle, each container has one of its
//! own, because its balance is the container's. It is a file in a private directory in `/dev/shm`, whoever else takes its name there; the last one who uses it removes it.
//! Where there is none, or it is full, a process routes for itself.
//!
//! A [`Crew`] makes the pilots of a process that writes whatever files its program does. The first segment of each writer is no lease, and
//! what a writer may write beyond the window (its *buffer*) is placed where it would be written out first, and becomes leases on the same targets as these
//! have room, before anything new does.
//!
//! A [`RunTally`] counts what all processes of a run write, for whoever started it.
//!
//! Not here: threads, and what is written.

mod buffer;
mod course;
mod crew;
mod eyes;
mod held;
mod memory;
mod others;
mod pilot;
mod place;
mod run_tally;

pub use crew::Crew;
pub use memory::{KeptMemory, MemoryError};
pub use pilot::Pilot;
pub use run_tally::{RunTally, RunTotals};
