//! `plimsoll stow run`: a program whose new files are containers.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use plimsoll_domain::Bytes;
use plimsoll_guarded::Directory;
use plimsoll_pilot::{KeptMemory, RunTally};
use plimsoll_process::{execute, hide_last_arguments, run_to_end};
use plimsoll_record::{Stowing, rank};
use plimsoll_stow::{Target, discard_all_gone};

use super::policy::PolicyName;
use super::ran::Ran;
use super::targets::LogTargets;
use crate::output;
use crate::record::program;

/// Run a program whose new files below a directory are containers
///
/// Every file that the program, or a program that it starts, makes below DIR becomes a container with logs on the targets;
/// containers there are read and written as the files that they hold, and everything else is as it is. This works for dynamically linked
/// programs, without recompiling: plain tools, shells, threads, MPI programs. docs/stow.md says what holds and what does not.
///
/// In a batch script, without this command: LD_PRELOAD=.../libplimsoll.so PLIMSOLL_STOW_MOUNT=DIR
/// PLIMSOLL_STOW_TARGETS=[NAME=]DIR,..., and PLIMSOLL_STOW_POLICY, PLIMSOLL_STOW_BUFFER, PLIMSOLL_STOW_SMALL, PLIMSOLL_STOW_ONLY and PLIMSOLL_STOW_EXCEPT (globs
/// with colons between) for the options.
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  \
    plimsoll stow run --mount /scratch/run1 --targets /mnt/ost0,/mnt/ost1 -- mpirun -n 4 ./app\n  \
    plimsoll stow run --mount results --testbed default --only '*.h5' -- ./app\n  \
    plimsoll stow run --mount results --targets /mnt/ost0,/mnt/ost1 -- bash")]
pub struct Arguments {
    /// The directory below which new files become containers
    #[arg(long, value_name = "DIR")]
    mount: PathBuf,

    #[command(flatten)]
    targets: LogTargets,

    /// How segments are spread: window takes them where the storage is fast now, striped goes round the targets, static keeps each
    /// writer on one
    #[arg(long, value_enum, default_value = "window")]
    policy: PolicyName,

    /// How much each writer may write beyond what the targets take now before it waits, so that a program which computes after a
    /// burst does not (window only)
    #[arg(long, value_name = "SIZE", default_value_t = Bytes::new(Stowing::BUFFER_BYTES))]
    buffer: Bytes,

    /// Files stay in the mount itself, and on no target, until they have more bytes than this, 32 KiB at most: a small file is three inodes then
    /// instead of 13; 0B has all on targets
    #[arg(long, value_name = "SIZE", default_value_t = Bytes::new(Stowing::SMALL_BYTES), value_parser = small_size)]
    small: Bytes,

    /// Only files whose path matches become containers; may be repeated
    #[arg(long, value_name = "GLOB")]
    only: Vec<String>,

    /// Files whose path matches do not become containers; may be repeated
    #[arg(long, value_name = "GLOB")]
    except: Vec<String>,

    /// Do not say after the run what was written
    #[arg(long)]
    quiet: bool,

    /// The program and its arguments
    #[arg(trailing_var_arg = true, required = true)]
    command: Vec<OsString>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let Some((program, rest)) = arguments.command.split_first() else {
        bail!("no program; hint: plimsoll stow run --mount DIR -- PROGRAM ARGUMENTS");
    };
    let mount = std::path::absolute(&arguments.mount)?;
    // Held until the end: what is discarded then is in the same directory.
    let held = Directory::open_by_own_links(&mount).and_then(Directory::with_whole_path);
    let held = held.with_context(|| {
        format!("cannot use {}; hint: make the directory first", arguments.mount.display())
    })?;
    let found = whole(arguments.targets.find()?)?;
    let targets: Vec<(&str, &Path)> =
        found.iter().map(|it| (it.name.as_str(), it.path.as_path())).collect();
    let tally = if arguments.quiet || rank().is_some() { None } else { made_tally(&found) };
    let counted = tally.as_ref().and_then(RunTally::path);
    let stowing = Stowing {
        program,
        arguments: rest,
        mount: &mount,
        targets: &targets,
        policy: arguments.policy.name(),
        buffer_bytes: arguments.buffer.get(),
        small_bytes: arguments.small.get(),
        tally: counted.as_deref(),
        only: &arguments.only,
        except: &arguments.except,
    };
    let mut command = stowing.command()?;
    if rank().unwrap_or(0) == 0 {
        // What was on its way to another name, of programs that were killed then, is looked for by the one that is started again.
        discard_all_gone(held.again()?, true, &found);
    }
    if rank().is_some() {
        // Launchers count on the process that they started.
        let error = execute(&mut command);
        return Ok(program::not_started(program, &error));
    }
    hide_last_arguments(rest.len());
    // What one process learns of the targets is there for the next, also if none writes in between.
    let is_window = arguments.policy == PolicyName::Window;
    let kept = is_window.then(|| KeptMemory::of(&found));
    let ended = run_to_end(&mut command);
    drop(kept);
    // What was removed while it was open, by processes that did not close it.
    discard_all_gone(held, true, &found);
    match ended {
        Ok(status) => {
            if let Some(tally) = tally {
                let targets: Vec<&str> = found.iter().map(|it| it.name.as_str()).collect();
                let rate = arguments.targets.write_rate(&found);
                let ran = Ran { mount: &mount, targets: &targets, is_routed: is_window, rate };
                output::message(&ran.line(&tally.totals()));
            }
            program::end_like(status)
        }
        Err(error) => Ok(program::not_started(program, &error)),
    }
}

/// Reads what a small file has at most.
fn small_size(text: &str) -> Result<Bytes, String> {
    let size: Bytes = text.parse().map_err(|it| format!("{it}"))?;
    let most = Bytes::new(Stowing::SMALL_BYTES_MAX);
    if size.get() > most.get() { Err(format!("it is more than {most}")) } else { Ok(size) }
}

/// Returns where what is written is counted, or says why it cannot be.
fn made_tally(targets: &[Target]) -> Option<RunTally> {
    let made = RunTally::make(targets.len());
    made.inspect_err(|error| {
        output::message(&format!("warning: what is written cannot be counted: {error}"));
    })
    .ok()
}

/// Returns the targets with whole paths: the program may change its directory.
fn whole(targets: Vec<Target>) -> Result<Vec<Target>> {
    let whole = |Target { name, path }| {
        // Not without its links: whose they are is asked when it is used.
        let whole = std::path::absolute(&path);
        let whole = whole.and_then(|it| Directory::open_by_own_links(&it).map(|_| it));
        let path = whole.with_context(|| format!("cannot use target {}", path.display()))?;
        Ok(Target { name, path })
    };
    targets.into_iter().map(whole).collect()
}
