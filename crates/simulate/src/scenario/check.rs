//! What makes sense in a scenario, and reading one.

mod counts;
mod noise;

pub use counts::{
    BLOCKS_MAX, PARTS_MAX, PROCESSES_MAX, PROCESSES_PER_NODE_MAX, SEEDS_MAX, TARGETS_MAX,
};

use plimsoll_route::Policy;

use super::{Breakage, Home, SCENARIO_VERSION, Scenario, ScenarioError, Storage};
use crate::curve::{CurveError, ServiceCurve};
use crate::queue::HORIZON_NS;
use crate::scenario::Discipline;
use crate::scenario::{Curve, Submit};

impl Scenario {
    /// Reads and checks a scenario; `name` is for messages.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScenarioError> {
        #[derive(serde::Deserialize)]
        struct Version {
            version: Option<u32>,
        }
        let syntax = |error: toml::de::Error| ScenarioError::Syntax {
            name: name.into(),
            line: error.span().map_or(1, |span| line_at(text, span.start)),
            message: error.message().split_whitespace().collect::<Vec<_>>().join(" "),
        };
        let version: Version = toml::from_str(text).map_err(syntax)?;
        match version.version {
            Some(SCENARIO_VERSION) => {}
            Some(found) => {
                let (name, known) = (name.into(), SCENARIO_VERSION);
                return Err(ScenarioError::Version { name, found, known });
            }
            None => {
                return Err(ScenarioError::value(
                    &format!("scenario {name}"),
                    "has no version",
                    "version = 1",
                ));
            }
        }
        let scenario: Scenario = toml::from_str(text).map_err(syntax)?;
        scenario.check()?;
        Ok(scenario)
    }

    /// Refuses what makes no sense, with what would.
    pub fn check(&self) -> Result<(), ScenarioError> {
        self.check_counts()?;
        self.check_storage()?;
        self.check_network()?;
        self.check_application()?;
        self.check_buffer()?;
        self.check_noise()?;
        self.check_faults()?;
        if self.policies.is_empty() {
            return Err(ScenarioError::value("policies", "is empty", "policies = [\"window\"]"));
        }
        self.policies.iter().try_for_each(Policy::check)?;
        self.check_parts()?;
        let Some(sweep) = &self.sweep else { return counts::check_kept([self]) };
        sweep.check(self)?;
        let points = sweep.points(self);
        points.iter().try_for_each(|(_, _, scenario)| scenario.check())?;
        counts::check_kept(points.iter().map(|(_, _, scenario)| scenario))
    }

    /// The service curve of every target.
    pub fn curve(&self) -> Result<ServiceCurve, ScenarioError> {
        match &self.storage.curve {
            Curve::Flat => Ok(ServiceCurve::flat()),
            Curve::Wright => Ok(ServiceCurve::wright()),
            Curve::Shares(shares) => ServiceCurve::from_shares(shares).map_err(|error| {
                let hint = match error {
                    CurveError::Empty => "[1.0]",
                    CurveError::Share(_) => "shares of 1e-6 to 1e6, for 1, 2, 3, ... streams",
                };
                ScenarioError::value("storage.curve", &error.to_string(), hint)
            }),
        }
    }

    fn check_storage(&self) -> Result<(), ScenarioError> {
        let storage = &self.storage;
        let some = [
            ("storage.rate", Some(storage.rate)),
            ("storage.server_limit", storage.server_limit),
            ("storage.client_limit", storage.client_limit),
            ("storage.network_limit", storage.network_limit),
        ];
        for (key, rate) in some {
            if rate.is_some_and(|rate| rate.get() == 0) {
                return Err(ScenarioError::value(key, "is zero", "a rate like 500MiB/s"));
            }
        }
        let has_servers =
            storage.targets_per_server.is_some() || !storage.server_targets.is_empty();
        if storage.server_limit.is_some() != has_servers {
            let hint = "give storage.server_limit and storage.targets_per_server together";
            return Err(ScenarioError::value("storage", "has one of two keys", hint));
        }
        check_server_targets(storage)?;
        if storage.targets_per_server == Some(0) {
            return Err(ScenarioError::value(
                "storage.targets_per_server",
                "is zero",
                "at least 1",
            ));
        }
        let rates = storage.rates.len();
        if rates > 0 && rates != storage.targets as usize {
            let problem = format!("has {rates} rates for {} targets", storage.targets);
            return Err(ScenarioError::value("storage.rates", &problem, "one for each target"));
        }
        if storage.rates.iter().any(|rate| rate.get() == 0) {
            return Err(ScenarioError::value("storage.rates", "has a zero", "rates like 1GB/s"));
        }
        if storage.service == Discipline::Fifo && storage.curve != Curve::Flat {
            return Err(ScenarioError::value(
                "storage.curve",
                "means nothing with service = \"fifo\", where one stream is served at a time",
                "leave it out, or service = \"processor-sharing\"",
            ));
        }
        self.curve().map(|_| ())
    }

    fn check_application(&self) -> Result<(), ScenarioError> {
        let application = &self.application;
        if application.block.get() == 0 {
            return Err(ScenarioError::value("application.block", "is zero", "block = \"64MiB\""));
        }
        let total = u128::from(application.block.get())
            * u128::from(application.blocks)
            * u128::from(application.processes)
            * u128::from(application.bursts);
        // On one target alone, so that any placement ends within simulated time; a process has at
        // least one write under way, of all in a queue only one is served.
        let at_once = match self.storage.service {
            Discipline::ProcessorSharing => f64::from(application.processes),
            Discipline::Fifo => 1.0,
        };
        let of_clients = self.network.stream_cap() * 1e9 * at_once;
        let requests = u128::from(application.blocks)
            * u128::from(application.processes)
            * u128::from(application.bursts);
        let longest = total as f64 / self.slowest_rate()?.min(of_clients)
            + requests as f64 * self.storage.request_cost.as_seconds();
        if total > u128::from(u64::MAX >> 4) || longest > (HORIZON_NS >> 34) as f64 {
            let problem = format!("is too large: {total} bytes in all would not end in two years");
            let hint = "smaller blocks, or faster storage";
            return Err(ScenarioError::value("application.block", &problem, hint));
        }
        let compute_ns = u128::from(application.compute.get()) * u128::from(application.bursts);
        if compute_ns > u128::from(HORIZON_NS / 4) {
            let hint = "less compute or fewer bursts";
            return Err(ScenarioError::value("application.compute", "is too long", hint));
        }
        if let Some(think) = &application.think {
            noise::check_durations("application.think", think)?;
            let blocks = u128::from(application.blocks) * u128::from(application.bursts);
            if blocks * u128::from(think.mean.get()) > u128::from(HORIZON_NS / 4) {
                let hint = "less of it, or fewer blocks";
                return Err(ScenarioError::value("application.think", "is too long", hint));
            }
        }
        if application.submit == Submit::AtOnce && application.outstanding.get() > 0 {
            let hint = "submit = \"paced\", or leave it out";
            return Err(ScenarioError::value("application.outstanding", "needs submit", hint));
        }
        let is_pinned = application.placement == Home::Pinned;
        if is_pinned == application.pinned.is_empty() {
            let hint = "placement = \"pinned\" with pinned = [0, 1]";
            return Err(ScenarioError::value("application.pinned", "needs its placement", hint));
        }
        if let Some(beyond) = application.pinned.iter().find(|t| **t >= self.storage.targets) {
            let problem = format!("names target {beyond} of {}", self.storage.targets);
            return Err(ScenarioError::value("application.pinned", &problem, "count from 0"));
        }
        Ok(())
    }

    /// The least that a busy target gives without noise, in bytes per second.
    fn slowest_rate(&self) -> Result<f64, ScenarioError> {
        let storage = &self.storage;
        let rate = storage.rates.iter().min().unwrap_or(&storage.rate).get() as f64;
        let limits = [storage.server_limit, storage.client_limit, storage.network_limit];
        let limits = limits.into_iter().flatten();
        let slowest = rate * self.curve()?.worst_share();
        Ok(limits.map(|limit| limit.get() as f64).fold(slowest, f64::min))
    }

    fn check_network(&self) -> Result<(), ScenarioError> {
        let network = &self.network;
        for (key, share) in [("network.loss", network.loss), ("network.repeat", network.repeat)] {
            if !(0.0..=0.9).contains(&share) {
                return Err(ScenarioError::value(key, &format!("is {share}"), "0 to 0.9"));
            }
        }
        if network.rpc_size.get() == 0 {
            return Err(ScenarioError::value("network.rpc_size", "is zero", "rpc_size = \"1MiB\""));
        }
        let second = 1_000_000_000;
        let times = [
            ("storage.request_cost", self.storage.request_cost),
            ("application.notice_every", self.application.notice_every),
            ("network.message_latency", network.message_latency),
            ("network.message_cost", network.message_cost),
            ("network.rpc_round_trip", network.rpc_round_trip),
        ];
        match times.iter().find(|(_, time)| time.get() > 60 * second) {
            Some((key, time)) => {
                Err(ScenarioError::value(key, &format!("is {time}"), "at most a minute"))
            }
            None => Ok(()),
        }
    }

    fn check_faults(&self) -> Result<(), ScenarioError> {
        for fault in &self.fault {
            let (what, known) = match fault.what {
                Breakage::ProcessDies => ("process", self.application.processes),
                _ => ("target", self.storage.targets),
            };
            if fault.which >= known {
                let problem = format!("names {what} {} of {known}", fault.which);
                return Err(ScenarioError::value("fault.which", &problem, "count from 0"));
            }
            if fault.at.get() >= HORIZON_NS / 2 {
                return Err(ScenarioError::value("fault.at", "is too late", "within a year"));
            }
        }
        Ok(())
    }
}

fn check_server_targets(storage: &Storage) -> Result<(), ScenarioError> {
    let refuse = |problem: &str, hint: &str| {
        Err(ScenarioError::value("storage.server_targets", problem, hint))
    };
    if storage.server_targets.is_empty() {
        return Ok(());
    }
    if storage.targets_per_server.is_some() {
        return refuse("is there beside targets_per_server", "one of the two");
    }
    let all: u64 = storage.server_targets.iter().copied().map(u64::from).sum();
    if all != u64::from(storage.targets) || storage.server_targets.contains(&0) {
        let problem = format!("has {all} targets of {}, or a server without any", storage.targets);
        return refuse(&problem, "a number for each server, together all targets");
    }
    Ok(())
}

pub(super) fn within(key: &str, value: u32, most: u32) -> Result<(), ScenarioError> {
    match value {
        0 => Err(ScenarioError::value(key, "is zero", "at least 1")),
        value if value > most => {
            Err(ScenarioError::value(key, &format!("is {value}"), &format!("at most {most}")))
        }
        _ => Ok(()),
    }
}

fn line_at(text: &str, byte: usize) -> usize {
    text.as_bytes().iter().take(byte).filter(|byte| **byte == b'\n').count() + 1
}
