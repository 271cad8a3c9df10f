//! `plimsoll stow check`: whether all that was written can be read.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::{Result, ensure};
use plimsoll_report::Record;
use plimsoll_stow::{Container, Problem, Reader, check, remove_index, repair};

use super::info::{CHECKED, PROBLEMS, REPAIRED, SIZE};
use super::orphans::{self, Removal};
use super::targets::LogTargets;
use super::with_hint;
use crate::output::Output;
use crate::progress::Progress;

/// Compare records with their checksums, or find logs without a container
///
/// Ends with 0 when everything is as it should be, and with 1 when something was lost or damaged. --repair takes back what was
/// never durable when its node went down, so that it is not looked at again; what is damaged stays, and reading it fails.
///
/// With targets and no container, it looks on these for logs of yours whose container is gone, as after `rm -r`: neither where it was written
/// last, nor in the same directory, nor below the directories of --below. --repair asks for each whether to remove it; logs that were written to
/// less than a day ago, or of which nobody knows where their container was, stay. So do all while something there cannot be looked into, or others could
/// have hidden it: a directory of --below should be yours, with all that is in it.
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  \
    plimsoll stow check big\n  \
    plimsoll stow check big --repair\n  \
    plimsoll stow check --targets /mnt/ost0,/mnt/ost1 --below /scratch/me")]
pub struct Arguments {
    /// The container
    container: Option<PathBuf>,

    /// Take back what was never durable; without a container, remove logs whose container is gone
    #[arg(long)]
    repair: bool,

    /// Where containers may have been moved to
    #[arg(long, value_name = "DIR", conflicts_with = "container")]
    below: Vec<PathBuf>,

    /// Remove without asking
    #[arg(long, requires = "repair", conflicts_with = "container")]
    yes: bool,

    #[command(flatten)]
    targets: LogTargets,
}

pub fn run(arguments: &Arguments, output: Output) -> Result<ExitCode> {
    let targets = arguments.targets.if_named()?;
    let Some(container) = &arguments.container else {
        ensure!(
            !targets.is_empty(),
            "which container? hint: or --targets DIR,... to look for logs without one"
        );
        let removal = match (arguments.repair, arguments.yes) {
            (false, _) => Removal::None,
            (true, false) => Removal::Asked,
            (true, true) => Removal::Told,
        };
        return orphans::run(&targets, &arguments.below, removal, output);
    };
    let open = if arguments.repair { Container::open } else { Container::open_to_read };
    let opened = open(container, &targets).map_err(with_hint)?;
    let reader = Reader::open_scanned(Arc::new(opened)).map_err(with_hint)?;
    let total = reader.records().iter().map(|it| u64::from(it.length)).sum();
    let progress = Progress::new("checking", total);
    let mut tell = |bytes| {
        progress.done.fetch_add(bytes, Ordering::Relaxed);
    };
    let problems = check(&reader, &mut tell).map_err(with_hint)?;
    drop(progress);
    let repaired = match arguments.repair {
        true => {
            let repaired = repair(reader.container(), reader.troubles()).map_err(with_hint)?;
            let is_false = problems.contains(&Problem::Index);
            if is_false {
                remove_index(reader.container()).map_err(with_hint)?;
            }
            Some(repaired + usize::from(is_false))
        }
        false => None,
    };
    let rows = problems.iter().map(|it| row_of(&reader, it)).collect();
    let record = Record::new()
        .number(&SIZE, reader.known_size().ok())
        .number(&CHECKED, total)
        .number(&PROBLEMS, problems.len() as u64)
        .number(&REPAIRED, repaired.map(|it| it as u64))
        .rows("found", "found", rows);
    let title = format!("container {}", container.display());
    output.print("stow.check", &title, &record)?;
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn row_of(reader: &Reader, problem: &Problem) -> Record {
    let name = |log: u32| reader.name_of(log);
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
        Problem::Copy { original } => {
            let original = original.display();
            let what = format!("its logs are those of {original}: it can be read, and not written");
            ("container".into(), what)
        }
        Problem::Displaced { home } => {
            let what = format!(
                "its logs are those of a container that was at {}, and is not there any more, or nobody can look there",
                home.display()
            );
            ("container".into(), what)
        }
        Problem::Unnoted => (
            "container".into(),
            "nothing beside its logs says whose they are; --repair makes them its own".into(),
        ),
        Problem::Index => (
            "index".into(),
            "it says something else than the logs: programs read other bytes; --repair removes it"
                .into(),
        ),
        Problem::UsedUp => (
            "container".into(),
            "its stamps are used up: it can be read, and not written; plimsoll stow cp makes another one of it".into(),
        ),
        Problem::StrayBytes { bytes } => {
            ("anchor".into(), format!("a program wrote {bytes} bytes past the container"))
        }
    };
    Record::new().text("where", "where", place).text("problem", "problem", what)
}
