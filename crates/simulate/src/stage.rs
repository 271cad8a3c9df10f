//! What is before the targets: servers and a network that let only so much through.
//!
//! A stage is shared max-min fairly by the targets that are busy: each gets what it can use, or as much as any other
//! that could use more. First each server is shared by its targets, then the network by all; as stages are nested, this
//! is the max-min fair sharing of both together.

use std::ops::Range;

use crate::filling::Way;
use crate::scenario::Storage;

/// Servers and network, and what the targets behind them could use.
#[derive(Debug)]
pub struct Stages {
    /// The targets of each server, which are neighbours.
    servers: Vec<Range<usize>>,
    server_of: Vec<u32>,
    /// Bytes per nanosecond; infinite where there is no limit.
    server_limit: f64,
    network_limit: f64,
    /// What each target could use now, in bytes per nanosecond: nothing if it is idle.
    demands: Vec<f64>,
    /// The most that a target of a server gets, as that server lets it through: infinite where all fits.
    server_levels: Vec<f64>,
    network_level: f64,
    /// Servers whose level is out of date.
    changed: Vec<u32>,
}

impl Stages {
    /// The stages of a scenario, with nothing to do.
    pub fn new(storage: &Storage) -> Self {
        let servers = storage.servers();
        let server_of = servers
            .iter()
            .enumerate()
            .flat_map(|(server, own)| own.clone().map(move |_| server as u32))
            .collect();
        let rate = |limit: Option<plimsoll_domain::BytesPerSec>| {
            limit.map_or(f64::INFINITY, |limit| limit.get() as f64 / 1e9)
        };
        Stages {
            server_of,
            server_limit: rate(storage.server_limit),
            network_limit: rate(storage.network_limit),
            demands: vec![0.0; storage.targets as usize],
            server_levels: vec![f64::INFINITY; servers.len()],
            network_level: f64::INFINITY,
            changed: Vec::new(),
            servers,
        }
    }

    /// False when nothing is limited and nobody needs to tell.
    pub fn is_limiting(&self) -> bool {
        self.server_limit.is_finite() || self.network_limit.is_finite()
    }

    /// A target could use so much from now on.
    pub fn set_demand(&mut self, target: usize, demand: f64) {
        if std::mem::replace(&mut self.demands[target], demand) != demand {
            let server = self.server_of[target];
            if !self.changed.contains(&server) {
                self.changed.push(server);
            }
        }
    }

    /// Shares the stages anew if any demand has changed. Tells `limit` every target that may get another limit
    /// than before, and which.
    pub fn share(&mut self, mut limit: impl FnMut(usize, f64)) {
        if self.changed.is_empty() {
            return;
        }
        for server in &self.changed {
            let own = self.servers[*server as usize].clone();
            self.server_levels[*server as usize] = level(self.server_limit, &self.demands[own]);
        }
        let before = self.network_level;
        if self.network_limit.is_finite() {
            let through = |(target, demand): (usize, &f64)| {
                demand.min(self.server_levels[self.server_of[target] as usize])
            };
            let through: Vec<f64> = self.demands.iter().enumerate().map(through).collect();
            self.network_level = level(self.network_limit, &through);
        }
        if self.network_level != before {
            (0..self.demands.len()).for_each(|target| limit(target, self.limit(target)));
        } else {
            for server in &self.changed {
                let own = self.servers[*server as usize].clone();
                own.for_each(|target| limit(target, self.limit(target)));
            }
        }
        self.changed.clear();
    }

    /// Returns what all stages let through, before targets that can do so much.
    pub fn way<'a>(&'a self, targets: &'a [f64]) -> Way<'a> {
        Way {
            targets,
            server_of: &self.server_of,
            server: self.server_limit,
            servers: self.servers.len(),
            network: self.network_limit,
            node: f64::INFINITY,
            nodes: 0,
        }
    }

    /// What the stages let through to a target now, in bytes per nanosecond.
    fn limit(&self, target: usize) -> f64 {
        self.server_levels[self.server_of[target] as usize].min(self.network_level)
    }

    /// The most that all stages let through when target i could use `rates(i)`.
    pub fn bound(&self, rates: impl Fn(usize) -> f64) -> f64 {
        let through = |own: &Range<usize>| -> f64 {
            own.clone().map(&rates).sum::<f64>().min(self.server_limit)
        };
        self.servers.iter().map(through).sum::<f64>().min(self.network_limit)
    }
}

/// The level to which demands are met so that they use a capacity up; infinite if it is enough for all.
fn level(capacity: f64, demands: &[f64]) -> f64 {
    if demands.iter().sum::<f64>() <= capacity {
        return f64::INFINITY;
    }
    // Whoever wants less than the level gets it, the others share the rest. The level rises until nobody more
    // gets all that it wants.
    let next = |level: f64| {
        let (mut met, mut others) = (0.0, 0u32);
        for demand in demands {
            if *demand <= level {
                met += demand;
            } else {
                others += 1;
            }
        }
        (capacity - met) / f64::from(others.max(1))
    };
    let mut level = 0.0;
    loop {
        let higher = next(level);
        if higher <= level {
            return level;
        }
        level = higher;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::scenario::Curve;
    use crate::scenario::Discipline;

    fn storage() -> Storage {
        let rate = |text: &str| text.parse().unwrap();
        Storage {
            targets: 14,
            rate: rate("300MB/s"),
            rates: Vec::new(),
            request_cost: Default::default(),
            service: Discipline::ProcessorSharing,
            curve: Curve::Flat,
            targets_per_server: Some(7),
            server_targets: Vec::new(),
            server_limit: Some(rate("1.25GB/s")),
            client_limit: None,
            network_limit: Some(rate("2GB/s")),
        }
    }

    /// The limits of all targets when these are busy and could use 0.3, and others nothing.
    fn limits(stages: &mut Stages, busy: &[usize]) -> Vec<f64> {
        for target in 0..stages.demands.len() {
            stages.set_demand(target, if busy.contains(&target) { 0.3 } else { 0.0 });
        }
        stages.share(|_, _| {});
        (0..stages.demands.len()).map(|target| stages.limit(target)).collect()
    }

    const NONE: f64 = f64::INFINITY;

    #[test]
    fn servers_may_have_different_numbers_of_targets() {
        let servers = Storage {
            targets_per_server: None,
            server_targets: vec![2, 7, 5],
            network_limit: None,
            ..storage()
        };
        let mut stages = Stages::new(&servers);
        assert_eq!(limits(&mut stages, &[2, 3, 4, 5]), [NONE; 14], "4 x 0.3 fit");
        let five = limits(&mut stages, &[2, 3, 4, 5, 6]);
        assert_eq!((five[0], five[2], five[8], five[9]), (NONE, 0.25, 0.25, NONE), "5 do not");
        assert_eq!(stages.bound(|_| 0.3), 0.6 + 1.25 + 1.25);
    }

    #[test]
    fn busy_targets_share_servers_and_the_network() {
        let mut stages = Stages::new(&storage());
        assert_eq!(limits(&mut stages, &[0, 1, 2, 3]), [NONE; 14], "4 x 0.3 fit");
        let five = limits(&mut stages, &[0, 1, 2, 3, 4]);
        assert_eq!((five[0], five[13]), (0.25, NONE));
        // 1.25 on one server and 0.9 on the other: 2 is shared by eight, of which none gets what it wants.
        let eight = limits(&mut stages, &[0, 1, 2, 3, 4, 7, 8, 9]);
        assert_eq!((eight[0], eight[7]), (0.25, 0.25));
        assert_eq!(stages.bound(|_| 0.3), 2.0);
        let bound = stages.bound(|target| if target < 7 { 0.3 } else { 0.1 });
        assert!((bound - 1.95).abs() < 1e-12, "{bound}");
        assert_eq!(limits(&mut stages, &[0]), [NONE; 14], "and back");
    }

    #[test]
    fn what_one_cannot_use_is_given_to_others() {
        let mut stages = Stages::new(&Storage { network_limit: None, ..storage() });
        let demands = [0.05, 0.2, 0.3, 0.3, 0.3, 0.3, 0.3];
        for (target, demand) in demands.into_iter().enumerate() {
            stages.set_demand(target, demand);
        }
        stages.share(|_, _| {});
        // 1.25 - 0.05 for six: each gets 0.2, so that the second just gets what it wants.
        assert!((stages.limit(6) - 0.2).abs() < 1e-12, "{}", stages.limit(6));
        stages.set_demand(1, 0.1);
        let mut told = Vec::new();
        stages.share(|target, limit| told.push((target, limit)));
        assert_eq!(
            told.iter().map(|(target, _)| *target).collect::<Vec<_>>(),
            [0, 1, 2, 3, 4, 5, 6]
        );
        assert!(told.iter().all(|(_, limit)| (limit - 1.1 / 5.0).abs() < 1e-12), "{told:?}");
        stages.set_demand(1, 0.1);
        stages.share(|target, _| panic!("{target}: nothing has changed"));
    }

    proptest! {
        /// The definition of max-min fairness: nobody gets more than it wants or than a stage lets through, and who gets
        /// less than it wants is behind a stage that is used up and where nobody gets more.
        #[test]
        fn sharing_is_max_min_fair(
            demands in proptest::collection::vec(prop_oneof![Just(0.0), 0.01f64..0.5], 14),
            server in 0.2f64..3.0,
            network in 0.2f64..5.0,
        ) {
            let rate = |rate: f64| Some(plimsoll_domain::BytesPerSec::new((rate * 1e9) as u64));
            let storage =
                Storage { server_limit: rate(server), network_limit: rate(network), ..storage() };
            let mut stages = Stages::new(&storage);
            for (target, demand) in demands.iter().enumerate() {
                stages.set_demand(target, *demand);
            }
            stages.share(|_, _| {});
            let got: Vec<f64> =
                demands.iter().enumerate().map(|(t, demand)| demand.min(stages.limit(t))).collect();
            let all = 0..14;
            let is_full = |range: &Range<usize>, limit: f64| {
                let sum: f64 = got[range.clone()].iter().sum();
                assert!(sum <= limit + 1e-8, "{sum} of {limit}");
                sum >= limit - 1e-8
            };
            let most = |range: &Range<usize>| got[range.clone()].iter().copied().fold(0.0, f64::max);
            for target in 0..14 {
                let own = if target < 7 { 0..7 } else { 7..14 };
                let stuck = is_full(&own, server) && got[target] >= most(&own) - 1e-8
                    || is_full(&all, network) && got[target] >= most(&all) - 1e-8;
                prop_assert!(got[target] >= demands[target] || stuck, "{target}: {got:?}");
            }
        }
    }

    #[test]
    fn either_limit_limits() {
        let limited = |server: bool, network: bool| {
            let Storage { server_limit, network_limit, .. } = storage();
            let server_limit = server_limit.filter(|_| server);
            let network_limit = network_limit.filter(|_| network);
            Stages::new(&Storage { server_limit, network_limit, ..storage() }).is_limiting()
        };
        assert!(limited(true, true) && limited(true, false) && limited(false, true));
        assert!(!limited(false, false));
    }
}
