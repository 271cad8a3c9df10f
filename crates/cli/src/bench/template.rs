//! The options that change what a template does.

use anyhow::Result;
use clap::ValueEnum;
use plimsoll_bench::job::Job;
use plimsoll_bench::mpi_team::Grouping;
use plimsoll_bench::plan::{Budget, ClientsPlan, Pause, TargetPlan, TransferSize, Value};
use plimsoll_bench::template::{Facts, Planned, Template, TemplateOptions, plan_of};
use plimsoll_domain::burst::{Caching, Engine, Operation, Pattern, Sharing};
use plimsoll_domain::{Bytes, Nanos};
use plimsoll_machine::Machine;

/// Options of templates.
#[derive(clap::Args, Default)]
#[command(next_help_heading = "Changes to a template")]
pub struct Changes {
    /// Seed of every order and every choice [default: drawn, and kept in the plan]
    #[arg(long)]
    pub seed: Option<u64>,

    /// Name of the results [default: the template's]
    #[arg(long)]
    name: Option<String>,

    /// Number of clients: groups of worker processes on this machine
    #[arg(long, value_name = "N")]
    clients: Option<u32>,

    /// Processes of each client
    #[arg(long, value_name = "N")]
    processes: Option<u32>,

    /// Values of the parameter that a round varies, such as 1,2,4 or 1MiB,16MiB
    #[arg(long, value_delimiter = ',')]
    values: Vec<String>,

    /// Burst sizes, one round for each
    #[arg(long, value_delimiter = ',', value_name = "SIZE")]
    burst: Vec<Bytes>,

    /// Bytes of one call, or `burst` for the whole burst in one call
    ///
    /// With --caching synced, `burst` is Xie's own method: one buffered write of the whole burst (at
    /// most 1 GiB each), and fsync.
    #[arg(long, value_name = "SIZE|burst")]
    transfer: Option<TransferSize>,

    /// Measure reads of data that another process wrote
    #[arg(long)]
    read: bool,

    /// Do the transfers in random order
    #[arg(long)]
    random: bool,

    /// Let all processes of a target write regions of one file
    #[arg(long)]
    shared: bool,

    /// How the page cache is excluded [default: direct where all targets support it]
    #[arg(long)]
    caching: Option<CachingChoice>,

    /// How transfers are done
    #[arg(long, default_value = "sync")]
    engine: EngineChoice,

    /// Transfers that each process keeps in flight (uring)
    #[arg(long, value_name = "N")]
    depth: Option<u32>,

    /// Bytes of a striped file on one target before the next target follows
    #[arg(long, value_name = "SIZE")]
    stripe_size: Option<Bytes>,

    /// Stamp and compare the data, within the measured time
    #[arg(long)]
    verify: bool,

    /// Number of runs
    #[arg(long, value_name = "N")]
    runs: Option<u32>,

    /// Number of times that each round is repeated; with --rounds-max or --precision, the minimum
    #[arg(long, value_name = "N")]
    rounds: Option<u32>,

    /// Maximum number of times, while the precision is not reached [default: three times --rounds]
    #[arg(long, value_name = "N")]
    rounds_max: Option<u32>,

    /// End when half the width of the interval of every median is at most this share of the median, such
    /// as 5% [default: 10%, except with --rounds alone]
    #[arg(long, value_parser = crate::value::share)]
    precision: Option<f64>,

    /// Maximum number of bytes to move
    #[arg(long, value_name = "SIZE")]
    budget_bytes: Option<Bytes>,

    /// Maximum time to take, such as 10min
    #[arg(long, value_name = "TIME")]
    budget_time: Option<Nanos>,

    /// Pause after each instance, such as 100ms
    #[arg(long, value_name = "TIME")]
    pause: Option<Nanos>,
}

#[derive(Clone, Copy, ValueEnum)]
enum CachingChoice {
    /// O_DIRECT
    Direct,
    /// Through the cache: fsync after writes, pages dropped before reads
    Synced,
}

#[derive(Clone, Copy, Default, PartialEq, ValueEnum)]
enum EngineChoice {
    /// pread and pwrite, one at a time
    #[default]
    Sync,
    /// io_uring with --depth
    Uring,
}

impl Changes {
    /// Returns the flags that were given, except the seed.
    pub fn given(&self) -> Vec<&'static str> {
        let flags = [
            ("name", self.name.is_some()),
            ("clients", self.clients.is_some()),
            ("processes", self.processes.is_some()),
            ("values", !self.values.is_empty()),
            ("burst", !self.burst.is_empty()),
            ("transfer", self.transfer.is_some()),
            ("read", self.read),
            ("random", self.random),
            ("shared", self.shared),
            ("caching", self.caching.is_some()),
            ("engine", self.engine != EngineChoice::Sync),
            ("depth", self.depth.is_some()),
            ("stripe-size", self.stripe_size.is_some()),
            ("verify", self.verify),
            ("runs", self.runs.is_some()),
            ("rounds", self.rounds.is_some()),
            ("rounds-max", self.rounds_max.is_some()),
            ("precision", self.precision.is_some()),
            ("budget-bytes", self.budget_bytes.is_some()),
            ("budget-time", self.budget_time.is_some()),
            ("pause", self.pause.is_some()),
        ];
        flags.into_iter().filter(|(_, given)| *given).map(|(flag, _)| flag).collect()
    }

    /// Returns how the ranks of one node are to be clients of a template.
    fn grouping(&self, template: Template) -> Grouping {
        match self.processes {
            Some(processes) => Grouping::Processes(processes),
            None if template.is_of_one_client() => Grouping::Node,
            None => Grouping::Processes(1),
        }
    }

    /// Returns whether burst sizes were given.
    pub fn names_bursts(&self) -> bool {
        !self.burst.is_empty()
    }

    fn options(&self, there: Option<ClientsPlan>) -> Result<TemplateOptions> {
        let values: Vec<Value> =
            self.values.iter().map(|text| value(text)).collect::<Result<_>>()?;
        let pause = self.pause.unwrap_or(Nanos::new(0));
        Ok(TemplateOptions {
            name: self.name.clone(),
            seed: self.seed.unwrap_or_else(crate::now::seed),
            processes_most: there.as_ref().map(|clients| clients.processes),
            clients: self.clients_wanted(there),
            values: (!values.is_empty()).then_some(values),
            sizes: (!self.burst.is_empty()).then(|| self.burst.clone()),
            transfer: self.transfer,
            operation: if self.read { Operation::Read } else { Operation::Write },
            pattern: if self.random { Pattern::Random } else { Pattern::Sequential },
            sharing: if self.shared { Sharing::Shared } else { Sharing::Independent },
            caching: self.caching.map(|choice| match choice {
                CachingChoice::Direct => Caching::Direct,
                CachingChoice::Synced => Caching::Synced,
            }),
            engine: match self.engine {
                EngineChoice::Sync => Engine::Synchronous,
                EngineChoice::Uring => Engine::Uring,
            },
            depth: self.depth,
            stripe_size: self.stripe_size,
            verify: self.verify,
            runs: self.runs,
            rounds: self.rounds,
            rounds_max: self.rounds_max,
            precision: self.precision,
            budget: Budget { bytes: self.budget_bytes, time: self.budget_time },
            pause: Pause { instances: pause, rounds: pause, runs: pause },
        })
    }

    /// Returns the clients of the job, or those that were requested, or as many as the template needs.
    fn clients_wanted(&self, there: Option<ClientsPlan>) -> Option<ClientsPlan> {
        if self.clients.is_none() && self.processes.is_none() {
            return there;
        }
        let mut wanted = there.unwrap_or_default();
        if let Some(count) = self.clients {
            wanted.count = count;
            wanted.used = count;
            wanted.names.truncate(count as usize);
        }
        wanted.processes = self.processes.unwrap_or(wanted.processes);
        Some(wanted)
    }
}

/// Reads a value as people write it: a number, a size, a way of sharing or a server's name.
fn value(text: &str) -> Result<Value> {
    Ok(match text {
        "independent" => Value::Sharing(Sharing::Independent),
        "shared" => Value::Sharing(Sharing::Shared),
        _ if text.bytes().all(|byte| byte.is_ascii_digit()) => Value::Count(text.parse()?),
        _ => match text.parse::<Bytes>() {
            Ok(size) => Value::Size(size),
            Err(_) => Value::Server(text.to_string()),
        },
    })
}

/// Returns the plan of a template for these targets on this machine.
pub fn plan(
    template: Template,
    targets: Vec<TargetPlan>,
    arguments: &Changes,
    machine: &Machine,
    job: &mut Job,
) -> Result<Planned> {
    let facts = Facts::find(machine, targets)?;
    job.group(arguments.grouping(template));
    job.require(arguments.clients.unwrap_or(1), arguments.processes.unwrap_or(1))?;
    Ok(plan_of(template, &facts, &arguments.options(job.clients())?)?)
}
