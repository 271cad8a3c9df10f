//! `plimsoll stow`: containers, files that are kept on many targets.

mod cat;
mod check;
mod compact;
mod copy;
mod flatten;
mod info;
mod listing;
mod mount;
mod orphans;
mod policy;
mod ran;
mod remove;
mod run;
mod targets;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use clap::Subcommand;
use plimsoll_stow::{Container, Reader, StowError, Target};

use crate::output::Output;

pub use info::NUMBERS;

/// Keep a file as a container: on many targets, safe against kills, with checksums
///
/// A container is a directory at the file's path; its bytes are in logs on the targets. Several processes of a node can write
/// to one at the same time. docs/stow.md says what holds and what does not.
#[derive(clap::Args)]
#[command(
    before_help = "Examples:\n  \
        plimsoll stow cp big.dat big --targets /mnt/ost0,/mnt/ost1,/mnt/ost2\n  \
        plimsoll stow info big\n  \
        plimsoll stow cat big | sha256sum\n  \
        plimsoll stow check big\n  \
        plimsoll stow mount results /mnt/results\n  \
        plimsoll stow run --mount results --targets /mnt/ost0,/mnt/ost1 -- ./app\n  \
        plimsoll stow flatten big",
    subcommand_required = true,
    disable_help_subcommand = true
)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    Cat(cat::Arguments),
    Check(check::Arguments),
    Compact(compact::Arguments),
    Cp(copy::Arguments),
    Du(info::UsageArguments),
    Flatten(flatten::Arguments),
    Info(info::Arguments),
    Ls(listing::Arguments),
    Mount(mount::Arguments),
    #[command(hide = true)]
    MountKeeper(mount::KeeperArguments),
    Rm(remove::Arguments),
    Run(run::Arguments),
    Stat(listing::StatArguments),
}

pub fn run(arguments: &Arguments, output: Output) -> Result<ExitCode> {
    match &arguments.action {
        Action::Cat(arguments) => cat::run(arguments),
        Action::Check(arguments) => check::run(arguments, output),
        Action::Compact(arguments) => compact::run(arguments, output),
        Action::Cp(arguments) => copy::run(arguments, output),
        Action::Du(arguments) => info::usage(arguments, output),
        Action::Flatten(arguments) => flatten::run(arguments, output),
        Action::Info(arguments) => info::run(arguments, output),
        Action::Ls(arguments) => listing::run(arguments, output),
        Action::Mount(arguments) => mount::run(arguments),
        Action::MountKeeper(arguments) => mount::keep(arguments),
        Action::Rm(arguments) => remove::run(arguments, output),
        Action::Run(arguments) => run::run(arguments),
        Action::Stat(arguments) => listing::stat(arguments, output),
    }
}

/// Opens a container by its merged index, if it has one.
fn open(path: &Path, targets: &[Target]) -> Result<Reader> {
    let container = Container::open_to_read(path, targets).map_err(with_hint)?;
    Reader::open(Arc::new(container)).map_err(with_hint)
}

/// Opens a container and looks at all of its records, which have the checksums.
fn open_scanned(path: &Path, targets: &[Target]) -> Result<Reader> {
    let container = Container::open_to_read(path, targets).map_err(with_hint)?;
    Reader::open_scanned(Arc::new(container)).map_err(with_hint)
}

/// Returns the error with what its user can do.
fn with_hint(error: StowError) -> anyhow::Error {
    let hint = match &error {
        StowError::NotAContainer { .. } => "plimsoll stow ls DIR lists containers",
        StowError::Torn { .. } => "plimsoll stow rm removes it",
        StowError::Damaged { .. } => "plimsoll stow check tells what can still be read",
        StowError::BeingRead { .. } => "try again when nobody reads it",
        StowError::Busy { .. } | StowError::Held { .. } => "wait for its writers, or end them",
        StowError::TooManyNodes { .. } => "wait until one of them is done",
        StowError::Copy { .. } | StowError::Hidden { .. } | StowError::UsedUp { .. } => {
            "plimsoll stow cp makes a container with logs of its own"
        }
        StowError::Displaced { .. } => {
            "if that one is gone for good, plimsoll stow check --repair makes the logs this one's"
        }
        StowError::Unnoted { .. } => {
            "if it is no copy, plimsoll stow check --repair makes the logs its own"
        }
        StowError::Unreadable { .. } | StowError::UnknownSize { .. } => {
            "if targets are mounted elsewhere: --targets NAME=DIR,...; plimsoll stow check tells more"
        }
        StowError::NoTarget { .. } => "free some room, or name others with --targets",
        StowError::System { .. } | StowError::TooLarge { .. } => return error.into(),
    };
    anyhow!("{error}; hint: {hint}")
}
