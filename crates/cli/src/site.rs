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

/// Show what a site file says, and which one applies here
///
/// Commands that are given no site file take site.toml of the working directory or of one above it, or else the
/// user's (~/.config/plimsoll/site.toml, or below XDG_CONFIG_HOME), or else the system's
/// (/etc/plimsoll/site.toml), and say which. PLIMSOLL_SITE names another; if it is empty, none is taken. Files that
/// belong to other users than you and root, and those that anybody may change, are passed over.
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  plimsoll site show\n  plimsoll site show lab.toml --json")]
struct FileArgument {
    /// The site file [default: the one that applies here]
    file: Option<PathBuf>,
}

pub fn run(arguments: Arguments, output: Output) -> Result<ExitCode> {
    match arguments.action {
        Action::Init(arguments) => init::run(&arguments, output),
        Action::Show(arguments) => show::run(arguments.file, output),
        Action::Check(arguments) => check::run(&arguments, output),
    }
}
