//! The site file: the storage as Plimsoll knows it, described once.
//!
//! A person writes it or `plimsoll site init` does; commands read what they need
//! from it and measuring commands write back what they found. It is TOML, made to
//! be edited by hand, so it carries a version but no checksum.
//!
//! [`Site`] is what the file says, [`check`](Site::check) tests whether it makes sense,
//! and [`SiteFile`] is the text, which keeps a person's comments on update.

mod check;
mod costs;
mod error;
mod file;
mod peak;
mod scores;
mod search;
mod update;

pub use error::SiteError;
pub use file::{FILE_BYTES_MAX, SiteFile};
pub use peak::{MeasuredPeak, Peak};
pub use search::{FILE_NAME, FoundFile, Origin, PassedOver, SearchPath};

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Bytes, BytesPerSec, Nanos};

/// The version that this program writes. Older ones stay readable.
pub const SITE_VERSION: u32 = 1;

/// One site: its file systems, what serves them, and what is known about their speed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a site")]
pub struct Site {
    /// Version of the format, [`SITE_VERSION`].
    pub version: u32,
    /// What people call the site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What the hardware can do at most, whatever is measured.
    #[serde(default, skip_serializing_if = "Limits::is_empty")]
    pub limits: Limits,
    /// File systems, each made of targets.
    #[serde(default, rename = "file_system", skip_serializing_if = "Vec::is_empty")]
    pub file_systems: Vec<FileSystem>,
    /// Servers of data or metadata.
    #[serde(default, rename = "server", skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<Server>,
    /// Places that store data.
    #[serde(default, rename = "target", skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Target>,
    /// Nodes that do I/O.
    #[serde(default, rename = "client", skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<Client>,
    /// How nodes are connected.
    #[serde(default, skip_serializing_if = "Topology::is_empty")]
    pub topology: Topology,
    /// How long slowness lasted when it was measured.
    #[serde(default, rename = "slowness", skip_serializing_if = "Vec::is_empty")]
    pub slowness: Vec<Slowness>,
    /// Components that were slower than their peers when they were scored.
    #[serde(default, rename = "straggler", skip_serializing_if = "Vec::is_empty")]
    pub stragglers: Vec<Straggler>,
}

impl Site {
    /// Returns a site about which nothing is known yet.
    pub fn empty() -> Self {
        Site {
            version: SITE_VERSION,
            name: None,
            limits: Limits::default(),
            file_systems: Vec::new(),
            servers: Vec::new(),
            targets: Vec::new(),
            clients: Vec::new(),
            topology: Topology::default(),
            slowness: Vec::new(),
            stragglers: Vec::new(),
        }
    }

    /// Returns the target of that name.
    pub fn target(&self, name: &str) -> Option<&Target> {
        self.targets.iter().find(|target| target.name == name)
    }

    /// Returns the directory in which files of a target are made: its path, or for a Lustre target, which is chosen
    /// by its index, the mount of its file system.
    pub fn directory<'a>(&'a self, target: &'a Target) -> Option<&'a Path> {
        let mount = || {
            target.lustre_index?;
            let name = target.file_system.as_ref()?;
            self.file_systems.iter().find(|it| it.name == *name).map(|it| it.mount.as_path())
        };
        target.path.as_deref().or_else(mount)
    }
}

/// Physical limits of the parts between a client and a target, per part.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table of rates")]
pub struct Limits {
    /// One client's link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<BytesPerSec>,
    /// One I/O router's link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub router: Option<BytesPerSec>,
    /// One server's link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<BytesPerSec>,
    /// The whole network between clients and servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<BytesPerSec>,
}

impl Limits {
    fn is_empty(&self) -> bool {
        *self == Limits::default()
    }
}

/// A file system that people see as one tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a file system")]
pub struct FileSystem {
    /// Its name on this site.
    pub name: String,
    /// Its type as the kernel names it: lustre, ext4, xfs, nfs4, ….
    pub kind: String,
    /// Where it is mounted on clients.
    pub mount: PathBuf,
}

/// What a server serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ServerRole {
    /// Targets (a Lustre OSS).
    Storage,
    /// Names and attributes (a Lustre MDS).
    Metadata,
    /// Both, as on small sites.
    Combined,
}

/// A machine that serves targets or metadata.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a server")]
pub struct Server {
    /// Its name on this site.
    pub name: String,
    /// What it serves.
    pub role: ServerRole,
    /// A name common to servers that share something (a rack, a controller, a switch).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

/// A place that stores data: a Lustre OST, a block device with a file system, a directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a target")]
pub struct Target {
    /// Its name on this site.
    pub name: String,
    /// The file system that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<String>,
    /// The server that serves it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The directory whose files lie on this target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// The index of the OST in its Lustre file system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lustre_index: Option<u32>,
    /// The block device below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<PathBuf>,
    /// How much it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Bytes>,
    /// The best rates that it reaches.
    #[serde(default, skip_serializing_if = "Peak::is_empty")]
    pub peak: Peak,
    /// What one transaction costs it.
    #[serde(default, skip_serializing_if = "Costs::is_empty")]
    pub cost: Costs,
}

impl Target {
    /// Returns a target with nothing known but its name.
    pub fn named(name: impl Into<String>) -> Self {
        Target {
            name: name.into(),
            file_system: None,
            server: None,
            path: None,
            lustre_index: None,
            device: None,
            capacity: None,
            peak: Peak::default(),
            cost: Costs::default(),
        }
    }
}

/// Transaction costs of a target, separately for reads and writes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table of read and write costs")]
pub struct Costs {
    /// Reading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Cost>,
    /// Writing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<Cost>,
}

impl Costs {
    fn is_empty(&self) -> bool {
        *self == Costs::default()
    }
}

/// What one transaction of b bytes costs: `seconds_per_operation + seconds_per_byte * b`
/// (Uselton and Wright, equation 1), and how well that was known when it was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table of costs")]
pub struct Cost {
    /// The fixed part of a transaction.
    pub seconds_per_operation: f64,
    /// The part proportional to its size.
    pub seconds_per_byte: f64,
    /// Root mean square of the fit's relative residuals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative_error: Option<f64>,
    /// Median of the residuals' magnitudes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_relative_error: Option<f64>,
    /// Largest magnitude of a residual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_relative_error: Option<f64>,
    /// Whose count of transactions the costs rest on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transactions: Option<CountedBy>,
    /// Transactions in flight during the measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_depth: Option<u32>,
    /// How full the target was, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<f64>,
    /// When it was measured (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<String>,
}

/// Who counted the transactions that costs rest on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CountedBy {
    /// The kernel, at the block device.
    Device,
    /// The Lustre server, in its brw_stats.
    Lustre,
    /// Nobody: the program's requests were counted as transactions.
    Requested,
}

impl CountedBy {
    /// Returns its name, as in the file.
    pub fn name(self) -> &'static str {
        match self {
            CountedBy::Device => "device",
            CountedBy::Lustre => "lustre",
            CountedBy::Requested => "requested",
        }
    }
}

/// A node that does I/O.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a client")]
pub struct Client {
    /// Its name on this site.
    pub name: String,
    /// Where it sits in the network (torus coordinates, for example).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub coordinates: Vec<i64>,
    /// The I/O router that it uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub router: Option<String>,
}

/// How nodes are connected: what is needed to know how far apart two of them are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table of the topology")]
pub struct Topology {
    /// Nodes along each dimension of a torus. Without it coordinates do not wrap around.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub torus: Vec<u64>,
}

impl Topology {
    fn is_empty(&self) -> bool {
        *self == Topology::default()
    }
}

/// How long low and normal sequences lasted (Xie, section 5.4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "durations of slowness")]
pub struct Slowness {
    /// A measure is low below this quantile of all measures, between 0 and 1.
    pub quantile: f64,
    /// Median duration of a low sequence.
    pub low_median: Nanos,
    /// Median duration of a normal sequence.
    pub normal_median: Nanos,
    /// Sequences that the medians rest on.
    pub sequences: u64,
    /// When it was measured (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<String>,
}

/// A component that was slower than its peers when it was scored (docs/straggler-verdicts.md).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a straggler")]
pub struct Straggler {
    /// What it is.
    pub component: ComponentKind,
    /// Its name.
    pub name: String,
    /// When it was slow.
    pub verdict: Persistence,
    /// Median of its bandwidth over that of the others of the same instance.
    pub ratio: f64,
    /// Measures that the verdict rests on.
    pub measures: u64,
    /// When it was measured (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<String>,
}

/// What can be a straggler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ComponentKind {
    /// A target.
    Target,
    /// A client.
    Client,
}

impl ComponentKind {
    /// Returns the word in the file.
    pub fn name(self) -> &'static str {
        match self {
            ComponentKind::Target => "target",
            ComponentKind::Client => "client",
        }
    }
}

/// How lasting slowness is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Persistence {
    /// At times.
    Transient,
    /// In some settings only.
    Partial,
    /// Since some moment.
    Drifting,
    /// Throughout.
    Persistent,
}

impl Persistence {
    /// Returns the word in the file.
    pub fn name(self) -> &'static str {
        match self {
            Persistence::Transient => "transient",
            Persistence::Partial => "partial",
            Persistence::Drifting => "drifting",
            Persistence::Persistent => "persistent",
        }
    }
}
