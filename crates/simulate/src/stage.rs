//! What is before the targets: servers and a network that let only so much through.
//!
//! Each stage gives every target that is busy the same part of its limit. What one target
//! cannot use is not given to another, so a stage is at worst a little stricter than a fair
//! queue would be; in return a change costs only the targets that it concerns.

use std::ops::Range;

use crate::scenario::Storage;

/// Servers and network, and how many busy targets share each.
#[derive(Debug)]
pub struct Stages {
    targets: usize,
    /// The targets of each server, which are neighbours.
    servers: Vec<Range<usize>>,
    server_of: Vec<u32>,
    /// Bytes per nanosecond; infinite where there is no limit.
    server_limit: f64,
    network_limit: f64,
    /// More than this no target can use: a larger part is no limit.
    peak: f64,
    busy_on_server: Vec<u32>,
    busy: u32,
}

impl Stages {
    /// The stages of a scenario; `peak` is the best rate of one target, in bytes per ns.
    pub fn new(storage: &Storage, peak: f64) -> Self {
        let targets = storage.targets as usize;
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
            targets,
            server_of,
            server_limit: rate(storage.server_limit),
            network_limit: rate(storage.network_limit),
            peak,
            busy_on_server: vec![0; servers.len()],
            servers,
            busy: 0,
        }
    }

    /// False when nothing is limited and nobody needs to tell.
    pub fn is_limiting(&self) -> bool {
        self.server_limit.is_finite() || self.network_limit.is_finite()
    }

    /// A target became busy or idle. Tells which targets' limits may have changed.
    pub fn set_busy(&mut self, target: usize, is_busy: bool) -> Range<usize> {
        let server = self.server_of[target] as usize;
        let before = (self.busy, self.busy_on_server[server]);
        let change = |count: &mut u32| if is_busy { *count += 1 } else { *count -= 1 };
        change(&mut self.busy);
        change(&mut self.busy_on_server[server]);
        let binds = |limit: f64, busy: u32| limit / f64::from(busy.max(1)) < self.peak;
        if binds(self.network_limit, before.0.max(self.busy)) {
            return 0..self.targets;
        }
        if binds(self.server_limit, before.1.max(self.busy_on_server[server])) {
            return self.servers[server].clone();
        }
        target..target + 1
    }

    /// What the stages let through to a target now, in bytes per nanosecond.
    pub fn limit(&self, target: usize) -> f64 {
        let of_server = self.busy_on_server[self.server_of[target] as usize];
        let server = self.server_limit / f64::from(of_server.max(1));
        server.min(self.network_limit / f64::from(self.busy.max(1)))
    }

    /// The most that all stages let through when target i could use `rates(i)`.
    pub fn bound(&self, rates: impl Fn(usize) -> f64) -> f64 {
        let through = |own: &Range<usize>| -> f64 {
            own.clone().map(&rates).sum::<f64>().min(self.server_limit)
        };
        self.servers.iter().map(through).sum::<f64>().min(self.network_limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Curve;
    use crate::scenario::Discipline;

    fn stages() -> Stages {
        Stages::new(&storage(), 0.3)
    }

    fn storage() -> Storage {
        let rate = |text: &str| text.parse().unwrap();
        Storage {
            targets: 14,
            rate: rate("300MB/s"),
            rates: Vec::new(),
            service: Discipline::ProcessorSharing,
            curve: Curve::Flat,
            targets_per_server: Some(7),
            server_targets: Vec::new(),
            server_limit: Some(rate("1.25GB/s")),
            network_limit: Some(rate("2GB/s")),
        }
    }

    #[test]
    fn servers_may_have_different_numbers_of_targets() {
        let servers = Storage {
            targets_per_server: None,
            server_targets: vec![2, 7, 5],
            network_limit: None,
            ..storage()
        };
        let mut stages = Stages::new(&servers, 0.3);
        for target in 2..6 {
            stages.set_busy(target, true);
        }
        assert_eq!(stages.set_busy(6, true), 2..9, "5 x 0.3 do not fit");
        assert_eq!((stages.limit(2), stages.limit(0)), (0.25, 1.25));
        assert_eq!(stages.bound(|_| 0.3), 0.6 + 1.25 + 1.25);
    }

    #[test]
    fn busy_targets_of_a_server_share_its_limit() {
        let mut stages = stages();
        for target in 0..4 {
            assert_eq!(stages.set_busy(target, true), target..target + 1, "4 x 0.3 fit");
        }
        assert_eq!(stages.set_busy(4, true), 0..7, "5 x 0.3 do not");
        assert_eq!(stages.limit(0), 0.25);
        assert_eq!(stages.limit(13), 0.4, "of the network");
        for target in 7..9 {
            stages.set_busy(target, true);
        }
        assert_eq!(stages.set_busy(9, true), 0..14, "8 x 0.3 are more than the network has");
        assert_eq!(stages.limit(9), 0.25);
        assert_eq!(stages.set_busy(9, false), 0..14);
        assert_eq!(stages.bound(|_| 0.3), 2.0);
        let bound = stages.bound(|target| if target < 7 { 0.3 } else { 0.1 });
        assert!((bound - 1.95).abs() < 1e-12, "{bound}");
        // And back: a limit that held before the change is felt by those who shared it.
        assert_eq!(stages.set_busy(8, false), 0..14, "7 x 0.3 were too many");
        assert_eq!(stages.set_busy(7, false), 7..8);
        assert_eq!(stages.set_busy(4, false), 0..7, "5 x 0.3 were too many for the server");
        assert_eq!(stages.set_busy(3, false), 3..4);
        assert_eq!((stages.limit(0), stages.limit(13)), (1.25 / 3.0, 2.0 / 3.0));
    }

    #[test]
    fn a_part_as_large_as_a_target_can_use_is_no_limit() {
        let mut stages = Stages::new(&Storage { network_limit: None, ..storage() }, 0.25);
        for target in 0..5 {
            assert_eq!(stages.set_busy(target, true), target..target + 1);
        }
        assert_eq!(stages.set_busy(5, true), 0..7);
    }

    #[test]
    fn either_limit_limits() {
        let limited = |server: bool, network: bool| {
            let Storage { server_limit, network_limit, .. } = storage();
            let server_limit = server_limit.filter(|_| server);
            let network_limit = network_limit.filter(|_| network);
            Stages::new(&Storage { server_limit, network_limit, ..storage() }, 0.3).is_limiting()
        };
        assert!(limited(true, true) && limited(true, false) && limited(false, true));
        assert!(!limited(false, false));
    }
}
