//! `plimsoll doctor`: what this machine can do for each command.

mod checks;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use plimsoll_machine::Machine;
use plimsoll_report::{Record, numbers};

use crate::output::Output;

/// Check what this machine can do, and how to get what is missing
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  plimsoll doctor\n  plimsoll doctor --json")]
pub struct Arguments {
    /// Look at a captured tree of /proc and /sys instead of this machine
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

numbers! {
    MISSING = "missing", "missing", Count, "Number of checks that found something missing.", "";
}

/// One thing that a command needs.
pub struct Check {
    /// What is looked for.
    pub name: &'static str,
    /// What was found, in words.
    pub found: String,
    /// What to do to get it, when it is missing.
    pub missing: Option<String>,
    /// What needs it.
    pub needed_for: &'static str,
}

pub fn run(arguments: &Arguments, output: Output) -> Result<ExitCode> {
    let machine = match &arguments.root {
        Some(root) => Machine::at(root, "/usr/local/bin:/usr/bin:/bin"),
        None => Machine::host(),
    };
    let checks = checks::all(&machine);
    let missing = checks.iter().filter(|check| check.missing.is_some()).count();
    let rows = checks.iter().map(row).collect();
    let advice = checks.iter().filter_map(|check| {
        let advice = check.missing.as_ref()?;
        Some(Record::new().text("check", "for", check.name).text("advice", "do this", advice))
    });
    let record = Record::new()
        .number(&MISSING, missing as u64)
        .rows("checks", "what was found", rows)
        .rows("advice", "what to do", advice.collect())
        .note("* comes in a later release");
    let kernel = machine.kernel_release().unwrap_or_else(|_| "unknown kernel".into());
    output.print("doctor", &format!("this machine: Linux {kernel}"), &record)?;
    Ok(ExitCode::SUCCESS)
}

fn row(check: &Check) -> Record {
    Record::new()
        .text("state", "state", if check.missing.is_none() { "ok" } else { "missing" })
        .text("name", "what", check.name)
        .text("found", "found", &check.found)
        .text("needed_for", "needed for", check.needed_for)
}
