//! `plimsoll stow info` and `du`: what a container consists of.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use plimsoll_report::{Record, numbers};
use plimsoll_stow::{LogUse, Reader};

use super::targets::LogTargets;
use crate::output::Output;

numbers! {
    SIZE = "size", "size", ExactBytes, "Size of the file that a container holds; of a plain file, its own; missing while something that cannot be read may have given it another one.", "the container's segments";
    LOGS = "logs", "logs", Count, "Logs of a container: files on its targets.", "the manifest";
    SEGMENTS = "segments", "segments", Count, "Segments in these logs.", "the logs";
    RECORDS = "records", "records", Count, "Records in these segments, those included that later ones cover.", "the logs";
    PIECES = "pieces", "pieces", Count, "Parts of the file that come from one record or are one hole.", "the logs";
    INDEX_BYTES = "index_bytes", "index", Bytes, "Bytes that say where the data is: slot pages with their headers.", "the logs";
    MERGED_INDEX = "merged_index_bytes", "merged index", Bytes, "Bytes of the merged index, which readers open instead of the slot pages; missing if there is none that may be used.", "the container's index";
    OVERWRITTEN = "overwritten_bytes", "overwritten", Bytes, "Bytes of records that are not seen any more.", "the logs";
    LOST = "lost_bytes", "lost", Bytes, "Bytes of the file that cannot be read, as far as its size is known.", "the logs";
    IMBALANCE = "imbalance", "imbalance", Ratio, "Bytes of the file on the target that has most, divided by the mean over its targets; missing for an empty file.", "the logs";
    LOAD = "load", "load", Ratio, "Logs for each target in use (Wright 6.6 with logs in place of jobs); missing without logs.", "the manifest";
    BYTES = "bytes", "bytes", Bytes, "Bytes of the file that are read from a target.", "the logs";
    STORED = "stored_bytes", "stored", Bytes, "Bytes that the logs take on their target; missing if one cannot be read.", "the targets' file systems";
    COPIED = "copied_bytes", "copied", ExactBytes, "Bytes that were copied.", "the command";
    FREED = "freed_bytes", "freed", Bytes, "Bytes of segments that were given back.", "the command";
    KEPT = "kept_bytes", "kept", Bytes, "Bytes of segments that were left as they are.", "the command";
    TARGETS = "targets", "targets", Count, "Targets that a container may use, or uses.", "the command, or the manifest";
    PROBLEMS = "problems", "problems", Count, "Things that are not as they should be.", "the container";
    CHECKED = "checked_bytes", "checked", Bytes, "Bytes of records that were compared with their checksums.", "the logs";
    REMOVED = "removed", "removed", Count, "Directories of logs without a container that were removed.", "the targets";
    REPAIRED = "repaired", "repaired", Count, "Places in logs that were taken back because they were never durable, notes beside logs and a merged index that were put right; missing without --repair.", "the logs";
}

/// Show what a container consists of
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  \
    plimsoll stow info big\n  \
    plimsoll stow info big --json")]
pub struct Arguments {
    /// The container
    container: PathBuf,

    #[command(flatten)]
    targets: LogTargets,
}

/// Show how much room containers take on each target
#[derive(clap::Args)]
#[command(before_help = "Example:\n  plimsoll stow du big other")]
pub struct UsageArguments {
    /// The containers
    #[arg(required = true, value_name = "CONTAINER")]
    containers: Vec<PathBuf>,

    #[command(flatten)]
    targets: LogTargets,
}

pub fn run(arguments: &Arguments, output: Output) -> Result<ExitCode> {
    let reader = super::open_scanned(&arguments.container, &arguments.targets.if_named()?)?;
    let title = format!("container {}", arguments.container.display());
    let indexed = super::open(&arguments.container, &arguments.targets.if_named()?)?;
    let mut record = record_of(&reader, indexed.index().ok());
    if let Err(why) = indexed.index() {
        record = record.note(format!("no merged index is used: {why}"));
    }
    output.print("stow.info", &title, &record)?;
    Ok(ExitCode::SUCCESS)
}

pub fn usage(arguments: &UsageArguments, output: Output) -> Result<ExitCode> {
    let targets = arguments.targets.if_named()?;
    let mut rows = Vec::new();
    for path in &arguments.containers {
        let reader = super::open_scanned(path, &targets)?;
        for target in by_target(&reader.logs()) {
            rows.push(
                Record::new()
                    .text("container", "container", path.display().to_string())
                    .text("target", "target", target.name)
                    .number(&BYTES, target.live)
                    .number(&STORED, target.stored),
            );
        }
    }
    output.print("stow.du", "room", &Record::new().rows("targets", "targets", rows))?;
    Ok(ExitCode::SUCCESS)
}

fn record_of(reader: &Reader, merged_index: Option<u64>) -> Record {
    let logs = reader.logs();
    let targets = by_target(&logs);
    let total = |count: fn(&LogUse) -> u64| logs.iter().map(count).sum::<u64>();
    let live = total(|it| it.live);
    let written: u64 = reader.records().iter().map(|it| u64::from(it.length)).sum();
    let most = targets.iter().map(|it| it.live).max().unwrap_or(0);
    let mean = live as f64 / targets.len().max(1) as f64;
    let lost = reader.lost();
    let mut record = Record::new()
        .text("id", "id", reader.container().id().to_string())
        .number(&SIZE, reader.known_size().ok())
        .number(&LOGS, logs.len() as u64)
        .number(&SEGMENTS, total(|it| it.segments))
        .number(&RECORDS, reader.records().len() as u64)
        .number(&PIECES, reader.pieces().count() as u64)
        .number(&INDEX_BYTES, total(|it| it.index))
        .number(&MERGED_INDEX, merged_index)
        .number(&OVERWRITTEN, written - live)
        .number(&LOST, lost.iter().map(|(range, _)| range.end - range.start).sum::<u64>())
        .number(&IMBALANCE, (live > 0).then(|| most as f64 / mean))
        .number(&LOAD, (!logs.is_empty()).then(|| logs.len() as f64 / targets.len() as f64))
        .rows("targets", "targets", targets.iter().map(TargetUse::row).collect());
    for log in logs.iter().filter(|it| it.missing.is_some()) {
        let (number, target) = (log.listed.number, &log.listed.target);
        let why = log.missing.unwrap_or_default();
        record = record.note(format!("log {number} on target {target} cannot be read: {why}"));
    }
    record
}

/// What a container has on a target.
struct TargetUse {
    name: String,
    path: PathBuf,
    logs: u64,
    live: u64,
    /// `None` if a log cannot be read.
    stored: Option<u64>,
}

impl TargetUse {
    fn row(&self) -> Record {
        Record::new()
            .text("name", "name", self.name.clone())
            .text("path", "path", self.path.display().to_string())
            .number(&LOGS, self.logs)
            .number(&BYTES, self.live)
            .number(&STORED, self.stored)
    }
}

fn by_target(logs: &[LogUse]) -> Vec<TargetUse> {
    let mut targets: BTreeMap<&str, TargetUse> = BTreeMap::new();
    for log in logs {
        let used = targets.entry(&log.listed.target).or_insert_with(|| TargetUse {
            name: log.listed.target.clone(),
            path: log.listed.path.clone(),
            logs: 0,
            live: 0,
            stored: Some(0),
        });
        used.logs += 1;
        used.live += log.live;
        used.stored = used.stored.zip(log.stored).map(|(sum, more)| sum + more);
    }
    targets.into_values().collect()
}
