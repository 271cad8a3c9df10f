//! `plimsoll doctor`: what this machine can do for each command.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use plimsoll_figures::checks;
use plimsoll_machine::Machine;
use plimsoll_testbed::Testbed;

use crate::output::Output;

pub use checks::NUMBERS;

/// Check what this machine can do, and how to get what is missing
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  plimsoll doctor\n  plimsoll doctor --json")]
pub struct Arguments {
    /// Look at a captured tree of /proc and /sys instead of this machine
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

pub fn run(arguments: &Arguments, output: Output) -> Result<ExitCode> {
    let machine = match &arguments.root {
        Some(root) => Machine::at(root, "/usr/local/bin:/usr/bin:/bin"),
        None => Machine::host(),
    };
    let base = Testbed::default_base();
    let checks = checks::check(&machine, base.parent().unwrap_or(&base));
    let kernel = machine.kernel_release().unwrap_or_else(|_| "unknown kernel".into());
    output.print("doctor", &format!("this machine: Linux {kernel}"), &checks::record(&checks))?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn commands_that_need_something_are_those_that_there_are() {
        let root = tempfile::tempdir().unwrap();
        let command = crate::command();
        let is_there = |words: &str| {
            let mut names = words.split(' ');
            names.try_fold(&command, |command, name| command.find_subcommand(name)).is_some()
        };
        for check in checks::check(&Machine::at(root.path(), ""), Path::new("/")) {
            for part in check.needed_for.split(", ") {
                let words = part.split(':').next().unwrap_or_default();
                assert!(is_there(words), "{}: {part}", check.name);
            }
        }
    }
}
