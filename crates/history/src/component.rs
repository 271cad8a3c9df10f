//! What counters and levels are of.

use serde::{Deserialize, Serialize};

/// What is watched, under the name by which it is known for good. Which server reports it is not part of that: a
/// target that another server takes over stays the same target.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Component {
    /// What it is.
    pub kind: ComponentKind,
    /// The cluster or site that it belongs to; empty if nobody named one.
    pub cluster: String,
    /// The file system that it is a part of; empty for what is of none.
    pub file_system: String,
    /// Its own name: `scratch-OST0003`, `nvme0n1`, a server's host name.
    pub name: String,
    /// The job whose share of it this is; empty for the whole.
    pub job: String,
}

impl Component {
    /// Returns a component as a whole, which no file system was named for.
    pub fn new(kind: ComponentKind, name: impl Into<String>) -> Self {
        let (cluster, file_system, job) = Default::default();
        Component { kind, cluster, file_system, name: name.into(), job }
    }

    /// Returns the same one of this cluster.
    #[must_use]
    pub fn of_cluster(mut self, cluster: impl Into<String>) -> Self {
        self.cluster = cluster.into();
        self
    }

    /// Returns the same one as a part of this file system.
    #[must_use]
    pub fn of_file_system(mut self, file_system: impl Into<String>) -> Self {
        self.file_system = file_system.into();
        self
    }

    /// Returns the share that this job has of it.
    #[must_use]
    pub fn of_job(mut self, job: impl Into<String>) -> Self {
        self.job = job.into();
        self
    }

    /// Returns whether this is the share of a job.
    pub fn is_job(&self) -> bool {
        !self.job.is_empty()
    }
}

/// What a component is. The names are those of the store, and stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComponentKind {
    /// A Lustre target of data.
    Ost,
    /// A Lustre target of metadata.
    Mdt,
    /// The Lustre target of the configuration.
    Mgt,
    /// A block device of a machine.
    BlockDevice,
    /// A mounted file system.
    Mount,
    /// A machine: its processors, memory and pressure.
    Server,
    /// An LNet router or interface.
    Router,
    /// A Lustre target as one client sees it.
    SeenTarget,
}

impl ComponentKind {
    /// All of them.
    pub const ALL: [ComponentKind; 8] = [
        ComponentKind::Ost,
        ComponentKind::Mdt,
        ComponentKind::Mgt,
        ComponentKind::BlockDevice,
        ComponentKind::Mount,
        ComponentKind::Server,
        ComponentKind::Router,
        ComponentKind::SeenTarget,
    ];

    /// Returns its name in the store.
    pub fn name(self) -> &'static str {
        match self {
            ComponentKind::Ost => "ost",
            ComponentKind::Mdt => "mdt",
            ComponentKind::Mgt => "mgt",
            ComponentKind::BlockDevice => "block_device",
            ComponentKind::Mount => "mount",
            ComponentKind::Server => "server",
            ComponentKind::Router => "router",
            ComponentKind::SeenTarget => "seen_target",
        }
    }

    /// Returns the kind of that name in the store.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns whether it stores data and has a utilization.
    pub fn is_data_target(self) -> bool {
        matches!(self, ComponentKind::Ost | ComponentKind::BlockDevice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_kinds() {
        for kind in ComponentKind::ALL {
            assert_eq!(ComponentKind::named(kind.name()), Some(kind));
        }
        assert_eq!(ComponentKind::named("disk"), None);
    }
}
