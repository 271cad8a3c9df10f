//! `plimsoll route bench`: policies race on real targets.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result};
use plimsoll_domain::Bytes;
use plimsoll_figures::races::{self, of_plan, of_runs};
use plimsoll_guarded::WorkingDirectories;
use plimsoll_machine::Machine;
use plimsoll_race::{
    Counted, Course, FinishedRace, Keeper, Program, RaceError, RacePlan, Racer, Way,
    place_of_memory, policies,
};
use plimsoll_route::{CoordinatorSettings, Tf};
use plimsoll_testbed::enter_limits;

use super::drops::drops;
use super::noise::streams;
use super::targets::Source;
use crate::interruption::Interruption;
use crate::new_file::{NewFile, Replacing};
use crate::output::{self, Output};
use crate::progress::Progress;
use crate::targets::with_hint;
use crate::{bench, testbed, value};

/// The version of the JSON. 2: policies are named as in `simulate` (coordinator:tf=0.1, not paper:0.1).
const SCHEMA_VERSION: u32 = 2;

/// Race routing policies on real targets, against the shortest time that the targets allow
///
/// Writer processes have blocks to write; a policy decides which target each block goes to. Every race
/// writes the same data, makes it durable, checks that every block was committed exactly once, and removes
/// it. Policies are interleaved in random order. The result is the makespan over the fluid bound, which
/// is the time in which the targets could take all data if it were a fluid.
///
/// static: each writer writes to its own target. striped: each block is spread over all targets.
/// coordinator: moves whole blocks from busy targets to idle ones (Huang), at most TF of a target's own
/// data; with split=256KiB it moves parts. window: no coordinator; bytes in flight to each target follow its delay.
/// Settings follow a policy's name as in plimsoll simulate: coordinator:tf=0.2:split=1MiB. The earlier names
/// paper:0.2 and paper-split are understood too.
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  \
    plimsoll route bench --testbed default\n  \
    plimsoll route bench --testbed default --html race.html\n  \
    plimsoll route bench --testbed default --drop t3=2MiB/s@1.5 --blocks 32 --verify\n  \
    plimsoll route bench --targets /mnt/ost0 /mnt/ost1 --policy static,window --noise ost1:4\n  \
    plimsoll route bench --targets /mnt/ost0 /mnt/ost1 \
      --policy coordinator:tf=0.1,coordinator:tf=optimal --dry-run")]
pub struct Arguments {
    #[command(flatten)]
    source: Source,

    /// Policies: all, or some of static, striped, coordinator and window with their settings
    #[arg(long, value_name = "POLICY,POLICY...", default_value = "all")]
    policy: String,

    /// Throttling factor of coordinators without their own setting: a share, optimal (from the
    /// rates), or none
    #[arg(long, value_name = "TF", allow_negative_numbers = true)]
    tf: Option<Tf>,

    /// Writer processes
    #[arg(long, value_name = "N", default_value = "4", value_parser = value::count, allow_negative_numbers = true)]
    writers: u64,

    /// Blocks of each writer
    #[arg(long, value_name = "N", default_value = "8", value_parser = value::count, allow_negative_numbers = true)]
    blocks: u64,

    /// Size of a block
    #[arg(long, value_name = "SIZE", default_value = "4MiB")]
    block_size: Bytes,

    /// Cut blocks into parts of this size, in coordinators without their own setting; among all there is one that
    /// cuts [default there: 256KiB]
    #[arg(long, alias = "part-size", value_name = "SIZE")]
    split: Option<Bytes>,

    /// Races of each policy; an interval needs at least six
    #[arg(long, value_name = "N", default_value = "7", value_parser = value::count, allow_negative_numbers = true)]
    rounds: u64,

    /// Lower a test-bed target's limit during each race, and restore it, even when killed
    #[arg(long, value_name = "TARGET=RATE@SECONDS")]
    drop: Vec<String>,

    /// Flood a target, or all of them (all:STREAMS), during each race
    #[arg(long, value_name = "TARGET:STREAMS")]
    noise: Vec<String>,

    /// Also race window as processes that know nothing of each other: they share a table of leases in memory, and
    /// write through the page cache
    #[arg(long)]
    shared: bool,

    /// Writers compute up to this many milliseconds between two blocks
    #[arg(long, value_name = "MS", default_value = "0", value_parser = clap::value_parser!(u64).range(..=60_000))]
    think: u64,

    /// Write through the page cache, pushing each write out, instead of O_DIRECT
    #[arg(long)]
    buffered: bool,

    /// Read everything back after each race and compare [default: only in the first round]
    #[arg(long)]
    verify: bool,

    /// Seed of the order of the races and of their data [default: from the clock]
    #[arg(long)]
    seed: Option<u64>,

    /// Show what would be done, and write nothing
    #[arg(long)]
    dry_run: bool,

    /// Also draw what came of it into this file: one HTML page that works offline
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    html: Option<PathBuf>,

    #[command(flatten)]
    replacing: Replacing,
}

pub fn run(arguments: &Arguments, output: Output) -> Result<ExitCode> {
    let mut plan = plan(arguments)?;
    let paths: Vec<_> = plan.targets.list.iter().map(|target| target.path.clone()).collect();
    if !arguments.dry_run {
        bench::remove_left_behind(&paths);
        // The next race may be one without memory that writers share.
        bench::remove_left_in_memory(place_of_memory());
    }
    check_targets(&plan)?;
    bench::warn_of_one_storage(&Machine::host(), plan.targets.directories());
    if arguments.dry_run {
        output.print_version(
            "route.bench",
            SCHEMA_VERSION,
            "nothing was written",
            &of_plan(&plan),
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    let html =
        arguments.html.as_deref().map(|path| arguments.replacing.create(path)).transpose()?;
    let interruption = Interruption::watch()?;
    let interrupted = || interruption.is_asked();
    let _limits = enter_limits(&paths).map_err(testbed::with_hint)?;
    let working = WorkingDirectories::make(&paths)?;
    plan.course.working = working.of_targets();
    let keeper = Keeper::start(&this_program(super::KEEPER_COMMAND)?, &plan.drops)?;
    let course = plan.course.clone();
    let mut runs = Vec::new();
    let measured = plan.targets.measure(&course, &interrupted);
    let ended = measured
        .map_err(anyhow::Error::from)
        // What was measured may say that a target must hold more.
        .and_then(|()| check_targets(&plan))
        .and_then(|()| race_all(&plan, &interrupted, &mut runs));
    drop((keeper, working));
    let concluded = conclude(&plan, &runs, ended, html, output)?;
    Ok(concluded.unwrap_or_else(|| interruption.exit_code()))
}

fn plan(arguments: &Arguments) -> Result<RacePlan> {
    let unsaid = CoordinatorSettings { tf: arguments.tf, split: arguments.split };
    let mut racers = Racer::hosted(policies(&arguments.policy, unsaid)?);
    racers.extend(arguments.shared.then_some(Racer::SHARED));
    let targets = arguments.source.find()?;
    let noise = streams(&arguments.noise, &targets)?;
    let drops = drops(&arguments.drop, &targets)?;
    let course = Course {
        working: Vec::new(),
        writers: Counted::Writers.check(arguments.writers)?,
        blocks: Counted::Blocks.check(arguments.blocks)?,
        block_bytes: arguments.block_size.get(),
        way: if arguments.buffered { Way::Buffered } else { Way::Direct },
        noise,
        think_ms: arguments.think,
        program: this_program(super::WRITER_COMMAND)?,
    };
    let plan = RacePlan {
        targets,
        course,
        policies: racers,
        drops,
        rounds: arguments.rounds,
        seed: arguments.seed.unwrap_or_else(crate::now::seed),
        verify: arguments.verify,
        complain: output::message,
    };
    plan.check()?;
    Ok(plan)
}

fn this_program(command: &str) -> Result<Program> {
    let path = std::env::current_exe().context("cannot find this program to start writers")?;
    Ok(Program { path, arguments: vec![command.to_string()] })
}

fn check_targets(plan: &RacePlan) -> Result<()> {
    let checked = plan.check_targets(&Machine::host());
    checked.map_err(|error| with_hint(error, "--buffered", "fewer --blocks, or less --noise"))
}

fn race_all(
    plan: &RacePlan,
    interrupted: &dyn Fn() -> bool,
    races: &mut Vec<FinishedRace>,
) -> Result<()> {
    let progress = Progress::new("racing", plan.rounds * plan.policies.len() as u64);
    let done = |race| {
        races.push(race);
        progress.done.fetch_add(1, Ordering::Relaxed);
    };
    Ok(plan.race_all(interrupted, done)?)
}

/// Shows what was measured. `None` for the exit status when it was interrupted.
fn conclude(
    plan: &RacePlan,
    runs: &[FinishedRace],
    ended: Result<()>,
    html: Option<NewFile>,
    output: Output,
) -> Result<Option<ExitCode>> {
    let is_interrupted = |error: &anyhow::Error| {
        matches!(error.downcast_ref::<RaceError>(), Some(RaceError::Interrupted))
    };
    let ending = match &ended {
        Ok(()) => "complete".to_string(),
        Err(error) if is_interrupted(error) => "interrupted".to_string(),
        Err(error) => format!("failed: {error:#}"),
    };
    if runs.is_empty() {
        return match ended {
            Err(error) if is_interrupted(&error) => {
                output::message("interrupted before the first race ended: nothing was measured");
                Ok(None)
            }
            other => other.map(|()| Some(ExitCode::SUCCESS)),
        };
    }
    let unsound = runs.iter().filter(|run| !run.outcome.is_sound()).count();
    let title = format!("{} races, {ending}", runs.len());
    if let Some(file) = html {
        file.write(races::page(plan, runs, &ending).as_bytes())?;
    }
    let record = of_runs(plan, runs, &ending, output.json)
        .sentence("conclusion", races::conclusion(plan, runs));
    output.print_version("route.bench", SCHEMA_VERSION, &title, &record)?;
    if unsound > 0 {
        output::message(&format!("error: data was lost or wrong in {unsound} race(s)"));
    }
    match ended {
        Err(error) if is_interrupted(&error) => Ok(None),
        Err(error) => Err(error),
        Ok(()) => Ok(Some(ExitCode::from(u8::from(unsound > 0)))),
    }
}
