//! Client nodes that let only so much through. Writes of different nodes then have different rates on a target, and the rates of
//! all of them follow from nodes, targets, servers and network together.

use crate::filling::{Flow, Way, max_min};
use crate::stage::Stages;
use crate::target::Target;

/// The nodes, and what passes through them now.
#[derive(Debug)]
pub struct Clients {
    /// Bytes per nanosecond of each node.
    limit: f64,
    processes_per_node: u32,
    nodes: usize,
    /// What goes to each target.
    flows: Vec<Vec<Flow>>,
    /// What each target can do now.
    capacities: Vec<f64>,
    is_changed: bool,
    found: Vec<Flow>,
}

impl Clients {
    /// Nodes of so many processes, of which each lets so many bytes through in a nanosecond.
    pub fn new(limit: f64, processes: u32, processes_per_node: u32, targets: usize) -> Self {
        Clients {
            limit,
            processes_per_node,
            nodes: processes.div_ceil(processes_per_node) as usize,
            flows: vec![Vec::new(); targets],
            capacities: vec![0.0; targets],
            is_changed: false,
            found: Vec::new(),
        }
    }

    /// The node of a process.
    pub fn node_of(&self, process: u32) -> u32 {
        process / self.processes_per_node
    }

    /// Something happened to a target. Where a write ends and the next one of its node begins, nothing has changed.
    pub fn look_at(&mut self, index: usize, target: &Target) {
        self.found.clear();
        target.flows(index as u32, &mut self.found);
        let capacity = target.capacity();
        if self.found != self.flows[index] || capacity != self.capacities[index] {
            std::mem::swap(&mut self.found, &mut self.flows[index]);
            self.capacities[index] = capacity;
            self.is_changed = true;
        }
    }

    /// Shares everything anew if anything has changed. Tells `changed` the targets whose writes have other rates now.
    pub fn share(
        &mut self,
        now_ns: u64,
        stages: &Stages,
        targets: &mut [Target],
        mut changed: impl FnMut(usize),
    ) {
        if !std::mem::take(&mut self.is_changed) {
            return;
        }
        let flows: Vec<Flow> = self.flows.iter().flatten().copied().collect();
        let stages = stages.way(&self.capacities);
        let way = Way { node: self.limit, nodes: self.nodes, ..stages };
        let mut rates = max_min(&flows, &way).into_iter();
        for (index, of_target) in self.flows.iter().enumerate() {
            let own = rates.by_ref().take(of_target.len());
            if targets[index].set_rates(now_ns, own) {
                changed(index);
            }
        }
    }
}
