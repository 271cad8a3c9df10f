//! `plimsoll route bench`: policies race on real targets.

use std::process::ExitCode;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result, anyhow, ensure};
use plimsoll_bench::preflight::{PreflightError, check_target};
use plimsoll_domain::Bytes;
use plimsoll_domain::burst::Caching;
use plimsoll_machine::Machine;
use plimsoll_race::{
    Course, Entry, Outcome, Program, RaceError, RateChange, Way, fluid_bound, race,
};
use plimsoll_stats::Random;

use super::drop::{Drop, drops};
use super::keeper::Keeper;
use super::noise::streams;
use super::outcome::{Run, of_plan, of_runs};
use super::policies::{self, Wanted, WantedFactor};
use super::targets::{Source, Targets};
use crate::interruption::Interruption;
use crate::output::{self, Output};
use crate::progress::Progress;
use crate::testbed::limited;
use crate::{bench, value};

/// Race routing policies on real targets, against the least time that the targets allow
///
/// Writer processes have blocks to write; a policy decides which target each goes to. Every race
/// writes the same data, makes it durable, checks that every block was committed exactly once, and removes
/// it. Policies are interleaved in random order. Printed is the makespan over the fluid bound:
/// the time in which the targets could take all data if it were a fluid.
///
/// static: each writer to its own target. striped: each block over all targets. paper: a coordinator moves
/// whole blocks from busy targets to idle ones (Huang), at most TF of a target's own data; paper-split
/// moves parts. window: no coordinator; bytes in flight to each target follow its delay. Any of the last
/// three takes a factor of its own, as paper:0.2.
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  \
    plimsoll route bench --testbed default\n  \
    plimsoll route bench --testbed default --drop t3=2MiB/s@1.5 --blocks 32 --verify\n  \
    plimsoll route bench --targets /mnt/ost0 /mnt/ost1 --policy static,window --noise ost1:4\n  \
    plimsoll route bench --targets /mnt/ost0 /mnt/ost1 --policy paper:0.1,paper:optimal --dry-run")]
pub struct Arguments {
    #[command(flatten)]
    source: Source,

    /// Policies: all, or some of static, striped, paper, paper-split, window
    #[arg(long, value_name = "LIST", default_value = "all")]
    policy: String,

    /// Throttling factor of paper and paper-split: a share, optimal (from the rates), or none
    #[arg(long, value_name = "TF", allow_negative_numbers = true)]
    tf: Option<WantedFactor>,

    /// Writer processes
    #[arg(long, value_name = "N", default_value = "4", value_parser = value::count, allow_negative_numbers = true)]
    writers: u64,

    /// Blocks of each writer
    #[arg(long, value_name = "N", default_value = "8", value_parser = value::count, allow_negative_numbers = true)]
    blocks: u64,

    /// Size of a block
    #[arg(long, value_name = "SIZE", default_value = "4MiB")]
    block_size: Bytes,

    /// Size of the parts of paper-split
    #[arg(long, value_name = "SIZE", default_value = "256KiB")]
    part_size: Bytes,

    /// Races of each policy; six are the least for an interval
    #[arg(long, value_name = "N", default_value = "7", value_parser = value::count, allow_negative_numbers = true)]
    rounds: u64,

    /// Lower a test-bed target's limit during each race, and restore it, also when killed
    #[arg(long, value_name = "TARGET=RATE@SECONDS")]
    drop: Vec<String>,

    /// Have others flood a target, or all of them (all:STREAMS), during each race
    #[arg(long, value_name = "TARGET:STREAMS")]
    noise: Vec<String>,

    /// Write through the page cache, pushing each write out, instead of O_DIRECT
    #[arg(long)]
    buffered: bool,

    /// Read everything back after each race and compare (else only in the first round)
    #[arg(long)]
    verify: bool,

    /// Decides the order of the races and their data [default: from the clock]
    #[arg(long)]
    seed: Option<u64>,

    /// Say what would be done, and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// Everything that is decided before the first race.
pub struct Plan {
    pub targets: Targets,
    pub course: Course,
    pub policies: Vec<Wanted>,
    pub drops: Vec<Drop>,
    pub rounds: u64,
    pub seed: u64,
    pub part_bytes: u64,
    verify: bool,
}

impl Plan {
    /// Rates that are left beside the noise.
    fn rates_left(&self) -> Vec<f64> {
        let rates = self.targets.rates().into_iter().enumerate();
        rates.map(|(target, rate)| rate * self.part_left(target)).collect()
    }

    fn changes(&self, changed_ns: &[Option<u64>]) -> Vec<RateChange> {
        let known = changed_ns.iter().copied().chain(std::iter::repeat(None));
        let changes = self.drops.iter().zip(known).map(|(drop, at)| drop.rate_change(at));
        let left = |it: RateChange| RateChange { rate: it.rate * self.part_left(it.target), ..it };
        changes.map(left).collect()
    }

    /// The part of a target's rate that is left beside the noise.
    fn part_left(&self, target: usize) -> f64 {
        1.0 / (1.0 + f64::from(self.course.noise.get(target).copied().unwrap_or(0)))
    }

    /// In seconds; changes where they really happened, or where they are planned.
    pub fn bound(&self, changed_ns: &[Option<u64>]) -> Option<f64> {
        if self.targets.list.iter().any(|target| target.rate.is_none()) {
            return None;
        }
        let bytes = self.course.total_bytes() as f64;
        fluid_bound(bytes, &self.rates_left(), &self.changes(changed_ns))
    }

    /// TF*: what the fastest target takes in by the bound, over its own data.
    pub fn optimal(&self) -> Option<f64> {
        let bound = self.bound(&[])?;
        let own = self.course.total_bytes() as f64 / self.targets.list.len() as f64;
        let fastest = self.rates_left().into_iter().fold(0.0, f64::max);
        Some((fastest * bound / own - 1.0).max(0.0))
    }
}

pub fn run(arguments: &Arguments, output: Output) -> Result<ExitCode> {
    let mut plan = plan(arguments)?;
    let paths: Vec<_> = plan.targets.list.iter().map(|target| target.path.clone()).collect();
    if !arguments.dry_run {
        bench::remove_left_behind(&paths);
    }
    check_targets(&plan)?;
    let targets = plan.targets.list.iter();
    bench::warn_of_one_storage(
        &Machine::host(),
        targets.map(|target| (target.name.as_str(), target.path.as_path())),
    );
    if arguments.dry_run {
        output.print("route.bench", "nothing was written", &of_plan(&plan))?;
        return Ok(ExitCode::SUCCESS);
    }
    let interruption = Interruption::watch()?;
    let interrupted = || interruption.is_asked();
    let _limits = limited::enter(&paths)?;
    let working = bench::make_working_directories(&paths)?;
    plan.course.working = working.of_targets();
    let keeper = Keeper::start(&plan.course.program.path, &plan.drops)?;
    let course = plan.course.clone();
    let mut runs = Vec::new();
    let ended = plan
        .targets
        .measure(&course, &interrupted)
        // What was measured may say that a target must hold more.
        .and_then(|()| check_targets(&plan))
        .and_then(|()| race_all(&plan, &interrupted, &mut runs));
    drop((keeper, working));
    let concluded = conclude(&plan, &runs, ended, output)?;
    Ok(concluded.unwrap_or_else(|| interruption.exit_code()))
}

fn plan(arguments: &Arguments) -> Result<Plan> {
    let policies = policies::parse(&arguments.policy, arguments.tf)?;
    let count = |what: &str, value: u64, most: u64| {
        ensure!((1..=most).contains(&value), "{value} {what}; hint: 1 to {most}");
        Ok(value as u32)
    };
    let writers = count("writers", arguments.writers, 256)?;
    let blocks = count("blocks", arguments.blocks, 1_000_000)?;
    count("rounds", arguments.rounds, 100_000)?;
    let size = |what: &str, size: Bytes| {
        let (least, most) = (Bytes::new(4 << 10), Bytes::new(1 << 30));
        ensure!((least..=most).contains(&size), "{what} of {size}; hint: {least} to {most}");
        Ok(size.get())
    };
    let block_bytes = size("blocks", arguments.block_size)?;
    let part_bytes = size("parts", arguments.part_size)?;
    let targets = arguments.source.find()?;
    check_memory(writers, blocks, block_bytes, targets.list.len())?;
    let noise = streams(&arguments.noise, &targets)?;
    let drops = drops(&arguments.drop, &targets)?;
    let program = std::env::current_exe().context("cannot find this program to start writers")?;
    let arguments_of_writer = vec![super::WRITER_COMMAND.to_string()];
    let course = Course {
        working: Vec::new(),
        writers,
        blocks,
        block_bytes,
        way: if arguments.buffered { Way::Buffered } else { Way::Direct },
        noise,
        program: Program { path: program, arguments: arguments_of_writer },
    };
    let seed = arguments.seed.unwrap_or_else(crate::now::seed);
    let (rounds, verify) = (arguments.rounds, arguments.verify);
    Ok(Plan { targets, course, policies, drops, rounds, seed, part_bytes, verify })
}

/// Every writer may have a whole block on its way to each target, and before the races one for each
/// target has.
fn check_memory(writers: u32, blocks: u32, block_bytes: u64, targets: usize) -> Result<()> {
    let memory = rustix::system::sysinfo();
    let quarter = memory.totalram as u64 * u64::from(memory.mem_unit) / 4;
    let most = Bytes::new(quarter >> 20 << 20);
    let of_writers = u64::from(writers) * u64::from(blocks).min(targets as u64);
    let needed = Bytes::new(of_writers.max(targets as u64).saturating_mul(block_bytes));
    ensure!(
        needed <= most,
        "the blocks of all writers take {needed} of memory, at most {most} are used; hint: a smaller --block-size"
    );
    Ok(())
}

/// Space for what a target takes at least: its share of the data by its rate, a tenth more, and
/// what the noise writes.
fn check_targets(plan: &Plan) -> Result<()> {
    let machine = Machine::host();
    let rates = plan.targets.rates();
    let mut left = rates.clone();
    for drop in &plan.drops {
        left[drop.target] = drop.rate;
    }
    let (total, sum) = (plan.course.total_bytes() as f64, left.iter().sum::<f64>());
    // The most that own data of writers can be on one target.
    let count = plan.targets.list.len();
    let group = f64::from(plan.course.writers.div_ceil(count as u32));
    let own = total / f64::from(plan.course.writers) * group;
    for (index, (target, rate)) in plan.targets.list.iter().zip(rates).enumerate() {
        let by_rate = if sum > 0.0 && rate > 0.0 { total * rate / sum } else { 0.0 };
        let own_bytes = (own.max(by_rate) * 1.1) as u64;
        let needed = Bytes::new(own_bytes.saturating_add(plan.course.noise_bytes(index)));
        let caching = match plan.course.way {
            Way::Direct => Caching::Direct,
            Way::Buffered => Caching::Synced,
        };
        let checked = check_target(&machine, &target.name, &target.path, needed, caching);
        checked.map_err(in_words_of_route)?;
    }
    Ok(())
}

/// The checks are those of `bench`, whose hints name its own options.
fn in_words_of_route(error: PreflightError) -> anyhow::Error {
    match error {
        PreflightError::NoDirectIo { target, path } => anyhow!(
            "target {target}: the file system of {path} does not take O_DIRECT; hint: --buffered"
        ),
        PreflightError::TooFull { target, path, needed, available } => anyhow!(
            "target {target}: a race needs {needed} in {path}, of which {available} are free and nine tenths usable; \
             hint: fewer --blocks, or less --noise"
        ),
        other => other.into(),
    }
}

fn race_all(plan: &Plan, interrupted: &dyn Fn() -> bool, runs: &mut Vec<Run>) -> Result<()> {
    let races = plan.rounds * plan.policies.len() as u64;
    let progress = Progress::new("racing", races);
    let mut random = Random::new(plan.seed);
    for round in 1..=plan.rounds {
        let mut order: Vec<usize> = (0..plan.policies.len()).collect();
        random.shuffle(&mut order);
        for policy in order {
            let verify = plan.verify || round == 1;
            let outcome = one_race(plan, policy, random.bits(), verify, interrupted)?;
            let bound = plan.bound(&outcome.changed_ns).unwrap_or(f64::NAN);
            runs.push(Run { round, policy, bound, outcome });
            progress.done.fetch_add(1, Ordering::Relaxed);
        }
    }
    Ok(())
}

fn one_race(
    plan: &Plan,
    policy: usize,
    seed: u64,
    verify: bool,
    interrupted: &dyn Fn() -> bool,
) -> Result<Outcome, RaceError> {
    let optimal = plan.optimal().unwrap_or(0.0);
    let policy = plan.policies[policy].policy(optimal, plan.part_bytes);
    let changes = plan.drops.iter().map(Drop::change).collect();
    race(&plan.course, Entry { policy, changes, seed, verify }, interrupted)
}

/// Shows what was measured. `None` for the exit status when it was interrupted.
fn conclude(
    plan: &Plan,
    runs: &[Run],
    ended: Result<()>,
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
    output.print("route.bench", &title, &of_runs(plan, runs, &ending, output.json))?;
    if unsound > 0 {
        output::message(&format!("error: data was lost or wrong in {unsound} race(s)"));
    }
    match ended {
        Err(error) if is_interrupted(&error) => Ok(None),
        Err(error) => Err(error),
        Ok(()) => Ok(Some(ExitCode::from(u8::from(unsound > 0)))),
    }
}
