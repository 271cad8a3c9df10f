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
    /// Asks for the memory that the end of an attempt will need, one depth of it, and says
    /// whose data it is where that is known by now.
    fn prefetch(&self, _actor: u32, _attempt: AttemptId, _depth: usize) -> Option<u32> {
        None
    }
    /// The actor that all others depend on, if there is one.
    fn coordinator(&self) -> Option<u32>;
}

/// Puts something around the machines of a router: a fault, to see that it is found.
pub trait Around {
    /// The machines with it.
    fn around(&self, routers: impl Routers) -> impl Routers;
}

/// Nothing around the machines.
pub struct AsTheyAre;

impl Around for AsTheyAre {
    fn around(&self, routers: impl Routers) -> impl Routers {
        routers
    }
}
