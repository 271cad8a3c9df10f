//! The three roles together: one coordinator, a sub-coordinator for each target, a client for each
//! writer.

use super::{Client, Coordinator, RoleSettings, SourceChoice, Sub};
use crate::{ActorId, Input, Machine, Outputs, Router, TargetId};

/// All machines of policy `coordinator`, numbered by their [`Layout`](super::Layout).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Roles<S> {
    settings: RoleSettings,
    coordinator: Coordinator<S>,
    subs: Vec<Sub>,
    clients: Vec<Client>,
}

impl<S: SourceChoice> Roles<S> {
    /// Makes the machines. `choice` says whom the coordinator asks first.
    pub fn new(settings: RoleSettings, choice: S) -> Self {
        let layout = settings.layout;
        Roles {
            settings,
            coordinator: Coordinator::new(settings, choice),
            subs: (0..layout.targets).map(|target| Sub::new(settings, TargetId(target))).collect(),
            clients: (0..layout.writers).map(|writer| Client::new(settings, writer)).collect(),
        }
    }

    /// The coordinator's choice, for a checker that lets it choose anything.
    pub fn choice_mut(&mut self) -> &mut S {
        self.coordinator.policy_mut()
    }

    /// The sub-coordinators, to look at.
    pub fn subs(&self) -> &[Sub] {
        &self.subs
    }
}

impl<S: SourceChoice> Router for Roles<S> {
    fn actors(&self) -> u32 {
        self.settings.layout.actors()
    }

    fn actor_of(&self, writer: u32) -> ActorId {
        self.settings.layout.client(writer)
    }

    fn writer_of(&self, actor: ActorId) -> Option<u32> {
        actor.0.checked_sub(self.settings.layout.client(0).0)
    }

    fn coordinator(&self) -> Option<ActorId> {
        Some(self.settings.layout.coordinator())
    }

    fn step<O: Outputs>(&mut self, actor: ActorId, now_ns: u64, input: Input, out: &mut O) {
        if let Some(client) = self.writer_of(actor) {
            self.clients[client as usize].step(now_ns, input, out);
        } else if let Some(target) = self.settings.layout.target_of(actor) {
            self.subs[target.index()].step(now_ns, input, out);
        } else {
            self.coordinator.step(now_ns, input, out);
        }
    }
}
