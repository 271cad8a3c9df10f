//! Routers without a coordinator: each node decides for its processes.

use std::ops::Range;
use std::sync::Arc;

use plimsoll_route::placement::{Lanes, Place, Waiting};
use plimsoll_route::{
    AttemptId, Factor, Input, Machine, Node, NodeSettings, Placement, Striped, TargetId, Window,
    WindowSettings,
};

use super::Routers;
use crate::host::Host;
use crate::scenario::{Policy, Scenario};

/// Nodes with a policy each.
pub struct Nodes<P> {
    nodes: Vec<Node<P>>,
    per_node: u32,
}

impl<P: Placement> Nodes<P> {
    fn new(
        scenario: &Scenario,
        factor: Factor,
        mut make: impl FnMut(u32, Range<u32>) -> (Vec<TargetId>, P),
    ) -> Self {
        let processes = scenario.application.processes;
        let per_node = scenario.application.processes_per_node.min(processes);
        let node = |index: u32| {
            let first_writer = index * per_node;
            let end = first_writer.saturating_add(per_node).min(processes);
            let (targets, policy) = make(index, first_writer..end);
            let writers = end - first_writer;
            Node::new(NodeSettings { first_writer, writers, targets, factor }, policy)
        };
        Nodes { nodes: (0..processes.div_ceil(per_node)).map(node).collect(), per_node }
    }
}

impl Nodes<Pinned> {
    /// Every process writes to its own targets.
    pub fn pinned(scenario: &Scenario, homes: &[TargetId]) -> Self {
        let stripes = scenario.application.stripes as usize;
        Nodes::new(scenario, Factor::NONE, |_, writers| {
            let own = &homes[writers.start as usize * stripes..writers.end as usize * stripes];
            let mut targets = own.to_vec();
            targets.sort_unstable();
            targets.dedup();
            let lane = |target: &TargetId| targets.partition_point(|known| known < target) as u16;
            let lanes = own.iter().map(lane).collect();
            (targets, Pinned { lanes, stripes })
        })
    }
}

impl Nodes<Striped> {
    /// Every block over all targets.
    pub fn striped(scenario: &Scenario) -> Self {
        let targets = scenario.storage.targets;
        let all: Vec<TargetId> = (0..targets as u16).map(TargetId).collect();
        Nodes::new(scenario, Factor::NONE, |_, writers| {
            (all.clone(), Striped::new(writers.start, targets))
        })
    }
}

impl Nodes<Window> {
    /// Delay-controlled windows.
    pub fn window(scenario: &Scenario, policy: &Policy, factor: Factor) -> Self {
        let all = scenario.storage.targets as u16;
        let mut settings = WindowSettings::default();
        if let Some(tau) = policy.tau {
            settings.tau_ns = tau.get();
        }
        let application = &scenario.application;
        let nodes = application.processes.div_ceil(application.processes_per_node);
        let lanes = policy.lanes.unwrap_or_else(|| u32::from(Window::lanes(nodes, all)));
        let settings = Arc::new(settings);
        Nodes::new(scenario, factor, |node, writers| {
            let targets = Window::spread(node, all, lanes.min(u32::from(all)) as u16);
            let policy = Window::new(settings.clone(), targets.len(), writers.len() as u32);
            (targets, policy)
        })
    }
}

impl<P: Placement> Routers for Nodes<P> {
    fn actors(&self) -> usize {
        self.nodes.len()
    }

    fn actor_of(&self, process: u32) -> u32 {
        process / self.per_node
    }

    fn step(&mut self, actor: u32, input: Input, host: &mut Host) {
        host.actor = actor;
        self.nodes[actor as usize].step(host.now_ns, input, host);
    }

    fn prefetch(&self, actor: u32, attempt: AttemptId, depth: usize) -> Option<u32> {
        self.nodes[actor as usize].prefetch(attempt, depth)
    }

    fn coordinator(&self) -> Option<u32> {
        None
    }
}

/// Every process has targets of its own, of which a submission fills each with an equal part:
/// what programs do when nobody routes, with any placement of files.
#[derive(Debug, Clone)]
pub struct Pinned {
    /// Lanes of the node's first process, then of its second, ….
    lanes: Vec<u16>,
    stripes: usize,
}

impl Placement for Pinned {
    fn is_serial(&self) -> bool {
        true
    }

    fn place(&mut self, waiting: Waiting, lanes: Lanes<'_>) -> Option<Place> {
        let first = waiting.writer as usize * self.stripes;
        let stripe = waiting.submission_bytes.div_ceil(self.stripes as u64).max(1);
        let nth = (waiting.offset_bytes / stripe) as usize;
        let lane = usize::from(self.lanes[first + nth.min(self.stripes - 1)]);
        let all = lanes.lanes.len();
        let live = (0..all).map(|step| (lane + step) % all).find(|lane| lanes.admits(*lane))?;
        Some(Place { lane: live, length_bytes: stripe })
    }
}
