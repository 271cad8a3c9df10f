//! The paper's roles as one party of the model.

use plimsoll_route::paper::{Client, Coordinator, Layout, PaperSettings, SourceChoice, Sub};
use plimsoll_route::{ActorId, Input, Machine, TargetId};

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
    layout: Layout,
    largest_bytes: u64,
    coordinator: Coordinator<Anyone>,
    subs: Vec<Sub>,
    clients: Vec<Client>,
}

impl Roles {
    pub fn new(settings: PaperSettings, largest_bytes: u64) -> Self {
        let layout = settings.layout;
        Roles {
            layout,
            largest_bytes,
            coordinator: Coordinator::new(settings, Anyone::default()),
            subs: (0..layout.targets).map(|target| Sub::new(settings, TargetId(target))).collect(),
            clients: (0..layout.writers).map(|writer| Client::new(settings, writer)).collect(),
        }
    }
}

impl Party for Roles {
    fn step(&mut self, actor: ActorId, input: Input, out: &mut Effects) {
        let targets = u32::from(self.layout.targets);
        match actor.0 {
            0 => self.coordinator.step(0, input, out),
            sub if sub <= targets => self.subs[sub as usize - 1].step(0, input, out),
            client => self.clients[(client - targets - 1) as usize].step(0, input, out),
        }
    }

    fn actors(&self) -> u32 {
        self.layout.actors()
    }

    fn home(&self, writer: u32) -> ActorId {
        self.layout.client(writer)
    }

    fn advise(&mut self, advice: u16) {
        self.coordinator.policy_mut().advice = advice;
    }

    fn targets(&self) -> usize {
        self.subs.len()
    }

    fn roles(&self) -> u32 {
        1 + u32::from(self.layout.targets)
    }

    fn is_throttle_kept(&self) -> bool {
        self.subs.iter().all(|sub| sub.throttle().is_kept(self.largest_bytes))
    }
}
