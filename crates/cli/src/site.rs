//! `plimsoll site`: the one description of the storage.

mod check;
mod init;
mod show;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

use crate::output::Output;

pub use show::NUMBERS;

/// Describe the storage once, for every command, in a site file
///
/// The file is text and meant to be edited; docs/site-file.md describes its keys.
#[derive(clap::Args)]
#[command(
    before_help = "Examples:\n  \
        plimsoll site init\n  \
        plimsoll site show\n  \
        plimsoll site check site.toml",
    subcommand_required = true,
    disable_help_subcommand = true
)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    Init(init::Arguments),
    Show(FileArgument),
    Check(check::Arguments),
}

/// Show what a site file says
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  plimsoll site show\n  plimsoll site show lab.toml --json")]
struct FileArgument {
    /// The site file
    #[arg(default_value = "site.toml")]
    file: PathBuf,
}

pub fn run(arguments: Arguments, output: Output) -> Result<ExitCode> {
    match arguments.action {
        Action::Init(arguments) => init::run(&arguments, output),
        Action::Show(arguments) => show::run(&arguments.file, output),
        Action::Check(arguments) => check::run(&arguments, output),
    }
}
