//! A router without a coordinator: all nodes of a program, each deciding for its own writers.

use std::ops::Range;

use crate::{
    ActorId, AttemptId, Factor, Input, Machine, Node, NodeSettings, Outputs, Placement, Router,
    TargetId, Window,
};

/// Nodes with a policy each. The actors are the nodes; neighbouring writers share one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Nodes<P> {
    nodes: Vec<Node<P>>,
    writers_per_node: u32,
}

impl<P: Placement> Nodes<P> {
    /// Makes the nodes of this many writers. `make` is asked for the targets and the policy of a
    /// node, by its number and its writers.
    pub fn new(
        writers: u32,
        writers_per_node: u32,
        factor: Factor,
        mut make: impl FnMut(u32, Range<u32>) -> (Vec<TargetId>, P),
    ) -> Self {
        let writers_per_node = writers_per_node.min(writers).max(1);
        let node = |index: u32| {
            let first_writer = index * writers_per_node;
            let end = first_writer.saturating_add(writers_per_node).min(writers);
            let (targets, policy) = make(index, first_writer..end);
            let writers = end - first_writer;
            Node::new(NodeSettings { first_writer, writers, targets, factor }, policy)
        };
        let nodes = (0..writers.div_ceil(writers_per_node)).map(node).collect();
        Nodes { nodes, writers_per_node }
    }

    /// The nodes, to look at.
    pub fn nodes(&self) -> &[Node<P>] {
        &self.nodes
    }
}

impl Nodes<Window> {
    /// Returns the window of each target of the first node, in bytes.
    pub fn windows_of_first(&self) -> impl Iterator<Item = (TargetId, u64)> + '_ {
        let lanes = self.nodes.first().into_iter().flat_map(|node| {
            node.lanes().iter().enumerate().map(|(lane, at)| (at, node.policy().window_bytes(lane)))
        });
        lanes.map(|(lane, bytes)| (lane.target, bytes))
    }
}

impl<P: Placement> Router for Nodes<P> {
    fn actors(&self) -> u32 {
        self.nodes.len() as u32
    }

    #[inline]
    fn actor_of(&self, writer: u32) -> ActorId {
        ActorId(writer / self.writers_per_node)
    }

    #[inline]
    fn step<O: Outputs>(&mut self, actor: ActorId, now_ns: u64, input: Input, out: &mut O) {
        self.nodes[actor.0 as usize].step(now_ns, input, out);
    }

    #[inline]
    fn prefetch(&self, actor: ActorId, attempt: AttemptId, depth: usize) -> Option<u32> {
        self.nodes[actor.0 as usize].prefetch(attempt, depth)
    }
}
