//! `plimsoll record`: run a program and record its I/O calls.

mod collect;
mod directory;
mod key;
pub mod marker;
mod program;
mod spool;
mod unseen;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail, ensure};
use plimsoll_guarded::Directory;
use plimsoll_machine::{Machine, preload_library};
use plimsoll_trace::variables;

use self::unseen::UnseenProgram;
use crate::output::{self, Output};

pub use collect::NUMBERS;

/// Run a program and record every I/O call it makes
///
/// Works for any dynamically linked program, serial, threaded, forking or MPI, without
/// recompiling; `plimsoll record -- mpirun -n 64 app` and `mpirun -n 64 plimsoll record -- app`
/// both do. The program's output, exit status and signals are its own. A recording is a
/// directory with one file per process; `plimsoll report DIR` explains it.
///
/// Without this command, in a batch script: LD_PRELOAD=.../libplimsoll.so
/// PLIMSOLL_RECORD_DIR=/absolute/DIR, and PLIMSOLL_SPOOL, PLIMSOLL_LAYERS, PLIMSOLL_INCLUDE,
/// PLIMSOLL_EXCLUDE and PLIMSOLL_SHARE=1 for the options.
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  \
    plimsoll record -- ./app input.nml\n  \
    plimsoll record -o run1 -- mpirun -n 4 ./app\n  \
    mpirun -n 4 plimsoll record -o run1 -- ./app\n  \
    plimsoll record --collect run1        (after a crash of the machine or the job)")]
pub struct Arguments {
    /// Directory of the recording [default: plimsoll-PROGRAM-JOB or -TIME]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Layers to record
    #[arg(long, value_name = "LAYER,...", value_delimiter = ',', default_value = "mpi,stdio,posix",
        value_parser = ["mpi", "stdio", "posix"])]
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

    /// Let others read the recording [default: only you; command lines and paths tell much]
    #[arg(long, conflicts_with = "collect")]
    share: bool,

    /// Bring what a crash left in this node's spool into the recording DIR
    #[arg(long, value_name = "DIR", conflicts_with_all = ["output", "command"])]
    collect: Option<PathBuf>,

    /// The program and its arguments
    #[arg(last = true, required_unless_present = "collect")]
    command: Vec<OsString>,
}

pub fn run(arguments: &Arguments, output: Output) -> Result<ExitCode> {
    if let Some(directory) = &arguments.collect {
        let home = directory::open(directory)?;
        let collected = collect::collect(&home, arguments.spool.as_deref())?;
        collect::print(&collected, directory, output)?;
        return Ok(ExitCode::SUCCESS);
    }
    let Some((program, rest)) = arguments.command.split_first() else {
        bail!("no program; hint: plimsoll record -- PROGRAM ARGUMENTS");
    };
    let library = library()?;
    let directory = directory(arguments, program)?;
    let id = marker::join(&directory, &arguments.command, is_shared(arguments))?;
    let spool = spool::choose(directory.path(), arguments.spool.as_deref(), &Machine::host())?;

    let mut command = Command::new(program);
    command.args(rest);
    set_environment(&mut command, arguments, &library, directory.path(), &spool)?;
    // By the path alone, processes could come to another directory that somebody put there.
    command.env(variables::RECORDING_ID, id.unwrap_or_default());
    let unseen = UnseenProgram::find(program);
    if unseen.as_ref().is_some_and(UnseenProgram::must_not_be_preloaded) {
        keep_preload(&mut command);
    }
    let told = unseen.map(|it| it.tell(&directory, is_shared(arguments))).transpose()?;
    tell(directory.path());
    if spool == directory.path() {
        // Nothing is left to do afterwards, so the program takes our place: its process id, its
        // signals and its status are then nobody else's.
        let error = command.exec();
        // It did not start after all. A file that stays says no more than that it should have.
        let _ = told.map(|name| directory.remove_file(name));
        return Ok(program::not_started(program, &error));
    }
    let status = program::run(program, command)?;
    collect::collect_soon(&directory, &spool)?;
    program::end_like(status)
}

fn library() -> Result<PathBuf> {
    let library = preload_library()
        .map_err(|missing| anyhow::anyhow!("{missing}; hint: {}", missing.hint()))?;
    let library = fs::canonicalize(&library)
        .with_context(|| format!("cannot resolve {}", library.display()))?;
    // The dynamic linker separates the entries of LD_PRELOAD by blanks and colons.
    let text = library.to_string_lossy();
    ensure!(
        !text.contains([' ', ':']),
        "{text} cannot be preloaded: its path has a blank or a colon; hint: set PLIMSOLL_LIBRARY to a copy elsewhere"
    );
    Ok(library)
}

/// Where the recording goes: said, inherited from a `record` around this one, or named after
/// the program and the job.
fn directory(arguments: &Arguments, program: &OsStr) -> Result<Directory> {
    let inherited = std::env::var_os(variables::RECORD_DIR).map(PathBuf::from);
    let directory = match arguments.output.clone().or(inherited) {
        Some(directory) => directory,
        None => {
            let name = Path::new(program).file_name().unwrap_or(program).to_string_lossy();
            PathBuf::from(format!("plimsoll-{}-{}", key::clean(&name), key::of_this_run()))
        }
    };
    directory::make(&directory, is_shared(arguments))
}

/// Others may read the recording: said here, or by a `record` around this one.
fn is_shared(arguments: &Arguments) -> bool {
    arguments.share
        || variables::is_on(std::env::var_os(variables::SHARE).as_deref().map(OsStr::as_bytes))
}

fn set_environment(
    command: &mut Command,
    arguments: &Arguments,
    library: &Path,
    directory: &Path,
    spool: &Path,
) -> Result<()> {
    command.env("LD_PRELOAD", preload_list(library, std::env::var_os("LD_PRELOAD")));
    command.env(variables::RECORD_DIR, directory).env(variables::SPOOL, spool);
    command.env(variables::LAYERS, arguments.layers.join(","));
    if is_shared(arguments) {
        command.env(variables::SHARE, "1");
    }
    for (variable, globs) in
        [(variables::INCLUDE, &arguments.include), (variables::EXCLUDE, &arguments.exclude)]
    {
        let globs = globs.join(":");
        ensure!(
            globs.len() <= GLOBS_BYTES_MAX,
            "globs of {} bytes; hint: use * to have fewer of them",
            globs.len()
        );
        if !globs.is_empty() {
            command.env(variable, globs);
        }
    }
    // Ranks that a launcher started with this command all have the library: barriers are safe.
    if key::rank().is_some() && std::env::var_os(variables::MPI_BARRIER).is_none() {
        command.env(variables::MPI_BARRIER, "1");
    }
    // A program built with AddressSanitizer refuses to start behind another library unless told.
    let mut sanitizer = std::env::var_os("ASAN_OPTIONS").unwrap_or_default();
    if !sanitizer.is_empty() {
        sanitizer.push(":");
    }
    sanitizer.push("verify_asan_link_order=0");
    command.env("ASAN_OPTIONS", sanitizer);
    Ok(())
}

/// What the library has room for.
const GLOBS_BYTES_MAX: usize = 4095;

/// Leaves what is preloaded into the program as it is without us.
fn keep_preload(command: &mut Command) {
    match std::env::var_os("LD_PRELOAD") {
        Some(others) => command.env("LD_PRELOAD", others),
        None => command.env_remove("LD_PRELOAD"),
    };
}

/// Ours first, others after it; once.
fn preload_list(library: &Path, existing: Option<OsString>) -> OsString {
    let mut list = library.as_os_str().to_owned();
    let existing = existing.unwrap_or_default();
    let others = existing.to_string_lossy();
    for other in others.split([' ', ':']).filter(|it| !it.is_empty() && Path::new(it) != library) {
        list.push(":");
        list.push(other);
    }
    list
}

/// Where the recording is, told to a person once; never into a program's log.
fn tell(directory: &Path) {
    use std::io::IsTerminal;
    if std::io::stderr().is_terminal() && key::rank().is_none_or(|rank| rank == 0) {
        output::message(&format!("plimsoll: recording into {}", directory.display()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_library_comes_first_and_once() {
        let library = Path::new("/lib/libplimsoll.so");
        let list = |existing: &str| preload_list(library, Some(existing.into()));
        assert_eq!(preload_list(library, None), "/lib/libplimsoll.so");
        assert_eq!(list("/a.so /b.so"), "/lib/libplimsoll.so:/a.so:/b.so");
        assert_eq!(list("/a.so:/lib/libplimsoll.so"), "/lib/libplimsoll.so:/a.so");
    }
}
