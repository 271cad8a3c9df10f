//! Plans for the most common questions, in sizes that fit the machine.
//!
//! Each is an experiment of Xie (sections 4.1 to 4.6 and 5.4) or Wright (6.1, appendix F.2) with
//! its shape kept and its sizes scaled: no instance takes more than a tenth of the free space of
//! the fullest target, or half of it where a tenth does not hold a transfer of every process.

mod build;
mod fit;
mod repeat;

use std::fmt;
use std::str::FromStr;

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::{Caching, Engine, Operation, Pattern, Sharing};
use plimsoll_machine::{Machine, PreflightError, check_place, takes_direct_io};

pub use build::plan_of;

use crate::plan::{Budget, ClientsPlan, Pause, Plan, TargetPlan, TransferSize, Value};

/// A question about the storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Template {
    /// What one process gets from one target, by burst size (Xie 4.1).
    Pipeline,
    /// What a target delivers, by number of clients (Xie 4.2, Wright F.2).
    Target,
    /// What a server delivers, by number of clients on all its targets (Xie 4.3).
    Server,
    /// What a client gets from several targets, by their number (Xie 4.4).
    Fanout {
        /// Every file over all of the targets, instead of each file on one.
        striped: bool,
    },
    /// What pairs of a client and a target get, by their number (Xie 4.5).
    ManyPairs,
    /// What sharing a file costs, by number of clients (Xie 4.6).
    Sharing,
    /// How long targets stay slow: one target after the other, over and over (Xie 5.4).
    Sequences,
    /// Which striping is fastest: stripe count and stripe size (Wright 6.1).
    Sweep,
}

impl Template {
    /// All of them, in the order in which they are worth running.
    pub const ALL: [Template; 9] = [
        Template::Pipeline,
        Template::Target,
        Template::Server,
        Template::Fanout { striped: false },
        Template::Fanout { striped: true },
        Template::ManyPairs,
        Template::Sharing,
        Template::Sequences,
        Template::Sweep,
    ];

    /// Returns the name on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Template::Pipeline => "pipeline",
            Template::Target => "target",
            Template::Server => "server",
            Template::Fanout { striped: false } => "fanout",
            Template::Fanout { striped: true } => "fanout-striped",
            Template::ManyPairs => "many-pairs",
            Template::Sharing => "sharing",
            Template::Sequences => "sequences",
            Template::Sweep => "sweep",
        }
    }

    /// Returns whether it measures the processes of a single client.
    pub fn is_of_one_client(self) -> bool {
        matches!(self, Template::Fanout { .. })
    }

    /// Returns whether its burst sizes are found by growing them on the targets before it begins.
    pub fn grows(self) -> bool {
        self == Template::Target
    }

    /// Returns the question that it answers, in a line.
    pub fn question(self) -> &'static str {
        match self {
            Template::Pipeline => "what does one process get from one target, by burst size?",
            Template::Target => "what does one target give, by number of clients?",
            Template::Server => "what does one server give, by number of clients?",
            Template::Fanout { striped: false } => {
                "what does one client get from several targets, each file on one?"
            }
            Template::Fanout { striped: true } => {
                "what does one client get from several targets, each file on all?"
            }
            Template::ManyPairs => "what do pairs of client and target get, by their number?",
            Template::Sharing => "what does it cost to share a file, by number of clients?",
            Template::Sequences => "how long do targets stay slow once they are?",
            Template::Sweep => "which stripe count and stripe size are fastest?",
        }
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Template {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Template::ALL.into_iter().find(|template| template.name() == text).ok_or_else(|| {
            let names = Template::ALL.map(Template::name).join(", ");
            format!("no template {text:?}; there are {names}")
        })
    }
}

/// A template's plan for a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// What will be done.
    pub plan: Plan,
    /// What is smaller than usual for the template, and why.
    pub notes: Vec<String>,
}

/// What a template must know about the machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// Where data can go.
    pub targets: Vec<TargetPlan>,
    /// Cores of a client.
    pub cores: u32,
    /// Free space of the fullest target.
    pub free_bytes_least: Bytes,
    /// Memory of a client; 0 if not known.
    pub memory: Bytes,
    /// Whether all targets take O_DIRECT.
    pub direct_io: bool,
    /// Whether Lustre can place files on all targets.
    pub lustre: bool,
}

impl Facts {
    /// Finds out what templates have to know. Writes nothing.
    ///
    /// # Errors
    /// When a target is not a directory that can be written in.
    pub fn find(machine: &Machine, targets: Vec<TargetPlan>) -> Result<Self, PreflightError> {
        targets.iter().try_for_each(|target| check_place(&target.name, &target.path))?;
        let free = targets.iter().filter_map(|target| machine.space(&target.path).ok());
        Ok(Facts {
            cores: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32),
            free_bytes_least: free.map(|space| space.available).min().unwrap_or_default(),
            memory: machine.memory().map(|memory| memory.total).unwrap_or_default(),
            direct_io: targets.iter().all(|target| takes_direct_io(&target.path)),
            lustre: targets.iter().all(|target| target.lustre_index.is_some()),
            targets,
        })
    }
}

/// The options that change what a template does.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TemplateOptions {
    /// Name of the results.
    pub name: Option<String>,
    /// Decides every order and every choice.
    pub seed: u64,
    /// The clients that there are: nodes of a job, or processes of this machine that play them.
    pub clients: Option<ClientsPlan>,
    /// Processes that a client of a job has; `None` where as many as wanted are started.
    pub processes_most: Option<u32>,
    /// Values of the parameter that rounds vary.
    pub values: Option<Vec<Value>>,
    /// Burst sizes; for `pipeline` they are what is varied.
    pub sizes: Option<Vec<Bytes>>,
    /// Bytes of one call.
    pub transfer: Option<TransferSize>,
    /// Which way the data goes.
    pub operation: Operation,
    /// The order of the calls.
    pub pattern: Pattern,
    /// Who writes into one file, unless that is varied.
    pub sharing: Sharing,
    /// How the page cache is kept out: directly where that is possible.
    pub caching: Option<Caching>,
    /// Who does the transfers.
    pub engine: Engine,
    /// Transfers in flight.
    pub depth: Option<u32>,
    /// Bytes before the next target of a striped file follows.
    pub stripe_size: Option<Bytes>,
    /// Whether the data is compared after the measure.
    pub verify: bool,
    /// Runs.
    pub runs: Option<u32>,
    /// Repetitions of each round: exactly, or at least if one of the next two is there.
    pub rounds: Option<u32>,
    /// Most repetitions of each round.
    pub rounds_max: Option<u32>,
    /// When to stop before.
    pub precision: Option<f64>,
    /// When to stop at the latest.
    pub budget: Budget,
    /// Rest between the parts.
    pub pause: Pause,
}
