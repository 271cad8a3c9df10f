//! `plimsoll stow check`: whether all that was written can be read.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::Result;
use plimsoll_report::Record;
use plimsoll_stow::{Container, Problem, Reader, check, repair};

use super::info::{CHECKED, PROBLEMS, REPAIRED, SIZE};
use super::targets::LogTargets;
use super::with_hint;
use crate::output::Output;
use crate::progress::Progress;

/// Compare every record of a container with its checksum
///
/// Ends with 0 when everything is as it should be, and with 1 when something was lost or damaged. --repair takes back what was
/// never durable when its node went down, so that it is not looked at again; what is damaged stays, and reading it fails.
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  \
    plimsoll stow check big\n  \
    plimsoll stow check big --repair")]
pub struct Arguments {
    /// The container
    container: PathBuf,

    /// Take back what was never durable
    #[arg(long)]
    repair: bool,

    #[command(flatten)]
    targets: LogTargets,
}

pub fn run(arguments: &Arguments, output: Output) -> Result<ExitCode> {
    let targets = arguments.targets.if_named()?;
    let open = if arguments.repair { Container::open } else { Container::open_to_read };
    let container = open(&arguments.container, &targets).map_err(with_hint)?;
    let reader = Reader::open_scanned(Arc::new(container)).map_err(with_hint)?;
    let total = reader.records().iter().map(|it| u64::from(it.length)).sum();
    let progress = Progress::new("checking", total);
    let mut tell = |bytes| {
        progress.done.fetch_add(bytes, Ordering::Relaxed);
    };
    let problems = check(&reader, &mut tell).map_err(with_hint)?;
    drop(progress);
    let repaired = match arguments.repair {
        true => Some(repair(reader.container(), reader.troubles()).map_err(with_hint)?),
        false => None,
    };
    let rows = problems.iter().map(|it| row_of(&reader, it)).collect();
    let record = Record::new()
        .number(&SIZE, reader.size())
        .number(&CHECKED, total)
        .number(&PROBLEMS, problems.len() as u64)
        .number(&REPAIRED, repaired.map(|it| it as u64))
        .rows("found", "found", rows);
    let title = format!("container {}", arguments.container.display());
    output.print("stow.check", &title, &record)?;
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn row_of(reader: &Reader, problem: &Problem) -> Record {
    let logs = reader.logs();
    let name = |log: u32| {
        let target = logs.get(log as usize).map_or("?", |it| it.listed.target.as_str());
        format!("log {log} on target {target}")
    };
    let (place, what) = match problem {
        Problem::MissingLog { log, why } => (name(*log), format!("it cannot be read: {why}")),
        Problem::DamagedSegment { log, position } => {
            (name(*log), format!("what it says from byte {position} on cannot be told"))
        }
        Problem::DamagedRecord { log, range, is_seen } => {
            let seen = if *is_seen { "damaged" } else { "damaged, and overwritten since" };
            (name(*log), format!("bytes {} to {} of the file: {seen}", range.start, range.end))
        }
        Problem::Dropped { log, range: Some(range) } => {
            let (start, end) = (range.start, range.end);
            (name(*log), format!("bytes {start} to {end} of the file: dropped, never durable"))
        }
        Problem::Dropped { log, range: None } => {
            (name(*log), "something was dropped that was never durable".into())
        }
        Problem::StrayBytes { bytes } => {
            ("anchor".into(), format!("a program wrote {bytes} bytes past the container"))
        }
    };
    Record::new().text("where", "where", place).text("problem", "problem", what)
}
