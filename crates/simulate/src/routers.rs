//! The machines of `route`, put together as each router needs them.

mod nodes;
mod paper;

pub use nodes::Nodes;
pub use paper::Coordinated;

use plimsoll_route::{AttemptId, Input};

use crate::host::Host;

/// All machines of a router. Actors are numbered from 0.
pub trait Routers {
    /// How many there are.
    fn actors(&self) -> usize;
    /// The actor that takes a process's writes.
    fn actor_of(&self, process: u32) -> u32;
    /// Something happened to an actor.
    fn step(&mut self, actor: u32, input: Input, host: &mut Host);
    /// Reads what the end of an attempt will need, and changes nothing.
    fn warm(&self, _actor: u32, _attempt: AttemptId, _depth: u8) -> u64 {
        0
    }
    /// The process whose data an attempt carries, where that is quickly told.
    fn writer_of(&self, _actor: u32, _attempt: AttemptId) -> Option<u32> {
        None
    }
    /// The actor that all others depend on, if there is one.
    fn coordinator(&self) -> Option<u32>;
}
