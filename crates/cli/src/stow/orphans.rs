//! `plimsoll stow check --targets` without a container: logs whose container is gone.

use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use plimsoll_report::Record;
use plimsoll_stow::{Below, StrayLogs, Target, remove_stray, stray_logs};

use super::info::{LOGS, PROBLEMS, REMOVED, STORED};
use crate::output::{self, Output};

/// What to do with what is found.
#[derive(Clone, Copy)]
pub enum Removal {
    /// Nothing.
    None,
    /// Ask for each.
    Asked,
    /// Remove it.
    Told,
}

/// Looks for logs without a container on these targets. Ends with 1 if there are any.
pub fn run(
    targets: &[Target],
    below: &[PathBuf],
    removal: Removal,
    output: Output,
) -> Result<ExitCode> {
    if matches!(removal, Removal::Asked) && !std::io::stdin().is_terminal() {
        bail!("nobody can be asked before logs are removed; hint: --yes as well");
    }
    let below = looked_through(below)?;
    let now = SystemTime::now();
    let (mut rows, mut left, mut removed) = (Vec::new(), 0u64, 0u64);
    for target in targets {
        let found = stray_logs(&target.path, &below, now);
        let found =
            found.with_context(|| format!("cannot look through {}", target.path.display()))?;
        for stray in found {
            let outcome = match (&stray.kept, removal) {
                (Some(why), _) => format!("left: {why}"),
                (None, Removal::None) => "left; --repair removes it".into(),
                (None, Removal::Asked) if !is_wanted(&stray)? => "left".into(),
                (None, _) => {
                    let failed = || format!("cannot remove {}", stray.path.display());
                    remove_stray(&stray, &below, now).with_context(failed)?;
                    removed += 1;
                    "removed".into()
                }
            };
            left += u64::from(outcome != "removed");
            rows.push(row_of(target, &stray, &outcome));
        }
    }
    let record = Record::new().number(&PROBLEMS, left).number(&REMOVED, removed).rows(
        "orphans",
        "logs without a container",
        rows,
    );
    output.print("stow.orphans", "targets", &record)?;
    Ok(if left == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn looked_through(paths: &[PathBuf]) -> Result<Below> {
    let mut below = Below::default();
    for path in paths {
        let looked = below.look(path);
        looked.with_context(|| format!("cannot look through {}", path.display()))?;
    }
    Ok(below)
}

fn is_wanted(stray: &StrayLogs) -> Result<bool> {
    let home = stray.home.as_deref().unwrap_or(&stray.path);
    output::message(&format!(
        "{} has {} logs ({} bytes) of a container that was at {} and is not there. Remove them? [y/N]",
        stray.path.display(),
        stray.logs,
        stray.bytes,
        home.display()
    ));
    std::io::stderr().flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(["y", "yes"].contains(&answer.trim()))
}

fn row_of(target: &Target, stray: &StrayLogs, outcome: &str) -> Record {
    let home = stray.home.as_ref().map_or("?".into(), |it| it.display().to_string());
    Record::new()
        .text("target", "target", target.name.clone())
        .text("id", "id", stray.id.to_string())
        .text("container", "container", home)
        .number(&LOGS, stray.logs)
        .number(&STORED, stray.bytes)
        .text("outcome", "outcome", outcome)
}
