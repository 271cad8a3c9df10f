//! `plimsoll testbed`: several real storage targets on one machine.

mod listing;

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use anyhow::{Result, anyhow};
use clap::{Subcommand, ValueEnum};
use plimsoll_domain::{Bytes, Limit};
use plimsoll_testbed::{
    Direction, DownOptions, Effect, FileSystem, KindChoice, LimitOutcome, Step, TargetName,
    Testbed, TestbedError, UpOptions, Waiting,
};

use crate::failure::with_advice;
use crate::output::{self, Output};
use crate::progress::Progress;
use crate::targets::{DefaultBed, naming};
use crate::value;

pub use listing::NUMBERS;

/// Make several real storage targets on one machine, to try things out on
///
/// Each target is a loop device with a file system of its own, in a backing file that is
/// written in full beforehand so that targets do not disturb each other. Any of them can be
/// limited in bytes or operations per second. This needs root; without root, or without loop
/// devices, targets are plain directories, and the output says what is missing.
///
/// A test bed is made only where nobody else can replace it: its base directory and all directories above
/// it belong to you or root, and are writable by others only if they are sticky, like /tmp.
#[derive(clap::Args)]
#[command(
    before_help = "Examples:\n  \
        plimsoll testbed up --targets 4 --size 256MiB\n  \
        plimsoll testbed slow t2 20MiB/s\n  \
        plimsoll testbed run -- my-program\n  \
        plimsoll testbed down",
    subcommand_required = true,
    disable_help_subcommand = true
)]
pub struct Arguments {
    #[command(flatten)]
    bed: DefaultBed,

    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    Up(Up),
    List(List),
    Slow(Slow),
    Normal(Normal),
    Run(Run),
    Down(Down),
}

/// Make the targets
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  \
    plimsoll testbed up --targets 4 --size 256MiB\n  \
    plimsoll testbed up --targets 2 --size 1GiB --file-system xfs")]
struct Up {
    /// Number of targets
    #[arg(long, value_name = "N", value_parser = value::count, allow_negative_numbers = true)]
    targets: u64,

    /// Size of each target
    #[arg(long, value_name = "SIZE")]
    size: Bytes,

    /// Kind of the targets: loop devices where possible, or one kind by force
    #[arg(long, value_enum, default_value = "auto")]
    kind: KindArgument,

    /// File system of loop targets; asking for one means loop devices or an error [default: ext4]
    #[arg(long, value_enum)]
    file_system: Option<FileSystemArgument>,
}

#[derive(Clone, Copy, ValueEnum)]
enum KindArgument {
    Auto,
    Loop,
    Directory,
}

#[derive(Clone, Copy, ValueEnum)]
enum FileSystemArgument {
    Ext4,
    Xfs,
}

/// List the targets
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  plimsoll testbed list\n  plimsoll testbed list --json")]
struct List;

/// Limit a target in bytes or operations per second
///
/// On machines with cgroup v1 the limit holds for every process, and for direct I/O, fsync
/// and write-back alike. On machines with only cgroup v2, it holds for programs started with
/// `plimsoll testbed run`, and for `bench`, `calibrate` and `route bench` themselves, even while
/// they run.
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  \
    plimsoll testbed slow t2 20MiB/s\n  \
    plimsoll testbed slow 2 200op/s --only write")]
struct Slow {
    /// Name or index of the target
    target: String,

    /// Bytes per second, operations per second, or both: 20MiB/s,200op/s
    rate: Limit,

    /// Limit one direction only
    #[arg(long, value_enum)]
    only: Option<value::Direction>,
}

/// Remove all limits of a target
#[derive(clap::Args)]
#[command(before_help = "Example:\n  plimsoll testbed normal t2")]
struct Normal {
    /// Name or index of the target
    target: String,
}

/// Run a command under the limits of the test bed
///
/// The command finds the targets' directories in PLIMSOLL_TARGETS, separated by colons. Its
/// exit status is passed on; 128 + N when signal N ended it. The status is 127 when the command
/// cannot be found, 126 when it cannot be executed, and 2 when plimsoll itself is used wrongly.
/// Signals that ask plimsoll to end (TERM, INT, HUP) go to the command.
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  \
    plimsoll testbed run -- make -C app checkpoint\n  \
    plimsoll testbed run -- sh -c 'echo \"$PLIMSOLL_TARGETS\"'")]
struct Run {
    /// The command and its arguments
    #[arg(required = true, last = true)]
    command: Vec<OsString>,
}

/// Remove the test bed: limits, mounts, devices and files
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  plimsoll testbed down\n  plimsoll testbed down --force")]
struct Down {
    /// Unmount even while processes use the targets, and also foreign mounts in the test bed
    #[arg(long)]
    force: bool,
}

pub fn run(arguments: Arguments, output: Output) -> Result<ExitCode> {
    let testbed = arguments.bed.open().map_err(with_hint)?.when_waiting(say_waiting);
    let done = match arguments.action {
        Action::Up(up) => make(&testbed, &up, output),
        Action::List(List) => list(&testbed, output),
        Action::Slow(slow) => limit(&testbed, &slow, output),
        Action::Normal(normal) => unlimit(&testbed, &normal, output),
        Action::Run(run) => run_command(&testbed, &run),
        Action::Down(down) => remove(&testbed, &down, output),
    };
    done.map_err(|error| about(error, &testbed.directory()))
}

/// Returns an error whose hint is about this test bed.
fn about(error: anyhow::Error, directory: &std::path::Path) -> anyhow::Error {
    let text = format!("{error:#}");
    let named = naming(&text, directory);
    if named == text { error } else { anyhow!(named) }
}

fn say_waiting(waiting: Waiting) {
    let holder = waiting.pid.map_or(String::new(), |pid| format!(" (pid {pid})"));
    output::message(&format!("waiting for another plimsoll testbed command{holder}"));
}

/// Returns the error with its hint.
pub fn with_hint(error: TestbedError) -> anyhow::Error {
    with_advice(&error, error.hint())
}

fn make(testbed: &Testbed, up: &Up, output: Output) -> Result<ExitCode> {
    let options = UpOptions {
        targets: up.targets,
        size: up.size,
        kind: match up.kind {
            KindArgument::Auto => KindChoice::Auto,
            KindArgument::Loop => KindChoice::Loop,
            KindArgument::Directory => KindChoice::Directory,
        },
        file_system: up.file_system.map(|file_system| match file_system {
            FileSystemArgument::Ext4 => FileSystem::Ext4,
            FileSystemArgument::Xfs => FileSystem::Xfs,
        }),
    };
    let progress = Progress::new("writing backing files", up.targets.saturating_mul(up.size.get()));
    let mut finished = 0;
    let bed = testbed.up(&options, &mut |step| match step.step {
        Step::Writing { written, .. } => {
            progress.done.store(finished + written.get(), Ordering::Relaxed);
        }
        Step::Ready => finished += up.size.get(),
        _ => {}
    });
    drop(progress);
    let bed = bed.map_err(with_hint)?;
    let lacking: Vec<String> = bed
        .lacking
        .iter()
        .map(|it| format!("no {}: {}; {}", it.names(), it.why, it.remedy))
        .collect();
    listing::print(&bed.listing, lacking, output)?;
    Ok(ExitCode::SUCCESS)
}

fn list(testbed: &Testbed, output: Output) -> Result<ExitCode> {
    listing::print(&testbed.list().map_err(with_hint)?, Vec::new(), output)?;
    Ok(ExitCode::SUCCESS)
}

fn limit(testbed: &Testbed, slow: &Slow, output: Output) -> Result<ExitCode> {
    let target: TargetName = slow.target.parse().map_err(with_hint)?;
    let direction = match slow.only {
        None => Direction::Both,
        Some(value::Direction::Read) => Direction::Read,
        Some(value::Direction::Write) => Direction::Write,
    };
    let outcome = testbed.slow(target, slow.rate, direction).map_err(with_hint)?;
    say_limits("testbed.slow", &outcome, output)
}

fn unlimit(testbed: &Testbed, normal: &Normal, output: Output) -> Result<ExitCode> {
    let target: TargetName = normal.target.parse().map_err(with_hint)?;
    let outcome = testbed.normal(target).map_err(with_hint)?;
    say_limits("testbed.normal", &outcome, output)
}

/// Prints a line for people, or a record for programs.
fn say_limits(command: &str, outcome: &LimitOutcome, output: Output) -> Result<ExitCode> {
    if output.json {
        output.print(command, "limit", &listing::limit_record(outcome))?;
        return Ok(ExitCode::SUCCESS);
    }
    let limits = listing::limits_text(&outcome.limits).unwrap_or_else(|| "none".into());
    let holds = match outcome.effect {
        Effect::EveryProcess => "for every process, from now on",
        Effect::UnderRun => "for plimsoll itself and for: plimsoll testbed run -- COMMAND",
    };
    output::message(&format!("limit of {}: {limits}, {holds}", outcome.target));
    Ok(ExitCode::SUCCESS)
}

fn run_command(testbed: &Testbed, run: &Run) -> Result<ExitCode> {
    let Some((program, arguments)) = run.command.split_first() else {
        return Err(anyhow!("no command; hint: plimsoll testbed run -- COMMAND"));
    };
    let status = match testbed.run(program, arguments) {
        Err(error @ TestbedError::Start { .. }) => return Ok(not_started(error)),
        ended => ended.map_err(with_hint)?,
    };
    // A shell reports a signal the same way.
    let code = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

/// As shells and env(1) do, so that a status of 2 can only be plimsoll's own.
fn not_started(error: TestbedError) -> ExitCode {
    const CANNOT_EXECUTE: u8 = 126;
    const NOT_FOUND: u8 = 127;
    let is_missing = matches!(&error, TestbedError::Start { cause, .. }
        if cause.kind() == std::io::ErrorKind::NotFound);
    output::message(&format!("error: {}", with_hint(error)));
    ExitCode::from(if is_missing { NOT_FOUND } else { CANNOT_EXECUTE })
}

fn remove(testbed: &Testbed, down: &Down, output: Output) -> Result<ExitCode> {
    let removed = testbed.down(DownOptions { force: down.force }).map_err(with_hint)?;
    if output.json {
        output.print("testbed.down", "removed", &listing::removed_record(&removed, testbed))?
    } else {
        listing::removed_lines(&removed, testbed).iter().for_each(|line| output::message(line))
    }
    Ok(ExitCode::SUCCESS)
}
