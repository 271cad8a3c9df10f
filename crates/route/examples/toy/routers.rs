//! The routers that the toy compares.

use plimsoll_route::paper::{Client, Coordinator, PaperSettings, SourceChoice, Sub};
use plimsoll_route::placement::Placement;
use plimsoll_route::{ActorId, Factor, Input, Machine, Node, NodeSettings, Outputs, TargetId};

use crate::world::Router;

/// Nodes that do not speak to each other.
pub struct Nodes<P> {
    nodes: Vec<Node<P>>,
    writers_per_node: u32,
}

impl<P: Placement> Nodes<P> {
    /// `policy` makes a node's policy from its first writer and its number of targets.
    pub fn new(
        writers: u32,
        writers_per_node: u32,
        factor: Factor,
        targets: impl Fn(u32) -> Vec<TargetId>,
        policy: impl Fn(u32, usize) -> P,
    ) -> Self {
        let node = |index: u32| {
            let first_writer = index * writers_per_node;
            let targets = targets(index);
            let policy = policy(first_writer, targets.len());
            let settings = NodeSettings {
                first_writer,
                writers: writers_per_node.min(writers - first_writer),
                targets,
                factor,
            };
            Node::new(settings, policy)
        };
        let nodes = (0..writers.div_ceil(writers_per_node)).map(node).collect();
        Nodes { nodes, writers_per_node }
    }
}

impl<P: Placement> Router for Nodes<P> {
    fn step<O: Outputs>(&mut self, actor: ActorId, now_ns: u64, input: Input, out: &mut O) {
        self.nodes[actor.0 as usize].step(now_ns, input, out);
    }

    fn actors(&self) -> u32 {
        self.nodes.len() as u32
    }

    fn home(&self, writer: u32) -> ActorId {
        ActorId(writer / self.writers_per_node)
    }
}

/// The paper's three roles.
pub struct Paper<S> {
    settings: PaperSettings,
    coordinator: Coordinator<S>,
    subs: Vec<Sub>,
    clients: Vec<Client>,
}

impl<S: SourceChoice> Paper<S> {
    pub fn new(settings: PaperSettings, policy: S) -> Self {
        let layout = settings.layout;
        Paper {
            settings,
            coordinator: Coordinator::new(settings, policy),
            subs: (0..layout.targets).map(|target| Sub::new(settings, TargetId(target))).collect(),
            clients: (0..layout.writers).map(|writer| Client::new(settings, writer)).collect(),
        }
    }
}

impl<S: SourceChoice> Router for Paper<S> {
    fn step<O: Outputs>(&mut self, actor: ActorId, now_ns: u64, input: Input, out: &mut O) {
        let targets = u32::from(self.settings.layout.targets);
        match actor.0 {
            0 => self.coordinator.step(now_ns, input, out),
            sub if sub <= targets => self.subs[sub as usize - 1].step(now_ns, input, out),
            client => self.clients[(client - targets - 1) as usize].step(now_ns, input, out),
        }
    }

    fn actors(&self) -> u32 {
        self.settings.layout.actors()
    }

    fn home(&self, writer: u32) -> ActorId {
        self.settings.layout.client(writer)
    }
}
