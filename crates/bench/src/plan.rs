//! The plan of an experiment: what a person writes in TOML, checked.
//!
//! A plan is complete: two machines with the same targets do the same with it, and a result can be
//! repeated from it. [`Plan::parse`] reads one and refuses what cannot be run, with the line, the
//! key and what would be allowed; [`Plan::to_toml`] writes one with every default spelled out.

mod check;
mod error;
mod keys;
pub(crate) mod limits;
mod text;
mod value;

use std::path::PathBuf;

use plimsoll_domain::burst::{Caching, Engine, Operation, Pattern, Sharing};
use plimsoll_domain::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

pub use error::PlanError;
pub use text::FILE_BYTES_MAX;
pub use value::{ONE_CALL_MOST, Parameter, TargetsUsed, TransferSize, Value, Vary};

/// The version that this program writes. Older ones stay readable.
pub const PLAN_VERSION: u32 = 1;

/// One experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a plan")]
pub struct Plan {
    /// Version of the format, [`PLAN_VERSION`].
    pub version: u32,
    /// What the results are called.
    pub name: String,
    /// Decides every order and every choice; the same seed gives the same schedule.
    #[serde(default)]
    pub seed: u64,
    /// Where data can go.
    #[serde(default, rename = "target")]
    pub targets: Vec<TargetPlan>,
    /// Who does the work.
    #[serde(default)]
    pub clients: ClientsPlan,
    /// Which targets an instance uses.
    #[serde(default)]
    pub placement: Placement,
    /// What each process does.
    pub burst: BurstPlan,
    /// What differs between the instances of a round.
    #[serde(default)]
    pub vary: Vary,
    /// What differs between the groups of a run, beside.
    #[serde(default)]
    pub groups: Vary,
    /// How often.
    #[serde(default)]
    pub repeat: Repeat,
    /// When it ends at the latest.
    #[serde(default)]
    pub budget: Budget,
    /// Rest between the parts.
    #[serde(default)]
    pub pause: Pause,
}

/// A place that stores data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a target")]
pub struct TargetPlan {
    /// Its name in the results.
    pub name: String,
    /// A directory on it; on Lustre one directory serves all targets.
    #[serde(serialize_with = "text::path")]
    pub path: PathBuf,
    /// What serves it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Index of the OST, where files are to be placed by Lustre.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lustre_index: Option<u32>,
}

/// The clients that there are, and how many take part in an instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table of clients",
    try_from = "text::RawClients",
    into = "text::RawClients"
)]
pub struct ClientsPlan {
    /// Number of clients.
    pub count: u32,
    /// Their names; empty for c0, c1, ….
    pub names: Vec<String>,
    /// How many take part in an instance, chosen anew for each.
    pub used: u32,
    /// Processes of each client.
    pub processes: u32,
}

impl ClientsPlan {
    /// So many clients with one process each, all used.
    pub fn of(count: u32) -> Self {
        ClientsPlan { count, names: Vec::new(), used: count, processes: 1 }
    }

    /// Returns the name of a client.
    pub fn name(&self, client: u32) -> String {
        self.names.get(client as usize).cloned().unwrap_or_else(|| format!("c{client}"))
    }
}

impl Default for ClientsPlan {
    fn default() -> Self {
        Self::of(1)
    }
}

/// Which of the targets an instance uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table of placement")]
pub struct Placement {
    /// How many, at least as many as a file is striped over.
    pub targets: TargetsUsed,
    /// Which come first.
    pub order: TargetOrder,
}

/// Where the sequence of an instance's targets begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetOrder {
    /// Anywhere, drawn for each instance (Xie 3).
    #[default]
    Random,
    /// Where the previous instance's ended (Xie 5.4).
    RoundRobin,
}

/// What each process does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table of the burst")]
pub struct BurstPlan {
    /// One round each in a group; none when the round varies the burst.
    #[serde(default)]
    pub sizes: Vec<Bytes>,
    /// What a size is the size of.
    #[serde(default)]
    pub of: SizeOf,
    /// Bytes of one call.
    #[serde(default)]
    pub transfer: TransferSize,
    /// Which way the data goes.
    #[serde(default)]
    pub operation: Operation,
    /// The order of the calls.
    #[serde(default)]
    pub pattern: Pattern,
    /// Who writes into one file.
    #[serde(default)]
    pub sharing: Sharing,
    /// How the page cache is kept out.
    #[serde(default)]
    pub caching: Caching,
    /// Who does the transfers.
    #[serde(default)]
    pub engine: Engine,
    /// Transfers in flight of each process.
    #[serde(default = "one")]
    pub depth: u32,
    /// Who spreads a file over targets.
    #[serde(default)]
    pub striping: Striping,
    /// Targets that one file lies on.
    #[serde(default = "one")]
    pub stripe_count: u32,
    /// Bytes before the next target of a striped file follows.
    #[serde(default = "one_mebibyte")]
    pub stripe_size: Bytes,
    /// Whether the data is compared after the measure.
    #[serde(default)]
    pub verify: bool,
}

fn one() -> u32 {
    1
}

fn one_mebibyte() -> Bytes {
    Bytes::new(1 << 20)
}

/// What a burst size is the size of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SizeOf {
    /// What each process moves.
    #[default]
    Process,
    /// What all processes of an instance move together (Xie 4.3, 4.4): each its part, rounded
    /// down to whole transfers.
    Instance,
}

/// Who spreads a file over targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Striping {
    /// The process: one file in the directory of each target, in turns of the stripe size.
    #[default]
    Directories,
    /// Lustre: one file with a layout.
    Lustre,
}

/// How often everything is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table of repetitions")]
pub struct Repeat {
    /// Runs; under a scheduler each is a job on other nodes (Xie 3).
    pub runs: u32,
    /// How often each round is repeated in a run, at least.
    pub rounds: u32,
    /// … and at most, while the precision is not reached and the budget lasts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds_max: Option<u32>,
    /// A run ends when half the width of the interval of every setting's median aggregate
    /// bandwidth is at most this share of the median.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<f64>,
    /// Confidence of that interval.
    pub confidence: f64,
}

impl Default for Repeat {
    fn default() -> Self {
        Repeat { runs: 1, rounds: 10, rounds_max: None, precision: None, confidence: 0.95 }
    }
}

impl Repeat {
    /// Returns the most repetitions of each round in a run.
    pub fn rounds_most(&self) -> u32 {
        self.rounds_max.unwrap_or(self.rounds)
    }
}

/// When an experiment ends though it could go on. Runs have equal shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table of the budget")]
pub struct Budget {
    /// Bytes moved, those written before a read included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// Time, pauses included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Nanos>,
}

/// Rest between the parts of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table of pauses")]
pub struct Pause {
    /// Between two instances of a round.
    pub instances: Nanos,
    /// Between two rounds of a run.
    pub rounds: Nanos,
    /// Between two runs.
    pub runs: Nanos,
}

impl Plan {
    /// Returns the number of processes that each client must have for the largest instance.
    pub fn processes_most(&self) -> u32 {
        let varied = [&self.vary, &self.groups];
        let counts = varied.iter().filter(|vary| vary.parameter == Parameter::Processes);
        let counts = counts.flat_map(|vary| &vary.values).filter_map(|value| match value {
            Value::Count(count) => Some(*count),
            _ => None,
        });
        counts.max().unwrap_or(self.clients.processes)
    }
}
