//! `plimsoll stow rm`: a container with all its logs.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use plimsoll_report::Record;
use plimsoll_stow::{Container, StowError, TornContainer};

use super::targets::LogTargets;
use super::with_hint;
use crate::output::{self, Output};

/// Remove containers with all their logs
///
/// `rm -r` removes only the directory and leaves the logs on the targets. Ends with 1 if logs are left that cannot be reached, or that may be those of another container.
#[derive(clap::Args)]
#[command(before_help = "Example:\n  plimsoll stow rm big")]
pub struct Arguments {
    /// The containers
    #[arg(required = true, value_name = "CONTAINER")]
    containers: Vec<PathBuf>,

    #[command(flatten)]
    targets: LogTargets,
}

pub fn run(arguments: &Arguments, output: Output) -> Result<ExitCode> {
    let targets = arguments.targets.if_named()?;
    let mut rows = Vec::new();
    let mut status = ExitCode::SUCCESS;
    for path in &arguments.containers {
        let container = match Container::open(path, &targets) {
            Err(StowError::Torn { .. }) => {
                TornContainer::open(path).and_then(|it| it.remove()).map_err(with_hint)?;
                rows.push(Record::new().text("path", "path", path.display().to_string()));
                continue;
            }
            opened => opened.map_err(with_hint)?,
        };
        for log in container.remove().map_err(with_hint)? {
            status = ExitCode::FAILURE;
            output::message(&format!(
                "warning: log {} on target {} is left: it cannot be reached, or may be another container's",
                log.number, log.target
            ));
        }
        rows.push(Record::new().text("path", "path", path.display().to_string()));
    }
    if output.json {
        let record = Record::new().rows("removed", "removed", rows);
        output.print("stow.rm", "removed", &record)?;
    }
    Ok(status)
}
