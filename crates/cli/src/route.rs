//! `plimsoll route`: routing writes to the targets that are fast now.

mod bench;
mod drops;
mod noise;
mod targets;

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Subcommand;
use plimsoll_process::leave_end_to_coordinator;
use plimsoll_race::GivenBack;

use crate::output::{self, Output};

pub use plimsoll_figures::races::NUMBERS;

/// Route writes to the targets that are fast now
#[derive(clap::Args)]
#[command(
    before_help = "Examples:\n  \
        plimsoll route bench --testbed default\n  \
        plimsoll route bench --targets /mnt/ost0 /mnt/ost1 --policy static,window",
    subcommand_required = true,
    disable_help_subcommand = true
)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    Bench(bench::Arguments),
}

pub fn run(arguments: &Arguments, output: Output) -> Result<ExitCode> {
    match &arguments.action {
        Action::Bench(arguments) => bench::run(arguments, output),
    }
}

/// The hidden command of a writer process.
pub const WRITER_COMMAND: &str = "route-writer";

/// The hidden command of the process that restores limits.
const KEEPER_COMMAND: &str = "route-keeper";

/// Serves as the process that restores limits.
pub fn keep() -> Result<ExitCode> {
    leave_end_to_coordinator();
    let given_back = plimsoll_race::keep()
        .context("cannot serve; hint: plimsoll route bench starts its keeper itself")?;
    for GivenBack { target, problem } in given_back {
        output::message(&match problem {
            None => format!("note: route bench was killed; {target} has its limit again"),
            Some(problem) => format!("error: {target} keeps its lower limit: {problem}"),
        });
    }
    Ok(ExitCode::SUCCESS)
}

/// Serves as a writer process.
pub fn serve() -> Result<ExitCode> {
    leave_end_to_coordinator();
    plimsoll_race::serve()
        .context("cannot serve; hint: plimsoll route bench starts its writers itself")?;
    Ok(ExitCode::SUCCESS)
}
