//! `plimsoll simulate`: plays out scenarios.

mod fuzz;

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, ensure};
use plimsoll_domain::site::SiteFile;
use plimsoll_domain::{Bytes, BytesPerSec};
use plimsoll_figures::simulated;
use plimsoll_guarded::{Readers, open_input, read_at_most};
use plimsoll_report::Record;
use plimsoll_route::{CoordinatorSettings, Policy, Tf};
use plimsoll_simulate::scenario::{
    BLOCKS_MAX, EMBEDDED, PROCESSES_MAX, PROCESSES_PER_NODE_MAX, Parameter, SEEDS_MAX, Submit,
    TARGETS_MAX, embedded,
};
use plimsoll_simulate::{Repetition, Scenario, experiment, runs};

use crate::new_file::Replacing;
use crate::output::Output;
use crate::progress::Progress;
use crate::value;

pub use plimsoll_figures::simulated::NUMBERS;

/// The version of the JSON. 2: the policy that was called paper is called coordinator.
const SCHEMA_VERSION: u32 = 2;

/// Simulate storage, a program that writes to it, and a router between them
///
/// Streams share targets (processor sharing, or first in, first out), servers and a network limit
/// what gets through, and other programs make noise. Routers are the program's own state
/// machines: `static`, `striped`, `coordinator` (Huang et al., throttling factor TF; once called
/// `paper`) and `window` (a delay-controlled window per target, no coordinator). Settings follow a
/// policy's name: coordinator:tf=optimal:split=4MiB:inquiry=off, window:tau=50ms:lanes=32. Without the
/// inquiry, the coordinator knows only which groups are busy and which are idle, and asks groups that
/// rejected again; rejects=remember or rejects=forget changes this. SCENARIO is a name from --list or a TOML file
/// (docs/simulation.md describes the keys). Equal seeds give equal results for any number of threads.
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  \
    plimsoll simulate heavy-noise\n  \
    plimsoll simulate heavy-noise --policy window,coordinator --tf optimal \\\n      --split 4MiB --seeds 20 --processes 1024 --json\n  \
    plimsoll simulate when-does-it-pay --html pay.html   (a page with charts)\n  \
    plimsoll simulate --list\n  \
    plimsoll simulate --fuzz 100 --seed 7")]
pub struct Arguments {
    /// A scenario's name or TOML file
    #[arg(value_name = "SCENARIO")]
    scenario: Option<String>,

    /// List the scenarios that come with the program
    #[arg(long, conflicts_with_all = ["scenario", "fuzz", "seed"], conflicts_with_all = OF_A_SCENARIO)]
    list: bool,

    /// Run this many random scenarios with faults and look for inconsistencies
    #[arg(long, value_name = "RUNS", value_parser = value::count, conflicts_with = "scenario",
        conflicts_with_all = OF_A_SCENARIO)]
    fuzz: Option<u64>,

    /// Routers to compare [default: as the scenario says]
    #[arg(long, value_name = "POLICY,POLICY...")]
    policy: Option<String>,

    /// Throttling factor of coordinators without their own setting in --policy: a share, optimal (equation 1), or
    /// none
    #[arg(long, value_name = "TF", allow_negative_numbers = true)]
    tf: Option<Tf>,

    /// Cut blocks into parts of this size, in coordinators without their own setting in --policy
    #[arg(long, value_name = "SIZE")]
    split: Option<Bytes>,

    /// Number of processes
    #[arg(long, value_name = "N", value_parser = value::count, allow_negative_numbers = true)]
    processes: Option<u64>,

    /// Number of processes on a node
    #[arg(long, value_name = "N", value_parser = value::count, allow_negative_numbers = true)]
    processes_per_node: Option<u64>,

    /// Number of targets
    #[arg(long, value_name = "N", value_parser = value::count, allow_negative_numbers = true,
        conflicts_with = "site")]
    targets: Option<u64>,

    /// Rate of a target
    #[arg(long, value_name = "RATE", conflicts_with = "site")]
    rate: Option<BytesPerSec>,

    /// Blocks that a process writes in a burst
    #[arg(long, value_name = "N", value_parser = value::count, allow_negative_numbers = true)]
    blocks: Option<u64>,

    /// Bytes of a block
    #[arg(long, value_name = "SIZE")]
    block: Option<Bytes>,

    /// Processes submit their next block, and close, only when at most SIZE of their data is not
    /// yet durable, so that the router never knows how much is still to come [default: all at once,
    /// or as the scenario says]
    #[arg(long, value_name = "SIZE")]
    paced: Option<Bytes>,

    /// Number of seeds [default: as the scenario says]
    #[arg(long, value_name = "N", value_parser = value::count, allow_negative_numbers = true)]
    seeds: Option<u64>,

    /// The first seed
    #[arg(long, value_name = "SEED", default_value = "1", value_parser = value::count)]
    seed: u64,

    /// Simulate the scenario as it is, without its sweep
    #[arg(long)]
    no_sweep: bool,

    /// Show every target of the first seed
    #[arg(long)]
    each_target: bool,

    /// Threads [default: one for each processor]
    #[arg(long, value_name = "N")]
    threads: Option<NonZero<usize>>,

    /// Take the storage from this site file instead of the scenario: targets and their peak write
    /// rates, the server that each belongs to, and the limits of a server and of the network (none where
    /// the site has none). Targets are numbered server by server. Service curve and noise stay the
    /// scenario's; peaks for reading, costs, and limits of clients and routers are not used
    #[arg(long, value_name = "FILE")]
    site: Option<PathBuf>,

    /// Write a page with charts
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    #[command(flatten)]
    replacing: Replacing,
}

/// What says something about a scenario means nothing without one.
const OF_A_SCENARIO: [&str; 17] = [
    "policy",
    "tf",
    "split",
    "processes",
    "processes_per_node",
    "targets",
    "rate",
    "blocks",
    "block",
    "paced",
    "seeds",
    "no_sweep",
    "each_target",
    "threads",
    "site",
    "html",
    "force",
];

pub fn run(arguments: &Arguments, output: Output) -> Result<ExitCode> {
    if arguments.list {
        list(output)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(runs) = arguments.fuzz {
        return fuzz::run(runs, arguments.seed, output);
    }
    let name = arguments.scenario.as_deref().with_context(|| {
        let names: Vec<&str> = EMBEDDED.iter().map(|one| one.name).collect();
        format!("which scenario? hint: a TOML file, or {}; --list describes them", names.join(", "))
    })?;
    let (mut scenario, of_scenario) = load(name)?;
    let readers = of_scenario.and(apply(arguments, &mut scenario)?);
    scenario.check()?;
    ensure!(
        !arguments.each_target || scenario.sweep.is_none(),
        "--each-target is for one run, and {name} is a sweep; hint: --no-sweep"
    );
    let repetition = Repetition {
        first_seed: arguments.seed,
        seeds: scenario.seeds,
        threads: arguments.threads,
    };
    ensure!(
        arguments.seed.checked_add(u64::from(repetition.seeds)).is_some(),
        "--seed {} is too large for {} seeds; hint: --seed 1",
        arguments.seed,
        repetition.seeds
    );
    let create = |path| arguments.replacing.create_from(path, readers);
    let html = arguments.html.as_deref().map(create).transpose()?;
    let progress = Progress::new("simulating", runs(&scenario, repetition));
    let points = experiment(&scenario, repetition, &progress.done)?;
    drop(progress);
    if let Some(file) = html {
        file.write(simulated::page(name, &scenario, &points).as_bytes())?;
    }
    let (title, record) = simulated::record(name, &scenario, &points, arguments.each_target);
    output.print_version("simulate", SCHEMA_VERSION, &title, &record)?;
    Ok(ExitCode::SUCCESS)
}

fn list(output: Output) -> Result<()> {
    let row = |one: &plimsoll_simulate::scenario::Embedded| -> Result<Record> {
        let scenario = embedded(one.name)?;
        Ok(Record::new()
            .text("name", "name", one.name)
            .text("title", "what", scenario.title)
            .optional_text("source", "beside", scenario.source))
    };
    let rows: Result<Vec<Record>> = EMBEDDED.iter().map(row).collect();
    let record = Record::new().rows("scenarios", "scenarios", rows?);
    output.print("simulate.list", "scenarios that come with the program", &record)
}

/// A scenario of more than this is something else.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Returns the scenario, and who may read it.
fn load(name: &str) -> Result<(Scenario, Readers)> {
    let is_path = || name.contains('/') || name.ends_with(".toml") || Path::new(name).is_file();
    if EMBEDDED.iter().any(|one| one.name == name) || !is_path() {
        return Ok((embedded(name)?, Readers::Everyone));
    }
    let file =
        open_input(Path::new(name)).with_context(|| format!("cannot read scenario {name}"))?;
    let readers = Readers::of(&file);
    let bytes = read_at_most(FILE_BYTES_MAX, file)
        .with_context(|| format!("cannot read scenario {name}"))?
        .with_context(|| {
            format!(
                "scenario {name} is larger than {FILE_BYTES_MAX} bytes; hint: is it a scenario?"
            )
        })?;
    let text = String::from_utf8(bytes).with_context(|| format!("cannot read scenario {name}"))?;
    Ok((Scenario::parse(name, &text)?, readers))
}

/// Applies the flags, and returns who may read the files that they name. A flag that sets what the scenario sweeps over
/// ends the sweep.
fn apply(arguments: &Arguments, scenario: &mut Scenario) -> Result<Readers> {
    let swept = scenario.sweep.as_ref().map(|sweep| (sweep.parameter, sweep.across));
    let sweeps =
        |parameter| swept.is_some_and(|(one, other)| one == parameter || other == Some(parameter));
    let sets_swept = (arguments.processes.is_some() || arguments.targets.is_some())
        && (sweeps(Parameter::Processes) || sweeps(Parameter::Scale) || sweeps(Parameter::Pairs))
        || arguments.block.is_some()
            && (sweeps(Parameter::Block) || sweeps(Parameter::BurstSeconds))
        || arguments.site.is_some() && (sweeps(Parameter::Scale) || sweeps(Parameter::Pairs))
        || arguments.tf.is_some() && sweeps(Parameter::Tf);
    if arguments.no_sweep || sets_swept {
        scenario.sweep = None;
    }
    let set = |value: Option<u64>, flag: &str, most: u32, into: &mut u32| -> Result<()> {
        if let Some(value) = value {
            let fits = u32::try_from(value).ok().filter(|value| *value <= most);
            *into =
                fits.with_context(|| format!("{flag} {value} is too large; hint: at most {most}"))?;
        }
        Ok(())
    };
    let (application, storage) = (&mut scenario.application, &mut scenario.storage);
    set(arguments.processes, "--processes", PROCESSES_MAX, &mut application.processes)?;
    let per_node = &mut application.processes_per_node;
    set(arguments.processes_per_node, "--processes-per-node", PROCESSES_PER_NODE_MAX, per_node)?;
    set(arguments.blocks, "--blocks", BLOCKS_MAX, &mut application.blocks)?;
    set(arguments.targets, "--targets", TARGETS_MAX, &mut storage.targets)?;
    set(arguments.seeds, "--seeds", SEEDS_MAX, &mut scenario.seeds)?;
    if let Some(rate) = arguments.rate {
        scenario.storage.rate = rate;
        scenario.storage.rates.clear();
    }
    if let Some(block) = arguments.block {
        scenario.application.block = block;
    }
    if let Some(outstanding) = arguments.paced {
        scenario.application.submit = Submit::Paced;
        scenario.application.outstanding = outstanding;
    }
    scenario.policies = policies(arguments, &scenario.policies)?;
    match &arguments.site {
        Some(path) => take_site(path, scenario),
        None => Ok(Readers::Everyone),
    }
}

fn take_site(path: &Path, scenario: &mut Scenario) -> Result<Readers> {
    let file = SiteFile::load(path)?;
    let taken = scenario.storage.take_site(file.site());
    taken.map_err(|lacks| anyhow!("site file {} has {lacks}", path.display()))?;
    Ok(file.readers())
}

fn policies(arguments: &Arguments, of_scenario: &[Policy]) -> Result<Vec<Policy>> {
    let set = CoordinatorSettings { tf: arguments.tf, split: arguments.split };
    let policies = match &arguments.policy {
        Some(text) => set.parse_list(text)?,
        None => set.over(of_scenario),
    };
    ensure!(
        set.is_for(&policies),
        "--tf and --split are for policy coordinator; hint: --policy coordinator, or window:tf=0.3"
    );
    Ok(policies)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_of_a_scenario_is_refused_without_one() {
        let command = <Arguments as clap::Args>::augment_args(clap::Command::new("simulate"));
        let of_all = ["scenario", "list", "fuzz", "seed"];
        for argument in command.get_arguments().map(|argument| argument.get_id().as_str()) {
            let is_known = OF_A_SCENARIO.contains(&argument) || of_all.contains(&argument);
            assert!(is_known, "{argument}");
        }
    }
}
