//! Huang's coordinator, sub-coordinators and clients.

use plimsoll_route::paper::{
    ByQueue, Client, Coordinator, Layout, PaperSettings, RoundRobin, SourceChoice, Sub,
};
use plimsoll_route::{Factor, Input, Machine, TargetId};

use super::Routers;
use crate::host::Host;
use crate::scenario::{Policy, Scenario};

/// One coordinator, one sub-coordinator for each target, one client for each process.
pub struct Coordinated {
    layout: Layout,
    coordinator: Coordinator<Sources>,
    subs: Vec<Sub>,
    clients: Vec<Client>,
}

impl Coordinated {
    /// The machines of a scenario.
    pub fn new(scenario: &Scenario, policy: &Policy, factor: Factor) -> Self {
        let layout = Layout {
            targets: scenario.storage.targets as u16,
            writers: scenario.application.processes,
        };
        let mut settings = PaperSettings::new(layout);
        settings.factor = factor;
        settings.status_inquiry = policy.inquiry;
        settings.remembers_rejects = policy.remembers_rejects();
        settings.part_bytes = policy.split.map_or(0, |split| split.get());
        let network = &scenario.network;
        if network.loss > 0.0 || network.repeat > 0.0 {
            // Well beyond a round trip, so that what is only on its way is not said twice.
            settings.retry_ns = (network.message_latency.get() * 20).max(1_000_000);
        }
        Coordinated {
            layout,
            coordinator: Coordinator::new(settings, Sources::new(policy.inquiry)),
            subs: (0..layout.targets).map(|target| Sub::new(settings, TargetId(target))).collect(),
            clients: (0..layout.writers).map(|writer| Client::new(settings, writer)).collect(),
        }
    }

    fn first_client(&self) -> u32 {
        1 + u32::from(self.layout.targets)
    }
}

impl Routers for Coordinated {
    fn actors(&self) -> usize {
        self.layout.actors() as usize
    }

    fn actor_of(&self, process: u32) -> u32 {
        self.first_client() + process
    }

    fn step(&mut self, actor: u32, input: Input, host: &mut Host) {
        host.actor = actor;
        let now_ns = host.now_ns;
        if let Some(client) = actor.checked_sub(self.first_client()) {
            // A process that died hears nothing.
            if host.program.is_alive(client) {
                self.clients[client as usize].step(now_ns, input, host);
            }
        } else if actor == 0 {
            self.coordinator.step(now_ns, input, host);
        } else {
            self.subs[actor as usize - 1].step(now_ns, input, host);
        }
    }

    fn coordinator(&self) -> Option<u32> {
        Some(0)
    }
}

/// Whom the coordinator asks first: the longest queue if it inquired, else one after the
/// other.
#[derive(Debug, Clone)]
enum Sources {
    ByQueue(ByQueue),
    RoundRobin(RoundRobin),
}

impl Sources {
    fn new(is_inquiring: bool) -> Self {
        match is_inquiring {
            true => Sources::ByQueue(ByQueue),
            false => Sources::RoundRobin(RoundRobin::default()),
        }
    }
}

impl SourceChoice for Sources {
    fn inquired(&mut self, sources: &mut Vec<u16>, queued_bytes: &[u64]) {
        match self {
            Sources::ByQueue(choice) => choice.inquired(sources, queued_bytes),
            Sources::RoundRobin(choice) => choice.inquired(sources, queued_bytes),
        }
    }

    fn choose(&mut self, taker: TargetId, sources: &[u16]) -> usize {
        match self {
            Sources::ByQueue(choice) => choice.choose(taker, sources),
            Sources::RoundRobin(choice) => choice.choose(taker, sources),
        }
    }
}
