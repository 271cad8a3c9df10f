//! The scenario: what is simulated, as a person writes it.

mod application;
mod buffer;
mod check;
mod durations;
mod error;
mod library;
mod network;
mod site;
mod sweep;

pub use application::{Application, Home, Submit};
pub use buffer::{Buffer, Choice, Drain};
pub use check::{
    BLOCKS_MAX, PARTS_MAX, PROCESSES_MAX, PROCESSES_PER_NODE_MAX, SEEDS_MAX, TARGETS_MAX,
};
pub use durations::{Distribution, Durations};
pub use error::ScenarioError;
pub use library::{EMBEDDED, Embedded, embedded};
pub use network::Network;
pub use site::SiteLacks;
pub use sweep::{Parameter, Sweep, SweepMark};

use std::ops::Range;

use plimsoll_domain::{Bytes, BytesPerSec, Nanos};
use plimsoll_route::{Policy, PolicyKind};
use plimsoll_stats::Random;
use serde::{Deserialize, Serialize};

/// The version of the format that this program writes and reads.
pub const SCENARIO_VERSION: u32 = 1;

/// Everything about a simulation but its seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Version of the format, [`SCENARIO_VERSION`].
    pub version: u32,
    /// What it shows, in one line.
    pub title: String,
    /// The figure or section that it stands beside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Routers to compare, the one of most interest first.
    pub policies: Vec<Policy>,
    /// The targets and what is before them.
    pub storage: Storage,
    /// The program that writes.
    pub application: Application,
    /// Nodes that take the program's data in on its way to storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Buffer>,
    /// Messages between the parts of a router, and data on its way.
    #[serde(default)]
    pub network: Network,
    /// What others do.
    #[serde(default)]
    pub noise: Vec<Noise>,
    /// What breaks.
    #[serde(default)]
    pub fault: Vec<Fault>,
    /// Values to try one after the other.
    #[serde(default)]
    pub sweep: Option<Sweep>,
    /// How many seeds to run unless told otherwise.
    #[serde(default = "one")]
    pub seeds: u32,
}

/// The targets and the stages before them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Storage {
    /// How many there are.
    pub targets: u32,
    /// What one stream gets from one of them.
    pub rate: BytesPerSec,
    /// The same for each target by itself, where they differ; `rate` is then not used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<BytesPerSec>,
    /// Time that every request takes of a target, whatever its size (Uselton's a_0).
    #[serde(default)]
    pub request_cost: Nanos,
    /// How each serves several streams.
    #[serde(default)]
    pub service: Discipline,
    /// How a target's total depends on the number of streams.
    #[serde(default)]
    pub curve: Curve,
    /// Neighbouring targets that share a server.
    #[serde(default)]
    pub targets_per_server: Option<u32>,
    /// The same for each server by itself, where they differ: as many neighbours share the first
    /// server as the first number says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_targets: Vec<u32>,
    /// What a server lets through.
    #[serde(default)]
    pub server_limit: Option<BytesPerSec>,
    /// What a client node lets through.
    #[serde(default)]
    pub client_limit: Option<BytesPerSec>,
    /// What the network between clients and servers lets through.
    #[serde(default)]
    pub network_limit: Option<BytesPerSec>,
}

/// How a target serves several jobs at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Discipline {
    /// All at the same time, in equal parts.
    #[default]
    ProcessorSharing,
    /// One after the other, in the order in which they came.
    Fifo,
}

/// Where the service curve comes from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "\"flat\", \"wright-f2\" or a list of shares for 1, 2, 3, ... streams"
)]
pub enum Curve {
    /// The same total for any number of streams.
    #[default]
    #[serde(serialize_with = "flat_name", deserialize_with = "flat")]
    Flat,
    /// Wright, Table F.2.
    #[serde(serialize_with = "wright_name", deserialize_with = "wright")]
    Wright,
    /// Shares of the single-stream rate for 1, 2, 3, … streams.
    Shares(Vec<f64>),
}

/// What others do to targets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Noise {
    /// Streams that never end (Huang: N_noise on M_noise).
    Streams {
        /// Streams in all.
        streams: u32,
        /// Targets that they are spread over; all if not said.
        #[serde(default)]
        targets: Option<u32>,
        /// Which targets.
        #[serde(default)]
        on: Where,
        /// Whether our job counts as one or by its streams.
        #[serde(default)]
        sharing: Sharing,
        /// Streams that our job counts as with `sharing = "job"`: Huang's c.
        #[serde(default = "one")]
        own_streams: u32,
        /// Bytes that each stream keeps in a first-in-first-out queue.
        #[serde(default = "sixteen_mib")]
        block: Bytes,
    },
    /// Targets become slow and normal again, each by itself (Xie 5.4).
    OnOff {
        /// So many times slower while slow.
        slowdown: f64,
        /// How long slowness lasts.
        slow: Durations,
        /// How long normal times last.
        normal: Durations,
        /// Targets that it happens to; all if not said.
        #[serde(default)]
        targets: Option<u32>,
        /// Which targets.
        #[serde(default)]
        on: Where,
        /// What the run begins with.
        #[serde(default)]
        start: Phase,
    },
}

/// Which targets are meant by a number of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Where {
    /// The first ones.
    #[default]
    First,
    /// Drawn at random for each seed.
    Random,
}

/// How a target divides itself between us and others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// Our job counts as a fixed number of streams: what is left does not depend on how many
    /// writes we have in flight (Huang's model).
    #[default]
    Job,
    /// Every stream counts the same, so that more writes in flight take more from others.
    Stream,
}

/// What a run begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// A moment chosen at random.
    #[default]
    Any,
    /// Slowness has just begun.
    Slow,
    /// Normal times have just begun.
    Normal,
}

/// Something that breaks or comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// When.
    pub at: Nanos,
    /// What.
    pub what: Breakage,
    /// Which target or process, from 0.
    pub which: u32,
}

/// What can break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Breakage {
    /// A process ends with data unwritten.
    ProcessDies,
    /// A target answers no more.
    TargetStops,
    /// A target has no space left.
    TargetFills,
    /// A target refuses writes.
    TargetReadOnly,
    /// A target that failed takes data again.
    TargetBack,
}

impl Breakage {
    /// As it is written in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Breakage::ProcessDies => "process-dies",
            Breakage::TargetStops => "target-stops",
            Breakage::TargetFills => "target-fills",
            Breakage::TargetReadOnly => "target-read-only",
            Breakage::TargetBack => "target-back",
        }
    }
}

impl Noise {
    /// The targets that it happens to.
    pub(crate) fn chosen(&self, targets: usize, random: &mut Random) -> Vec<usize> {
        let (Noise::Streams { targets: number, on, .. } | Noise::OnOff { targets: number, on, .. }) =
            self;
        let number = number.map_or(targets, |number| (number as usize).min(targets));
        let mut all: Vec<usize> = (0..targets).collect();
        if *on == Where::Random {
            random.choose_distinct(&mut all, number);
        }
        all.truncate(number);
        all
    }
}

impl Scenario {
    /// What other policies are compared with.
    pub(crate) const BASELINE: Policy = Policy::new(PolicyKind::Static);

    /// Its policies, then the one that they are compared with unless it is among them.
    pub(crate) fn policies_to_run(&self) -> Vec<Policy> {
        let mut policies = self.policies.clone();
        if !policies.contains(&Self::BASELINE) {
            policies.push(Self::BASELINE);
        }
        policies
    }
}

impl Storage {
    /// What one stream gets from a target, in bytes per second.
    pub fn rate_of(&self, target: usize) -> f64 {
        self.rates.get(target).unwrap_or(&self.rate).get() as f64
    }

    /// What a request costs a target beside its bytes, as the bytes that one stream gets in that time.
    pub(crate) fn request_bytes(&self, target: usize) -> f64 {
        self.request_cost.as_seconds() * self.rate_of(target)
    }

    /// The same of a target as they are on the average, in whole bytes: what a router knows from calibration.
    pub(crate) fn mean_request_bytes(&self) -> u64 {
        let rate = self.total_rate() / f64::from(self.targets.max(1));
        (self.request_cost.as_seconds() * rate) as u64
    }

    /// The targets of each server.
    pub(crate) fn servers(&self) -> Vec<Range<usize>> {
        let targets = self.targets as usize;
        if self.server_targets.is_empty() {
            let per_server = self.targets_per_server.map_or(targets, |per| per as usize).max(1);
            let firsts = (0..targets).step_by(per_server);
            return firsts.map(|first| first..(first + per_server).min(targets)).collect();
        }
        let mut end = 0;
        let own = |count: &u32| {
            let first = end;
            end += *count as usize;
            first..end
        };
        self.server_targets.iter().map(own).collect()
    }

    /// What all targets give to one stream each, in bytes per second.
    pub fn total_rate(&self) -> f64 {
        match self.rates.as_slice() {
            [] => self.rate.get() as f64 * f64::from(self.targets),
            rates => rates.iter().map(|rate| rate.get() as f64).sum(),
        }
    }
}

fn one() -> u32 {
    1
}

pub(crate) fn sixteen_mib() -> Bytes {
    Bytes::new(16 << 20)
}

/// An untagged unit variant would read `null`; these read and write a name.
macro_rules! named {
    ($read:ident, $write:ident, $name:literal) => {
        fn $read<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
            match String::deserialize(deserializer)?.as_str() {
                $name => Ok(()),
                other => Err(serde::de::Error::custom(format!("unknown curve {other:?}"))),
            }
        }

        fn $write<S: serde::Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_str($name)
        }
    };
}

named!(flat, flat_name, "flat");
named!(wright, wright_name, "wright-f2");
