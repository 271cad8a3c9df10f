//! `plimsoll record`: run a program and record its I/O calls.

pub mod program;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use plimsoll_process::{execute, hide_last_arguments, run_to_end};
use plimsoll_record::{Collected, Launch, Others, collect, rank, recording_around};
use plimsoll_report::{Record, numbers};

use crate::argument::argument;
use crate::output::{self, Output};

numbers! {
    MOVED = "moved", "files collected", Count, "Files of processes that had ended without moving their file to the recording.", "the spool of this node";
    ELSEWHERE = "elsewhere", "left, elsewhere", Count, "Files of processes on other nodes, or in containers that cannot be looked into from here, which may still run; --ended takes them.", "the spool of this node";
    OF_OTHERS = "of_others", "of other recordings", Count, "Files of other recordings in the same spool; they are left for those.", "the spool of this node";
    RUNNING = "running", "still running", Count, "Files of processes that are still running; they move their files to the recording themselves.", "the spool of this node";
}

/// Run a program and record every I/O call it makes
///
/// This works for any dynamically linked program, serial, threaded, forking or MPI, without
/// recompiling; `plimsoll record mpirun -n 64 app` and `mpirun -n 64 plimsoll record app` both
/// work. Options of record come before the program. The program's output, exit status and signals
/// do not change; a last line on stderr says where the recording is. A recording is a directory
/// with one file per process; `plimsoll report` explains it.
///
/// In a batch script, without this command: LD_PRELOAD=.../libplimsoll.so
/// PLIMSOLL_RECORD_DIR=DIR, and PLIMSOLL_SPOOL, PLIMSOLL_LAYERS, PLIMSOLL_INCLUDE,
/// PLIMSOLL_EXCLUDE and PLIMSOLL_SHARE=1 for the options.
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  \
    plimsoll record ./app input.nml\n  \
    plimsoll record -o run1 mpirun -n 4 ./app\n  \
    mpirun -n 4 plimsoll record -o run1 ./app\n  \
    plimsoll record --collect run1        (after a crash of the machine or the job)")]
pub struct Arguments {
    /// Directory of the recording [default: plimsoll-PROGRAM-JOB or -TIME]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Layers to record
    #[arg(long, value_name = "LAYER,...", value_delimiter = ',', default_value = "mpi,stdio,posix,logs",
        value_parser = ["mpi", "stdio", "posix", "logs"])]
    layers: Vec<String>,

    /// Record only files whose path matches; may be repeated
    #[arg(long, value_name = "GLOB")]
    include: Vec<String>,

    /// Do not record files whose path matches; may be repeated
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,

    /// Node-local directory to buffer in [default: DIR itself on a local file system]
    #[arg(long, value_name = "DIR")]
    spool: Option<PathBuf>,

    /// Let others read the recording [default: only you; command lines and paths reveal much]
    #[arg(long, conflicts_with = "collect")]
    share: bool,

    /// Move what a crash left in this node's spool to the recording DIR
    #[arg(long, value_name = "DIR", conflicts_with_all = ["output", "command"])]
    collect: Option<PathBuf>,

    /// With --collect: processes on other nodes, and in containers that cannot be looked into from here, have ended; take their files too
    #[arg(long, requires = "collect")]
    ended: bool,

    /// Do not say where the recording is
    #[arg(short, long, conflicts_with = "collect")]
    quiet: bool,

    /// The program and its arguments
    #[arg(trailing_var_arg = true, required_unless_present = "collect")]
    command: Vec<OsString>,
}

pub fn run(arguments: &Arguments, output: Output) -> Result<ExitCode> {
    if let Some(directory) = &arguments.collect {
        let others = if arguments.ended { Others::HaveEnded } else { Others::MayRun };
        let collected = collect(directory, arguments.spool.as_deref(), others)?;
        print(collected, directory, output)?;
        return Ok(ExitCode::SUCCESS);
    }
    let Some((program, rest)) = arguments.command.split_first() else {
        bail!("no program; hint: plimsoll record PROGRAM ARGUMENTS");
    };
    let launch = Launch {
        program,
        arguments: rest,
        directory: arguments.output.as_deref(),
        spool: arguments.spool.as_deref(),
        layers: &arguments.layers,
        include: &arguments.include,
        exclude: &arguments.exclude,
        is_shared: arguments.share,
    };
    let mut prepared = launch.prepare()?;
    let rank = rank();
    // Inside another recording, that one says it.
    let is_told =
        !arguments.quiet && recording_around().is_none() && rank.is_none_or(|rank| rank == 0);
    if prepared.is_direct() && (rank.is_some() || !is_told) {
        // Nothing is left to do afterwards, so the program takes our place: its process id, its
        // signals and its status are then nobody else's. Launchers count on that.
        if is_told {
            tell("records into", prepared.path());
        }
        let error = execute(&mut prepared.command);
        prepared.did_not_start();
        return Ok(program::not_started(program, &error));
    }
    hide_last_arguments(rest.len());
    // Signals are the program's to answer, whoever of the two they are sent to; we go on to bring its recording home.
    let status = match run_to_end(&mut prepared.command) {
        Ok(status) => status,
        Err(error) => {
            prepared.did_not_start();
            return Ok(program::not_started(program, &error));
        }
    };
    let (home, spool) = (argument(prepared.path()), argument(prepared.spool()));
    let hint = format!("plimsoll record --collect {home} --spool {spool}");
    match prepared.bring_home() {
        // The status is the program's: nobody else changes it, not even by filling the disk.
        Err(error) => output::message(&format!("warning: {error}; hint: {hint}")),
        Ok(collected) if is_told => {
            tell("recorded into", prepared.path());
            if collected.elsewhere > 0 {
                output::message(&format!(
                    "warning: {} files of processes on other nodes or in containers, which may still run, stay in {spool}; hint: once they have ended, {hint} --ended",
                    collected.elsewhere
                ));
            }
        }
        Ok(_) => {}
    }
    program::end_like(status)
}

/// Tells a person once where the recording is.
fn tell(what: &str, directory: &Path) {
    let here = std::env::current_dir().ok();
    let below = here.and_then(|here| directory.strip_prefix(here).ok().map(Path::to_path_buf));
    let path = below.as_deref().filter(|it| !it.as_os_str().is_empty()).unwrap_or(directory);
    let (shown, quoted) = (path.display(), argument(path));
    output::message(&format!("plimsoll: {what} {shown}; to see it: plimsoll report {quoted}"));
}

/// Prints what was collected.
fn print(collected: Collected, directory: &Path, output: Output) -> Result<()> {
    let record = Record::new()
        .number(&MOVED, collected.moved)
        .number(&RUNNING, collected.running)
        .number(&ELSEWHERE, collected.elsewhere)
        .number(&OF_OTHERS, collected.of_others);
    output.print("record.collect", &format!("recording {}", directory.display()), &record)
}
