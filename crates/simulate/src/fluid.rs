//! The fluid bound: the least time that any placement can reach, with the noise of the seed.

use crate::noise::Timeline;
use crate::queue::HORIZON_NS;
use crate::scenario::{Application, Discipline, Scenario, ScenarioError, Storage};
use crate::stage::Stages;
use crate::think::Thinkers;

/// Nanoseconds until everything is written if all targets were always busy with us and no
/// target gave less than it can.
///
/// Data of burst k does not exist before k compute times have passed, so the bound is the
/// latest of: k computes, then all data from burst k on. Where a target's total depends on
/// the number of streams its best total counts, and where our share depends on how many
/// writes we have in flight (`sharing = "stream"`, or first in, first out) all of the target
/// counts: no placement is faster, but none may reach it.
///
/// Where requests cost something, each node makes at least one for what it writes, on the target where
/// that costs the fewest bytes. A router may gather small writes, so more requests than these cannot be counted.
/// Of processes that compute before each block, no block exists before all that its process computed before it, and where
/// a process is held back, the time that all targets together need for what it waits for. Requests do not count then.
/// Stages and clients limit bytes and not requests: where they limit anything, only bytes count. That ends
/// are noticed late makes nothing faster and does not count.
pub fn fluid_bound_ns(scenario: &Scenario, seed: u64) -> Result<u64, ScenarioError> {
    let application = &scenario.application;
    let behind = &scenario.behind_buffers();
    let per_burst = application.burst_bytes() as f64 * f64::from(application.processes);
    let mut capacity = Capacity::new(behind, seed)?;
    let requests = capacity.least_requests(behind);
    let mut thinkers = Thinkers::new(application, seed);
    let between_ns = capacity.least_wait_ns(application);
    // The fullest node lets its own data through, whatever the others do.
    let of_node = application.processes.min(application.processes_per_node);
    let node_burst = application.burst_bytes() as f64 * f64::from(of_node);
    let of_node_ns = match scenario.buffer_in_use() {
        None => (node_burst / node_limit(&scenario.storage)) as u64,
        // Of buffers, nobody knows which is the fullest.
        Some(_) => 0,
    };
    let compute_ns = application.compute.get();
    if application.cache.get() == 0 && scenario.buffer_in_use().is_none() {
        // Each burst ends before the next compute begins.
        let mut now_ns = 0;
        for _ in 0..application.bursts {
            let begin_ns = now_ns + compute_ns;
            capacity.skip_to(begin_ns);
            now_ns = match &mut thinkers {
                None => capacity.serve(per_burst + requests),
                Some(thinkers) => {
                    let earliest_ns = thinkers.earliest_ns(application.blocks, between_ns);
                    capacity.serve_as_it_comes(&earliest_ns, application.block.get() as f64)
                }
            };
            now_ns = now_ns.max(begin_ns + of_node_ns);
            if now_ns >= HORIZON_NS {
                return Ok(now_ns);
            }
        }
        return Ok(now_ns);
    }
    let mut latest_ns = 0;
    for burst in 1..=application.bursts {
        let mut capacity = capacity.clone();
        capacity.skip_to(u64::from(burst) * compute_ns);
        let left = f64::from(application.bursts - burst + 1);
        let begin_ns = u64::from(burst) * compute_ns;
        latest_ns = latest_ns.max(begin_ns + (of_node_ns as f64 * left) as u64);
        latest_ns = latest_ns.max(capacity.serve(per_burst * left + requests));
    }
    Ok(latest_ns)
}

fn nodes(application: &Application) -> u32 {
    application.processes.div_ceil(application.processes_per_node)
}

/// Bytes per nanosecond that a node lets through; infinite if it has no limit.
fn node_limit(storage: &Storage) -> f64 {
    storage.client_limit.map_or(f64::INFINITY, |limit| limit.get() as f64 / 1e9)
}

/// What all targets and stages give together, as it changes over time.
#[derive(Clone)]
struct Capacity {
    lines: Vec<Timeline>,
    rates: Vec<f64>,
    stages: std::rc::Rc<Stages>,
    best_rates: std::rc::Rc<[f64]>,
    service: Service,
    /// What all nodes let through together, in bytes per nanosecond.
    clients: f64,
    now_ns: u64,
    /// Sum over targets and stages now, in bytes per nanosecond.
    total: f64,
}

impl Capacity {
    fn new(scenario: &Scenario, seed: u64) -> Result<Self, ScenarioError> {
        let best_share = scenario.curve()?.best_share();
        let lines = Timeline::of_all(&scenario.noise, scenario.storage.targets as usize, seed);
        let best_rates: std::rc::Rc<[f64]> = (0..lines.len())
            .map(|target| scenario.storage.rate_of(target) / 1e9 * best_share)
            .collect();
        let stages = Stages::new(&scenario.storage).into();
        let service = Service::new(scenario);
        let rates =
            lines.iter().zip(&*best_rates).map(|(line, best)| service.rate(line, *best)).collect();
        let node_limit = node_limit(&scenario.storage);
        let clients = node_limit * f64::from(nodes(&scenario.application));
        let mut capacity =
            Capacity { rates, lines, stages, best_rates, service, clients, now_ns: 0, total: 0.0 };
        capacity.add_up();
        Ok(capacity)
    }

    /// What the least number of requests costs beside bytes: one of each node.
    fn least_requests(&self, scenario: &Scenario) -> f64 {
        let limits = [self.clients, scenario.network.stream_cap()];
        if self.stages.is_limiting() || limits.iter().any(|limit| limit.is_finite()) {
            return 0.0;
        }
        let nodes = nodes(&scenario.application);
        let cost = |target| scenario.storage.request_bytes(target);
        let least = (0..self.lines.len()).map(cost).fold(f64::INFINITY, f64::min);
        f64::from(nodes) * least
    }

    /// What a process that is held back waits at least after each block: until all targets together could have
    /// taken what must be durable of it.
    fn least_wait_ns(&self, application: &Application) -> u64 {
        let waits_for = application.block.get().saturating_sub(application.outstanding_max());
        let best = self.stages.bound(|target| self.best_rates[target]).min(self.clients);
        (waits_for as f64 / best) as u64
    }

    fn add_up(&mut self) {
        self.total = self.stages.bound(|target| self.rates[target]).min(self.clients);
    }

    fn next_change_ns(&self) -> u64 {
        self.lines.iter().filter_map(Timeline::next_change_ns).min().unwrap_or(HORIZON_NS)
    }

    fn skip_to(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
        for (target, line) in self.lines.iter_mut().enumerate() {
            if line.next_change_ns().is_some_and(|change| change <= now_ns) {
                line.advance(now_ns);
                self.rates[target] = self.service.rate(line, self.best_rates[target]);
            }
        }
        self.add_up();
    }

    /// Serves this many bytes from now on; tells when they are done.
    fn serve(&mut self, mut bytes: f64) -> u64 {
        loop {
            let change_ns = self.next_change_ns();
            let possible = self.total * (change_ns - self.now_ns) as f64;
            if possible >= bytes || change_ns >= HORIZON_NS {
                self.now_ns = self.now_ns.saturating_add((bytes / self.total).ceil() as u64);
                return self.now_ns;
            }
            bytes -= possible;
            self.skip_to(change_ns);
        }
    }
}

impl Capacity {
    /// Serves blocks of so many bytes that come at these times from now on; tells when all are done.
    fn serve_as_it_comes(&mut self, earliest_ns: &[u64], block: f64) -> u64 {
        let (begin_ns, mut waiting) = (self.now_ns, 0.0);
        for at_ns in earliest_ns {
            let at_ns = begin_ns.saturating_add(*at_ns).min(HORIZON_NS);
            while self.now_ns < at_ns {
                let until_ns = at_ns.min(self.next_change_ns());
                let possible = self.total * (until_ns - self.now_ns) as f64;
                waiting = f64::max(waiting - possible, 0.0);
                self.skip_to(until_ns);
            }
            waiting += block;
        }
        self.serve(waiting)
    }
}

/// What of a target can be ours at most.
#[derive(Clone, Copy)]
enum Service {
    /// Others take their share however much we ask for, where our job counts as one.
    Shared,
    /// The more writes wait in line, the less of others is served between them. Without end this
    /// leaves all of the target to us, but one write at a time, which gets what its client can send.
    Queued { stream_cap: f64 },
}

impl Service {
    fn new(scenario: &Scenario) -> Self {
        match scenario.storage.service {
            Discipline::ProcessorSharing => Service::Shared,
            Discipline::Fifo => Service::Queued { stream_cap: scenario.network.stream_cap() },
        }
    }

    fn rate(self, line: &Timeline, best: f64) -> f64 {
        let now = line.now();
        let alone = best / now.slowdown;
        match self {
            Service::Shared => alone * now.best_fraction(),
            Service::Queued { stream_cap } => alone.min(stream_cap),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::embedded;
    use plimsoll_theory::Noise;

    #[test]
    fn agrees_with_huangs_model() {
        let scenario = embedded("heavy-noise").unwrap();
        let quiet_s =
            scenario.application.total_bytes() as f64 / (scenario.storage.rate.get() as f64 * 16.0);
        let model = Noise::new(16, 4, 64, 1).unwrap().fluid_bound();
        let bound_s = fluid_bound_ns(&scenario, 1).unwrap() as f64 / 1e9;
        assert!((bound_s / (model * quiet_s) - 1.0).abs() < 1e-9, "{bound_s} {model}");
    }

    /// Two targets of 100 MB/s, one of them ten times slower for 2 s of every 5 s from the start on.
    #[test]
    fn the_bound_goes_through_every_phase() {
        let bound_ms = |bytes_mb: u64, rest: &str| {
            let text = format!(
                "version = 1\ntitle = \"\"\npolicies = [\"static\"]\n[storage]\ntargets = 2\n\
                 rate = \"100MB/s\"\n[application]\nprocesses = 1\nblock = \"{bytes_mb}MB\"\n{rest}\n\
                 [[noise]]\nkind = \"on-off\"\nslowdown = 10\ntargets = 1\nstart = \"slow\"\n\
                 slow = {{ mean = \"2s\", distribution = \"fixed\" }}\n\
                 normal = {{ mean = \"3s\", distribution = \"fixed\" }}"
            );
            fluid_bound_ns(&Scenario::parse("test", &text).unwrap(), 1).unwrap() / 1_000_000
        };
        assert_eq!(bound_ms(110, ""), 1000, "110 MB in a second");
        assert_eq!(bound_ms(220 + 400, ""), 4000, "220 in the first two, then 200");
        assert_eq!(bound_ms(820 + 55, ""), 5500, "slow again");
        // Three bursts, each after a second of computing: from 1 s, from 3 s, from 4.55 s on. Of the last,
        // 20 MB are left when it is slow again.
        let bursts = "bursts = 3\ncompute = \"1s\"";
        assert_eq!(bound_ms(110, bursts), 5000 + 181);
    }

    #[test]
    fn slowness_of_the_seed_is_integrated() {
        let scenario = embedded("stochastic").unwrap();
        let quiet_s = scenario.application.total_bytes() as f64
            / (scenario.storage.rate.get() as f64 * f64::from(scenario.storage.targets));
        let bounds: Vec<f64> =
            (0..20).map(|seed| fluid_bound_ns(&scenario, seed).unwrap() as f64 / 1e9).collect();
        assert!(bounds.iter().all(|bound| *bound >= quiet_s));
        assert!(bounds.iter().any(|bound| *bound > 1.01 * quiet_s), "{bounds:?}");
    }
}
