//! Completion scripts of shells.

use std::process::ExitCode;

use anyhow::Result;
use clap_complete::{Shell, generate};

use crate::output;

/// Print a shell's completion script
#[derive(clap::Args)]
#[command(before_help = "Example:\n  plimsoll completions bash > /etc/bash_completion.d/plimsoll")]
pub struct Arguments {
    /// The shell
    shell: Shell,
}

/// How the generator has bash name files: as they are, so that a name that somebody else chose is a part of the command, `$(…)` too.
const FILES_UNQUOTED: &str = r#"COMPREPLY=($(compgen -f "${cur}"))"#;
/// Nothing of ours: then bash names files itself, and quotes them.
const BY_BASH: &str = "COMPREPLY=()";

/// Prints the script.
pub fn run(arguments: &Arguments, command: &mut clap::Command) -> Result<ExitCode> {
    let mut script = Vec::new();
    generate(arguments.shell, command, "plimsoll", &mut script);
    let script = String::from_utf8_lossy(&script).replace(FILES_UNQUOTED, BY_BASH);
    output::data(&script).map(|()| ExitCode::SUCCESS)
}
