//! Max-min fair rates of writes that pass through several stages, found by filling all stages at the same pace.

/// Writes that have the same way through the stages, and therefore the same rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flow {
    /// Where they go.
    pub target: u32,
    /// Where they come from; `None` for those of others, which pass through no client of ours.
    pub node: Option<u32>,
    /// How many there are.
    pub writes: f64,
    /// Bytes over work, of all of them together: as many as there are writes where requests cost nothing.
    pub data: f64,
    /// The most work that each gets done in a nanosecond, whatever else there is.
    pub most: f64,
}

/// A part of the way that lets only so much through, with what is used of it.
#[derive(Debug, Clone, Copy)]
struct Stage {
    capacity: f64,
    used: f64,
    /// What the flows that still rise use of it at a rate of one.
    weight: f64,
    rising: u32,
}

/// What every part of the way lets through, in bytes per nanosecond; targets count work.
#[derive(Debug)]
pub struct Way<'a> {
    /// Of each target now.
    pub targets: &'a [f64],
    /// The server of each target.
    pub server_of: &'a [u32],
    /// Of each server; infinite is no limit, as in all that follow.
    pub server: f64,
    /// How many servers there are.
    pub servers: usize,
    /// Of the network.
    pub network: f64,
    /// Of each node.
    pub node: f64,
    /// How many nodes there are.
    pub nodes: usize,
}

/// Rates beside each other that differ by less are equal: what comes of rounding.
const ROUNDING: f64 = 1e-12;

/// Returns the work that each write of every flow gets done in a nanosecond. All rates rise at the same pace; where a stage is
/// used up, the flows that pass through it stay, and the others rise on.
pub fn max_min(flows: &[Flow], way: &Way<'_>) -> Vec<f64> {
    let first_node = way.targets.len();
    let first_server = first_node + way.nodes;
    let network = first_server + way.servers;
    let stages_of = |flow: &Flow| {
        let server = first_server + way.server_of[flow.target as usize] as usize;
        [
            Some((flow.target as usize, flow.writes)),
            flow.node.map(|node| (first_node + node as usize, flow.data)),
            Some((server, flow.data)),
            Some((network, flow.data)),
        ]
    };
    let empty = |capacity: f64| Stage { capacity, used: 0.0, weight: 0.0, rising: 0 };
    let mut stages: Vec<Stage> = way.targets.iter().copied().map(empty).collect();
    stages.resize(first_server, empty(way.node));
    stages.resize(network, empty(way.server));
    stages.push(empty(way.network));
    for (stage, weight) in flows.iter().flat_map(stages_of).flatten() {
        stages[stage].weight += weight;
        stages[stage].rising += 1;
    }
    let mut rates = vec![0.0; flows.len()];
    let mut rising: Vec<usize> = (0..flows.len()).collect();
    while !rising.is_empty() {
        let of_flows = rising.iter().map(|flow| flows[*flow].most).fold(f64::INFINITY, f64::min);
        let level = stages.iter().map(Stage::level).fold(of_flows, f64::min);
        let full: Vec<bool> =
            stages.iter().map(|stage| stage.level() <= level * (1.0 + ROUNDING)).collect();
        let before = rising.len();
        rising.retain(|nth| {
            let flow = &flows[*nth];
            let is_full = stages_of(flow).into_iter().flatten().any(|(stage, _)| full[stage]);
            let stays = is_full || flow.most <= level;
            if stays {
                rates[*nth] = level;
                for (stage, weight) in stages_of(flow).into_iter().flatten() {
                    stages[stage].stay(weight, level);
                }
            }
            !stays
        });
        // Nothing limits what is left.
        if rising.len() == before {
            rising.drain(..).for_each(|nth| rates[nth] = level);
        }
    }
    rates
}

impl Stage {
    /// The rate at which it would be used up; infinite if nothing rises in it.
    fn level(&self) -> f64 {
        match self.rising {
            0 => f64::INFINITY,
            _ => f64::max(self.capacity - self.used, 0.0) / self.weight,
        }
    }

    /// A flow rises no more.
    fn stay(&mut self, weight: f64, level: f64) {
        self.used += weight * level;
        self.weight -= weight;
        self.rising -= 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn flow(target: u32, node: u32, writes: u32) -> Flow {
        let writes = f64::from(writes);
        Flow { target, node: Some(node), writes, data: writes, most: f64::INFINITY }
    }

    fn way<'a>(targets: &'a [f64], server_of: &'a [u32]) -> Way<'a> {
        let none = f64::INFINITY;
        Way { targets, server_of, server: none, servers: 2, network: none, node: none, nodes: 3 }
    }

    #[test]
    fn what_one_cannot_use_is_given_to_others() {
        // Node 0 writes to both targets, node 1 to the second alone. Node 0 may send 1.
        let flows = [flow(0, 0, 1), flow(1, 0, 1), flow(1, 1, 1)];
        let way = Way { node: 1.0, ..way(&[10.0, 1.2], &[0, 0]) };
        assert_eq!(max_min(&flows, &way), [0.5, 0.5, 0.7]);
        // Of a slow target its node gives the rest to the other.
        let slow = Way { targets: &[10.0, 0.2], ..way };
        assert_eq!(max_min(&flows, &slow), [0.9, 0.1, 0.1]);
    }

    #[test]
    fn each_write_counts_the_same() {
        let flows = [flow(0, 0, 3), flow(0, 1, 1)];
        assert_eq!(max_min(&flows, &way(&[2.0], &[0])), [0.5, 0.5]);
        let capped = [Flow { most: 0.1, ..flows[0] }, flows[1]];
        assert_eq!(max_min(&capped, &way(&[2.0], &[0])), [0.1, 1.7]);
        let costly = [Flow { data: 1.5, ..flows[0] }, flows[1]];
        let way = Way { network: 1.0, ..way(&[100.0], &[0]) };
        assert_eq!(max_min(&costly, &way), [0.4, 0.4], "half of the work of three is data");
    }

    #[test]
    fn nothing_to_share_and_nothing_that_limits() {
        assert_eq!(max_min(&[], &way(&[1.0], &[0])), []);
        let free = f64::INFINITY;
        assert_eq!(max_min(&[flow(0, 0, 1)], &way(&[free], &[0])), [free]);
    }

    proptest! {
        /// The definition: no stage lets more through than it can, and every flow passes through a stage that is used up and
        /// in which none gets more.
        #[test]
        fn rates_are_max_min_fair(
            ways in proptest::collection::vec((0u32..4, 0u32..3, 1u32..5), 1..12),
            targets in proptest::collection::vec(0.1f64..3.0, 4),
            server in 0.1f64..4.0,
            network in 0.1f64..8.0,
            node in 0.1f64..4.0,
        ) {
            let flows: Vec<Flow> = ways.iter().map(|(t, n, writes)| flow(*t, *n, *writes)).collect();
            let way = Way { server, network, node, ..way(&targets, &[0, 0, 1, 1]) };
            let rates = max_min(&flows, &way);
            let full = |through: &dyn Fn(&Flow) -> bool, capacity: f64| {
                let of = flows.iter().zip(&rates).filter(|(flow, _)| through(flow));
                let used: f64 = of.clone().map(|(flow, rate)| flow.data * rate).sum();
                assert!(used <= capacity + 1e-9, "{used} of {capacity}");
                let most = of.map(|(_, rate)| *rate).fold(0.0, f64::max);
                (used >= capacity - 1e-9).then_some(most)
            };
            for (flow, rate) in flows.iter().zip(&rates) {
                let own_server = flow.target / 2;
                let stages = [
                    full(&|other| other.target == flow.target, targets[flow.target as usize]),
                    full(&|other| other.node == flow.node, node),
                    full(&|other| other.target / 2 == own_server, server),
                    full(&|_| true, network),
                ];
                let is_held = stages.into_iter().flatten().any(|most| *rate >= most - 1e-9);
                prop_assert!(is_held, "{flow:?} at {rate}: {stages:?}");
            }
        }
    }
}
