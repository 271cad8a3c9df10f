//! Nodes on the way to storage, as a person describes them.

use plimsoll_domain::{Bytes, BytesPerSec};
use serde::{Deserialize, Serialize};

use super::{Scenario, ScenarioError};

/// Nodes between the program and storage that take its data in, so that it can go on, and write it out behind its back:
/// staging nodes (Huang 4), or burst buffers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    /// How many there are.
    pub nodes: u32,
    /// Bytes that each of them holds. With 0 there are none: the program writes to storage itself.
    pub capacity: Bytes,
    /// What each takes in.
    pub rate: BytesPerSec,
    /// The same for each by itself, where they differ; `rate` is then not used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<BytesPerSec>,
    /// Which of them a block goes to.
    #[serde(default)]
    pub choice: Choice,
    /// When what was taken in is written out.
    #[serde(default)]
    pub drain: Drain,
    /// Files that each writes to at a time. For storage, they are the processes of the program.
    #[serde(default = "sixteen")]
    pub streams: u32,
}

/// Which buffer a block goes to: routing before the buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// That of its process; neighbouring processes share one.
    #[default]
    Own,
    /// The one that has taken it in first, as far as can be seen: one with room, and least before it.
    Soonest,
}

/// When a buffer writes out what it has taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Drain {
    /// As soon as it has a block.
    #[default]
    AtOnce,
    /// When the whole burst is in the buffers, or there is no room for more.
    AfterBurst,
}

/// More nodes than any machine sets aside.
const NODES_MAX: u32 = 65_536;
const STREAMS_MAX: u32 = 4_096;

impl Scenario {
    /// Returns the buffer, if there is one that holds anything.
    pub fn buffer_in_use(&self) -> Option<&Buffer> {
        self.buffer.as_ref().filter(|buffer| buffer.capacity.get() > 0)
    }

    /// Returns what storage sees: where there are buffers, their streams instead of the program's processes.
    pub fn behind_buffers(&self) -> Scenario {
        let mut behind = self.clone();
        if let Some(buffer) = self.buffer_in_use() {
            behind.application.processes = buffer.nodes * buffer.streams;
            behind.application.processes_per_node = buffer.streams;
        }
        behind
    }

    pub(super) fn check_buffer(&self) -> Result<(), ScenarioError> {
        let Some(buffer) = &self.buffer else { return Ok(()) };
        let refuse = |key: &str, problem: &str, hint: &str| {
            Err(ScenarioError::value(&format!("buffer.{key}"), problem, hint))
        };
        super::check::within("buffer.nodes", buffer.nodes, NODES_MAX)?;
        super::check::within("buffer.streams", buffer.streams, STREAMS_MAX)?;
        if buffer.rate.get() == 0 || buffer.rates.iter().any(|rate| rate.get() == 0) {
            return refuse("rate", "is zero", "a rate like 2GB/s");
        }
        if !buffer.rates.is_empty() && buffer.rates.len() != buffer.nodes as usize {
            let problem = format!("has {} rates for {} nodes", buffer.rates.len(), buffer.nodes);
            return refuse("rates", &problem, "one for each node");
        }
        if self.buffer_in_use().is_none() {
            return Ok(());
        }
        let (capacity, block) = (buffer.capacity, self.application.block);
        if capacity < block {
            let problem = format!("is {capacity}, less than a block of {block}");
            return refuse("capacity", &problem, "room for a block at least, or 0 for no buffer");
        }
        if !self.fault.is_empty() {
            let hint = "a scenario without faults, or without a buffer";
            return refuse("nodes", "cannot be simulated with faults", hint);
        }
        let application = &self.application;
        let is_other = application.cache.get() > 0
            || application.think.is_some()
            || application.outstanding_max() != u64::MAX;
        if is_other {
            let problem = "cannot be simulated with cache, think or submit = \"paced\"";
            return refuse("nodes", problem, "leave them out: processes wait for the buffers only");
        }
        super::check::within(
            "buffer.nodes x buffer.streams",
            buffer.nodes * buffer.streams,
            super::PROCESSES_MAX,
        )
    }
}

impl Buffer {
    /// What a node takes in, in bytes per nanosecond.
    pub(crate) fn bytes_per_ns(&self, node: usize) -> f64 {
        self.rates.get(node).unwrap_or(&self.rate).get() as f64 / 1e9
    }
}

fn sixteen() -> u32 {
    16
}
