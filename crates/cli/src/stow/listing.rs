//! `plimsoll stow ls` and `stat`: containers as the files that they are.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use plimsoll_guarded::Directory;
use plimsoll_process::memory_limit;
use plimsoll_report::Record;
use plimsoll_stow::{ANCHOR, Container, InVain, Reader, StowError, Target};
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

use super::info::{LOGS, SIZE};
use super::targets::LogTargets;
use crate::output::Output;

/// The part of this program's memory that one of many containers takes at most: putting its records in order takes as much again.
const MEMORY_PART: u64 = 8;

/// List a directory, with containers as files
#[derive(clap::Args)]
#[command(before_help = "Example:\n  plimsoll stow ls results/")]
pub struct Arguments {
    /// The directory [default: this one]
    directory: Option<PathBuf>,

    #[command(flatten)]
    targets: LogTargets,
}

/// Show size, owner, rights and times of containers
#[derive(clap::Args)]
#[command(before_help = "Example:\n  plimsoll stow stat big")]
pub struct StatArguments {
    /// The containers
    #[arg(required = true, value_name = "CONTAINER")]
    containers: Vec<PathBuf>,

    #[command(flatten)]
    targets: LogTargets,
}

pub fn run(arguments: &Arguments, output: Output) -> Result<ExitCode> {
    let targets = arguments.targets.if_named()?;
    let path = arguments.directory.as_deref().unwrap_or(Path::new("."));
    let failed = || format!("cannot list {}", path.display());
    let directory = Directory::open(path).with_context(failed)?;
    let mut rows = Vec::new();
    let mut looks = Looks::default();
    for name in directory.names().with_context(failed)? {
        let Ok(facts) = directory.facts_of(&name) else { continue };
        let row = Record::new().text("name", "name", name.to_string_lossy());
        let kind = FileType::from_raw_mode(facts.st_mode);
        rows.push(match kind {
            FileType::Directory => match looks.at(&directory, &name, &targets) {
                Ok(Some(reader)) if !reader.is_whole() => {
                    without_size(row, "container, not all of which can be read")
                }
                Ok(Some(reader)) => row
                    .text("kind", "kind", "container")
                    .number(&SIZE, reader.size())
                    .number(&LOGS, reader.log_count() as u64),
                Ok(None) => without_size(row, "directory"),
                // Others in the directory are listed all the same.
                Err(StowError::Held { holder, .. }) => {
                    without_size(row, &format!("container, held by {holder}"))
                }
                Err(error) => without_size(row, without_size_as(&error)),
            },
            FileType::RegularFile => {
                let row =
                    row.text("kind", "kind", "file").number(&SIZE, facts.st_size.cast_unsigned());
                row.number(&LOGS, None::<u64>)
            }
            _ => without_size(row, "other"),
        });
    }
    let record = Record::new().rows("entries", "entries", rows);
    output.print("stow.ls", &path.display().to_string(), &record)?;
    Ok(ExitCode::SUCCESS)
}

/// Looks at many containers, which may be anybody's.
#[derive(Default)]
struct Looks {
    /// One was held by somebody, who may hold all of them.
    has_waited: bool,
    in_vain: InVain,
}

impl Looks {
    /// Opens the container of that name; `None` if it is another directory, or if another user serves it.
    fn at(
        &mut self,
        directory: &Directory,
        name: &OsStr,
        targets: &[Target],
    ) -> Result<Option<Reader>, StowError> {
        let begun = Instant::now();
        let looked = container_in(directory, name, targets, self);
        match looked {
            Err(StowError::Held { .. }) => self.has_waited = true,
            Err(_) => self.in_vain.note(begun.elapsed()),
            Ok(_) => self.in_vain.note_seen(begun.elapsed()),
        }
        looked
    }
}

fn container_in(
    directory: &Directory,
    name: &OsStr,
    targets: &[Target],
    looks: &Looks,
) -> Result<Option<Reader>, StowError> {
    let Ok(child) = directory.child(name) else { return Ok(None) };
    let failed =
        |cause| StowError::System { what: "read", path: directory.path().join(name), cause };
    if !Container::is_in(&child).map_err(failed)? {
        return Ok(None);
    }
    let container = Container::open_in(child, targets)?.within_limits();
    // Of many, one may be of anybody, and of any size.
    let memory = memory_limit().map_or(u64::MAX, |it| it as u64) / MEMORY_PART;
    let memory = container.memory_max().min(memory);
    let container = container.within_memory(memory);
    let container = if looks.has_waited { container.without_waiting() } else { container };
    let container = match container.is_strangers() {
        true => container.within_time(looks.in_vain.next_look()),
        false => container,
    };
    Reader::open(Arc::new(container)).map(Some)
}

/// Says what a container is that cannot be looked at.
fn without_size_as(error: &StowError) -> &'static str {
    match error.errno() {
        Errno::FBIG => "container, which takes too much memory here",
        Errno::TIMEDOUT => "container, which takes too long to look at",
        _ => "damaged container",
    }
}

fn without_size(row: Record, kind: &str) -> Record {
    row.text("kind", "kind", kind).number(&SIZE, None::<u64>).number(&LOGS, None::<u64>)
}

pub fn stat(arguments: &StatArguments, output: Output) -> Result<ExitCode> {
    let targets = arguments.targets.if_named()?;
    let (mut cards, mut unknown) = (Vec::new(), Vec::new());
    for path in &arguments.containers {
        let reader = super::open(path, &targets)?;
        let size = reader.known_size();
        let anchor = reader.container().directory().facts_of(ANCHOR);
        let anchor = anchor.with_context(|| format!("cannot look at {}", path.display()))?;
        cards.push(facts_of(path, size.as_ref().ok().copied(), reader.log_count(), &anchor));
        unknown.extend(size.err());
    }
    let record = Record::new().rows("containers", "containers", cards);
    let record = unknown.iter().fold(record, |record, error| record.note(error.to_string()));
    output.print("stow.stat", "containers", &record)?;
    Ok(if unknown.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn facts_of(path: &Path, size: Option<u64>, logs: usize, anchor: &Stat) -> Record {
    Record::new()
        .text("path", "path", path.display().to_string())
        .number(&SIZE, size)
        .number(&LOGS, logs as u64)
        .text("mode", "mode", format!("{:04o}", anchor.st_mode & 0o7777))
        .text("owner", "owner", anchor.st_uid.to_string())
        .text("group", "group", anchor.st_gid.to_string())
}
