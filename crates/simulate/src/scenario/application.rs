//! The program that writes, as a person describes it.

use plimsoll_domain::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use super::Durations;

/// The program that writes, as all its processes do at the same time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Application {
    /// Processes in all.
    pub processes: u32,
    /// Processes that share a node, and its view of the targets.
    #[serde(default = "sixteen")]
    pub processes_per_node: u32,
    /// Blocks that each process writes in a burst, one after the other.
    #[serde(default = "super::one")]
    pub blocks: u32,
    /// Bytes of a block.
    pub block: Bytes,
    /// Which target a process writes to when nobody routes.
    #[serde(default)]
    pub placement: Home,
    /// Targets that a process's file lies on when nobody routes.
    #[serde(default = "super::one")]
    pub stripes: u32,
    /// For `placement = "pinned"`: the first target of each process, from the start again
    /// when the list ends.
    #[serde(default)]
    pub pinned: Vec<u32>,
    /// Bursts, with compute before each.
    #[serde(default = "super::one")]
    pub bursts: u32,
    /// Time that every process computes before a burst.
    #[serde(default)]
    pub compute: Nanos,
    /// Bytes that a process may leave behind in its cache when it goes on computing.
    #[serde(default)]
    pub cache: Bytes,
    /// How long a process computes by itself before it hands over each block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<Durations>,
    /// A node looks which of its writes have ended only so often. 0 is at once.
    #[serde(default)]
    pub notice_every: Nanos,
    /// When a process hands over its blocks.
    #[serde(default)]
    pub submit: Submit,
    /// For `submit = "paced"`: a process hands over its next block, or closes, when at most so
    /// many of its bytes are handed over and not durable. 0 is one block at a time.
    #[serde(default)]
    pub outstanding: Bytes,
}

/// When a process hands over its blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Submit {
    /// All of a burst when it begins, and the close of the last with them: totals are known.
    #[default]
    AtOnce,
    /// As it gets rid of earlier ones, like a program that calls write() and is held back. The
    /// router never knows the total.
    Paced,
}

/// Which target a process writes to when nobody routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Home {
    /// Neighbouring processes share a target: equal groups (Huang 3.1).
    #[default]
    Grouped,
    /// Distinct targets drawn at random for each process (Wright 6.3).
    Random,
    /// As the list says.
    Pinned,
}

impl Application {
    /// Bytes that one process writes in one burst.
    pub fn burst_bytes(&self) -> u64 {
        self.block.get() * u64::from(self.blocks)
    }

    /// Bytes of a process that may be handed over and not durable before it hands over more.
    pub(crate) fn outstanding_max(&self) -> u64 {
        match self.submit {
            Submit::AtOnce => u64::MAX,
            Submit::Paced => self.outstanding.get(),
        }
    }

    /// Bytes that all processes write in all bursts.
    pub fn total_bytes(&self) -> u64 {
        self.burst_bytes() * u64::from(self.processes) * u64::from(self.bursts)
    }
}

fn sixteen() -> u32 {
    16
}
