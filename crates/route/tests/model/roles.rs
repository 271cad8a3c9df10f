//! The roles of policy coordinator as one party of the model.

use plimsoll_route::coordinated::{self, RoleSettings, SourceChoice};
use plimsoll_route::{ActorId, Input, Router, TargetId};

use super::{Effects, Party};

/// A policy that does as it is told; the checker tells it everything.
#[derive(Clone, Debug, Default, Hash, PartialEq, Eq)]
pub struct Anyone {
    pub advice: u16,
}

impl SourceChoice for Anyone {
    fn choose(&mut self, _taker: TargetId, _sources: &[u16]) -> usize {
        usize::from(self.advice)
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub struct Roles {
    roles: coordinated::Roles<Anyone>,
    largest_bytes: u64,
}

impl Roles {
    pub fn new(settings: RoleSettings, largest_bytes: u64) -> Self {
        Roles { roles: coordinated::Roles::new(settings, Anyone::default()), largest_bytes }
    }
}

impl Party for Roles {
    fn step(&mut self, actor: ActorId, input: Input, out: &mut Effects) {
        self.roles.step(actor, 0, input, out);
    }

    fn actors(&self) -> u32 {
        self.roles.actors()
    }

    fn home(&self, writer: u32) -> ActorId {
        self.roles.actor_of(writer)
    }

    fn advise(&mut self, advice: u16) {
        self.roles.choice_mut().advice = advice;
    }

    fn targets(&self) -> usize {
        self.roles.subs().len()
    }

    fn roles(&self) -> u32 {
        1 + self.targets() as u32
    }

    fn is_throttle_kept(&self) -> bool {
        self.roles.subs().iter().all(|sub| sub.throttle().is_kept(self.largest_bytes))
    }
}
