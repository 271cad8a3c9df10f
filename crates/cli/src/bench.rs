//! `plimsoll bench`: an experiment on chosen targets, measured as a statistician would.

mod growth;
mod outcome;
mod targets;
mod team;
mod template;

pub use plimsoll_figures::experiment::NUMBERS;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result, bail, ensure};
use plimsoll_bench::describe::{describe, first_round};
use plimsoll_bench::environment;
use plimsoll_bench::estimate::{Estimate, estimate};
use plimsoll_bench::growth::Growth;
use plimsoll_bench::job::Job;
use plimsoll_bench::plan::Plan;
use plimsoll_bench::preflight;
use plimsoll_bench::runner::{Ending, Spent};
use plimsoll_bench::stage::Stage;
use plimsoll_bench::template::Template;
use plimsoll_bench::worker;
use plimsoll_figures::experiment;
use plimsoll_guarded::{Readers, open_input};
use plimsoll_machine::Machine;
use plimsoll_measures::Journal;
use plimsoll_process::leave_end_to_coordinator;

use crate::interruption::Interruption;
use crate::output::{self, Output};
use crate::progress::Progress;
use crate::targets::with_hint;
use team::Joined;

/// Measure targets with an experiment: a plan, or a template that adapts to the machine
///
/// An experiment consists of runs of groups of rounds of instances. In an instance, the processes of some
/// clients write (or read) one burst each to chosen targets, released together and ended by fsync; the
/// bandwidth between each client and each target is kept. The order is random and interleaved, from a seed
/// that is kept too.
///
/// Templates: pipeline, target, server, fanout, fanout-striped, many-pairs, sharing, sequences, sweep.
///
/// Clients are worker processes of this machine, or the nodes of an MPI job when started by mpirun or
/// srun. Where all ranks share a node, each rank is a client, or every --processes ranks are one, or, for
/// the fanout templates, all of them are one. The files are removed in any case. Ctrl-C keeps everything
/// measured so far.
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  \
    plimsoll bench many-pairs --targets /mnt/ost0 /mnt/ost1 -o pairs --dry-run\n  \
    plimsoll bench many-pairs --targets /mnt/ost0 /mnt/ost1 -o pairs\n  \
    plimsoll bench target --testbed default --rounds 20 -o target\n  \
    plimsoll bench plans/many-pairs.toml -o pairs\n  \
    plimsoll bench --resume pairs\n  \
    plimsoll bench many-pairs --site site.toml --targets ost0,ost2 -o two\n  \
    mpirun -n 4 plimsoll bench many-pairs --site site.toml -o pairs")]
pub struct Arguments {
    /// A template's name, or a file with a plan
    #[arg(value_name = "PLAN|TEMPLATE", required_unless_present = "resume")]
    plan: Option<String>,

    #[command(flatten)]
    targets: targets::Targets,

    /// Directory for the results [default: the plan's name]
    #[arg(short, long, value_name = "RESULTS")]
    output: Option<PathBuf>,

    /// Continue the unfinished experiment in this directory
    #[arg(long, value_name = "RESULTS", conflicts_with_all = ["plan", "output", "dry_run"])]
    resume: Option<PathBuf>,

    /// Show what would be done, how long it would take and how much it would write, and write nothing
    #[arg(long)]
    dry_run: bool,

    /// Print the plan as TOML, to keep or to change, and do nothing else
    #[arg(long)]
    print_plan: bool,

    #[command(flatten)]
    options: template::Changes,
}

pub fn run(arguments: &Arguments, output: Output) -> Result<ExitCode> {
    let mut joined = match team::join()? {
        ControlFlow::Break(status) => return Ok(status),
        ControlFlow::Continue(joined) => joined,
    };
    let machine = Machine::host();
    if let Some(directory) = &arguments.resume {
        return resume(arguments, directory, &machine, joined, output);
    }
    let Wanted { mut plan, grows, readers } = wanted_plan(arguments, &machine, &mut joined.job)?;
    if grows && (arguments.print_plan || arguments.dry_run) {
        output::message(
            "note: burst sizes are a guess; the experiment begins by growing bursts on each target until they \
             outlast its caches, and uses those sizes; --burst sets them instead",
        );
    }
    if arguments.print_plan {
        output::data(&plan.to_toml())?;
        return Ok(ExitCode::SUCCESS);
    }
    let cost = estimate(&plan, &arguments.targets.rates(&plan)?);
    if !arguments.dry_run {
        remove_left_behind(&paths(&plan));
    }
    preflight::check_machine(&plan, &cost, &joined.job, &machine)?;
    check_targets(&plan, &cost, &machine)?;
    if arguments.dry_run {
        return dry_run(&plan, &cost, output);
    }
    let directory = arguments.output.clone().unwrap_or_else(|| PathBuf::from(&plan.name));
    Journal::refuse_existing(&directory)?;
    let mut environment = environment::describe(&plan, &machine, joined.job.launcher());
    let _limits = joined.under_limits(&plan)?;
    let (mut stage, interruption) = joined.into_stage(&plan)?;
    if grows {
        output::message("finding bursts that outlast caches, by growing them");
        match stage.fit_bursts(&mut plan, &machine, &|| interruption.is_asked()) {
            Ok(Some(grown)) => {
                growth::tell(&grown, &plan.burst.sizes);
                environment["growth"] = grown.iter().map(Growth::to_json).collect();
            }
            Ok(None) => {
                stage.clear()?;
                output::message("interrupted before anything was measured");
                return Ok(interruption.exit_code());
            }
            Err(error) => {
                let _ = stage.clear();
                return Err(error.into());
            }
        }
    }
    let journal =
        Journal::create_for(readers, &directory, &plan.name, &plan.to_toml(), &environment)?;
    run_experiment(&plan, stage, &interruption, (journal, &directory), output)
}

/// Goes on with an experiment, exactly as it was planned and where it was begun.
fn resume(
    arguments: &Arguments,
    directory: &Path,
    machine: &Machine,
    mut joined: Joined,
    output: Output,
) -> Result<ExitCode> {
    let changes = arguments.options.given().into_iter().next();
    let site = arguments.targets.has_site().then_some("site");
    let seed = arguments.options.seed.map(|_| "seed");
    let given = changes.or(arguments.targets.given_beside_site()).or(site).or(seed);
    if let Some(flag) = given {
        bail!(
            "--{flag} would change the experiment; hint: use --resume alone, or begin another one"
        );
    }
    let (journal, resumed) = Journal::resume(directory)?;
    resumed.warnings.iter().for_each(|warning| output::message(&format!("note: {warning}")));
    let plan = Plan::parse(&resumed.plan_text)
        .with_context(|| format!("cannot continue {}", directory.display()))?;
    let job = &mut joined.job;
    job.group_for(&plan);
    let environment = journal.results()?.environment;
    let clients = job.clients();
    let same =
        environment::require_same(&environment, &plan, machine, job.launcher(), clients.as_ref());
    same.map_err(anyhow::Error::msg)
        .with_context(|| format!("cannot continue {}", directory.display()))?;
    remove_left_behind(&paths(&plan));
    check_targets(&plan, &estimate(&plan, &[]), machine)?;
    let _limits = joined.under_limits(&plan)?;
    let (stage, interruption) = joined.into_stage(&plan)?;
    run_experiment(&plan, stage, &interruption, (journal, directory), output)
}

fn paths(plan: &Plan) -> Vec<PathBuf> {
    plan.targets.iter().map(|target| target.path.clone()).collect()
}

/// Removes what killed experiments left on targets, before anybody asks how much room is there.
pub fn remove_left_behind(targets: &[PathBuf]) {
    let count = plimsoll_guarded::remove_left_behind(targets);
    if count > 0 {
        output::message(&format!("note: removed what {count} killed run(s) left on targets"));
    }
}

/// Removes what killed races left where their writers shared memory.
pub fn remove_left_in_memory(place: PathBuf) {
    let count = plimsoll_guarded::remove_left_behind(&[place]);
    if count > 0 {
        output::message(&format!("note: removed what {count} killed run(s) left in memory"));
    }
}

/// Runs the hidden command of a worker process.
pub fn serve() -> Result<ExitCode> {
    leave_end_to_coordinator();
    worker::serve().context("cannot serve; hint: plimsoll bench starts its workers itself")?;
    Ok(ExitCode::SUCCESS)
}

/// What was asked for.
struct Wanted {
    plan: Plan,
    /// Whether its burst sizes are to be found by growing them.
    grows: bool,
    /// Who may read what it came from.
    readers: Readers,
}

fn wanted_plan(arguments: &Arguments, machine: &Machine, job: &mut Job) -> Result<Wanted> {
    let name = arguments.plan.as_deref().unwrap_or_default();
    let (grows, readers);
    let mut plan = match name.parse::<Template>() {
        Ok(template) => {
            grows = template.grows() && !arguments.options.names_bursts();
            let targets;
            (targets, readers) = arguments.targets.find()?;
            let planned = template::plan(template, targets, &arguments.options, machine, job)?;
            planned.notes.iter().for_each(|note| output::message(&format!("note: {note}")));
            planned.plan
        }
        Err(unknown) => {
            let path = Path::new(name);
            ensure!(
                path.exists() || name.ends_with(".toml"),
                "{unknown}; hint: or a file with a plan"
            );
            let changes = arguments.options.given().into_iter().next();
            if let Some(flag) = changes.or(arguments.targets.given_beside_site()) {
                bail!("--{flag} changes a template, not a plan; hint: edit the plan");
            }
            grows = false;
            let plan;
            (plan, readers) = read_plan(path)?;
            plan
        }
    };
    if let Some(seed) = arguments.options.seed {
        plan.seed = seed;
    }
    job.fit(&mut plan)?;
    plan.check()?;
    Ok(Wanted { plan, grows, readers })
}

/// Returns the plan in a file, and who may read it: of the same opening, whatever has its name meanwhile.
fn read_plan(path: &Path) -> Result<(Plan, Readers)> {
    let shown = path.display();
    let file = open_input(path).with_context(|| format!("cannot read {shown}"))?;
    let readers = Readers::of(&file);
    let plan = Plan::read(file).with_context(|| format!("cannot read {shown}"))?;
    Ok((plan.with_context(|| format!("cannot use the plan {shown}"))?, readers))
}

fn check_targets(plan: &Plan, cost: &Estimate, machine: &Machine) -> Result<()> {
    preflight::check_targets(plan, cost, machine).map_err(|error| {
        let less = "a smaller burst, or fewer processes on a target";
        with_hint(error, "caching = \"synced\" (--caching synced)", less)
    })?;
    warn_of_one_storage(machine, preflight::own_directories(plan));
    Ok(())
}

/// Says which targets lie on one disk or file system.
pub fn warn_of_one_storage<'a>(
    machine: &Machine,
    targets: impl IntoIterator<Item = (&'a str, &'a Path)>,
) {
    for storage in machine.shared_storage(targets) {
        output::message(&format!("note: {}", storage.warning()));
    }
}

fn dry_run(plan: &Plan, cost: &Estimate, output: Output) -> Result<ExitCode> {
    let lines: Vec<String> =
        first_round(plan).take(20).map(|instance| describe(plan, &instance)).collect();
    let record = experiment::planned(plan, cost, lines);
    output.print("bench", &format!("{}: nothing was written", plan.name), &record)?;
    Ok(ExitCode::SUCCESS)
}

/// Runs the experiment, or what is left of it, and says what came of it.
fn run_experiment(
    plan: &Plan,
    mut stage: Stage,
    interruption: &Interruption,
    (mut journal, directory): (Journal, &Path),
    output: Output,
) -> Result<ExitCode> {
    let ending = measure(plan, &mut stage, interruption, &mut journal);
    let removed = stage.clear();
    let (ending, spent) = ending?;
    if !matches!(ending, Ending::Failed(_)) {
        removed?;
    }
    drop(stage);
    outcome::conclude(plan, journal, directory, (&ending, &spent), output)?;
    Ok(match ending {
        Ending::Failed(_) => ExitCode::FAILURE,
        Ending::Interrupted => interruption.exit_code(),
        Ending::Complete | Ending::Precise | Ending::Imprecise(_) | Ending::BudgetSpent(_) => {
            ExitCode::SUCCESS
        }
    })
}

fn measure(
    plan: &Plan,
    stage: &mut Stage,
    interruption: &Interruption,
    journal: &mut Journal,
) -> Result<(Ending, Spent)> {
    /// Fine enough for a bar.
    const PARTS: f64 = 10_000.0;
    let progress = Progress::new("measuring", PARTS as u64);
    let most = estimate(plan, &[]).instances.most;
    let mut tell = |spent: &Spent| {
        let done = PARTS * spent.share(most, &plan.budget);
        progress.done.store(done as u64, Ordering::Relaxed);
    };
    let earlier = journal.results()?;
    Ok(stage.measure(plan, journal, &earlier, &mut tell, &|| interruption.is_asked())?)
}
