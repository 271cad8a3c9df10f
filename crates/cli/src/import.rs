//! `plimsoll import`: histories of other programs, as samples of a store.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use plimsoll_domain::Nanos;
use plimsoll_guarded::read_small;
use plimsoll_history::GAP_MILLIS;
use plimsoll_import::{
    ImportError, Mapping, Note, Options, Outcome, TimeRange, Zone, import, import_from_prometheus,
};
use plimsoll_report::{Record, numbers};

use crate::output::{self, Output};
use crate::{failure, now, value};

/// Take histories of other programs into a store
///
/// TOKIO's HDF5, pyLMT's HDF5 (.h5lmt), LMT's databases (1.1, in SQLite or as mysqldump wrote them), tables (CSV, Parquet) and answers of Prometheus are recognised by what is in them, whatever their names are. What is
/// certainly wrong in them is repaired, what is missing or impossible is left out, and both are told with counts. A file that cannot be read to its end leaves the
/// store as it was; importing a file again changes nothing.
#[derive(clap::Args)]
#[command(
    before_help = "Examples:\n  \
        plimsoll import edison/*.hdf5 --store history --cluster edison\n  \
        plimsoll import lmt.sqlite3 --store history --time-zone America/Los_Angeles\n  \
        plimsoll import filesystem_scratch.sql.gz --store history --time-zone Europe/Berlin\n  \
        plimsoll import 2018-01-28.h5lmt --store history --json\n  \
        plimsoll import disks.csv --store history --mapping disks.toml\n  \
        plimsoll import http://localhost:9090 --since 2026-11-01 --step 15s --mapping node.toml --store history",
    after_help = "A monitor may write to the store at the same time; the last minute is left to it. docs/import.md says what is taken from each format."
)]
pub struct Arguments {
    /// Files to import, or addresses of a Prometheus (http://HOST:PORT)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Directory that keeps the history; it is made if it is not there
    #[arg(long, value_name = "DIR")]
    store: PathBuf,

    /// Name of the cluster or site that the files are of
    #[arg(long, value_name = "NAME", default_value = "")]
    cluster: String,

    /// What columns of tables, or metrics and labels, mean (TOML; docs/import.md), where their names do not say it
    #[arg(long, value_name = "FILE")]
    mapping: Option<PathBuf>,

    /// Where the clock was whose times have no zone (LMT's, and some tables'): Europe/Berlin, UTC, +02:00
    #[arg(long, value_name = "ZONE", value_parser = zone)]
    time_zone: Option<Zone>,

    /// Ask a Prometheus from this moment on: 2026-11-16T00:00:00Z, 2026-11-16, or seconds since 1970
    #[arg(long, value_name = "TIME", value_parser = value::moment_millis)]
    since: Option<u64>,

    /// Ask a Prometheus up to this moment; up to now if it is not given
    #[arg(long, value_name = "TIME", value_parser = value::moment_millis)]
    until: Option<u64>,

    /// How far apart samples of a Prometheus are to be: what it samples at, or more
    #[arg(long, value_name = "TIME", default_value = "1min")]
    step: Nanos,
}

impl Arguments {
    /// Returns what a Prometheus is asked for.
    fn range(&self, now: u64) -> Result<TimeRange> {
        let since = self.since.context(
            "a Prometheus is asked for some time only; hint: say since when, as in --since 2026-11-16",
        )?;
        let step = u32::try_from(self.step.get() / 1_000_000).ok().filter(|it| *it > 0);
        let step = step.context("--step is to be a millisecond at least, and a month at most")?;
        Ok(TimeRange { since, until: self.until.unwrap_or(now), step })
    }

    /// Imports a file, or what an address has.
    fn import(&self, path: &Path, options: &Options, now: u64) -> Result<Outcome, Failure> {
        let address = path.to_str().filter(|it| it.contains("://"));
        Ok(match address {
            Some(url) if url.starts_with("http") => {
                let range = self.range(now).map_err(Failure::Use)?;
                import_from_prometheus(url, &range, &self.store, options)?
            }
            Some(url) if url.starts_with("mysql://") || url.starts_with("mariadb://") => {
                from_mariadb(url, &self.store, options)?
            }
            _ => import(path, &self.store, options)?,
        })
    }
}

/// Imports LMT's database from where it is.
#[cfg(feature = "mariadb")]
fn from_mariadb(url: &str, store: &Path, options: &Options) -> Result<Outcome, ImportError> {
    // As MariaDB's own programs take it.
    let password = std::env::var("MYSQL_PWD").ok();
    plimsoll_import::import_from_mariadb(url, password.as_deref(), store, options)
}

#[cfg(not(feature = "mariadb"))]
fn from_mariadb(url: &str, _: &Path, _: &Options) -> Result<Outcome, ImportError> {
    let reason = "this program was built without MariaDB; hint: import what mysqldump writes, or build it with --features mariadb".into();
    Err(ImportError::Content { path: url.into(), reason })
}

/// Why nothing was imported.
enum Failure {
    /// What was asked for is wrong, whatever the files are.
    Use(anyhow::Error),
    Import(ImportError),
}

impl From<ImportError> for Failure {
    fn from(error: ImportError) -> Self {
        Failure::Import(error)
    }
}

fn zone(text: &str) -> Result<Zone, String> {
    Zone::named(text)
        .map_err(|_| "is no time zone; write it like Europe/Berlin, UTC or +02:00".to_owned())
}

numbers! {
    SAMPLES = "samples", "new samples", Count, "Samples of a file that the store has now and did not have before.", "the file";
    ALREADY_THERE = "already_there", "there already", Count, "Samples of a file that the store had, with the same value.", "the file and the store";
    DIFFERING = "differing", "differing", Count, "Samples of a file that were left out, because the store had other ones for some of their time.", "the file and the store";
    OVERLAPPING = "overlapping", "overlapping", Count, "Samples of a file that were left out, because they overlap earlier ones of the same file.", "the file";
    TOO_LATE = "too_late", "of the present", Count, "Samples of a file that were left out, because they end in the future or within the last minute.", "the file and the clock";
    DAYS = "days", "days", Count, "Days of the store (UTC) to which samples of a file were added.", "the store";
    COUNT = "count", "count", Count, "How often something was found in the files: datasets, columns, steps, rows or samples, as the words beside it say.", "the files";
    FILES = "files", "files", Count, "Files in which it was found.", "the files";
}

/// Reads what columns mean.
fn mapping(path: &Path) -> Result<Mapping> {
    let text = read_small(path).with_context(|| format!("cannot read {}", path.display()))?;
    Mapping::parse(&text)
        .map_err(|reason| anyhow!("cannot understand {}: {reason}", path.display()))
}

pub fn run(arguments: &Arguments, output: Output) -> Result<ExitCode> {
    let now = now::nanoseconds() / 1_000_000;
    let options = Options {
        cluster: arguments.cluster.clone(),
        zone: arguments.time_zone.clone(),
        mapping: arguments.mapping.as_deref().map(mapping).transpose()?.unwrap_or_default(),
        until: Some(now.saturating_sub(GAP_MILLIS)),
    };
    let mut outcomes = Vec::new();
    let mut failures = 0;
    for path in &arguments.files {
        match arguments.import(path, &options, now) {
            Ok(outcome) => outcomes.push((path.as_path(), outcome)),
            Err(Failure::Use(error)) => return Err(error),
            // The store is to blame: the other files would fail in the same way.
            Err(Failure::Import(error @ ImportError::Store(_))) => return Err(error.into()),
            Err(Failure::Import(error)) if arguments.files.len() == 1 => return Err(error.into()),
            Err(Failure::Import(error)) => {
                failures += 1;
                output::message(&format!("error: {error}"));
            }
        }
    }
    if !outcomes.is_empty() {
        let title = format!("imported to {}", arguments.store.display());
        output.print("import", &title, &record(&outcomes))?;
    }
    match failures {
        0 => Ok(ExitCode::SUCCESS),
        _ => Ok(failure::of_command(&anyhow!(
            "{failures} of {} files were not imported; hint: the lines above say why, and importing all of them again changes nothing else",
            arguments.files.len()
        ))),
    }
}

fn record(outcomes: &[(&Path, Outcome)]) -> Record {
    let name = |path: &Path| path.to_string_lossy().into_owned();
    let files = outcomes.iter().map(|(path, outcome)| {
        let imported = &outcome.imported;
        Record::new()
            .text("file", "file", name(path))
            .text("format", "format", &outcome.format)
            .number(&SAMPLES, imported.samples)
            .number(&ALREADY_THERE, imported.already_there)
            .number(&DIFFERING, imported.differing)
            .number(&OVERLAPPING, imported.overlapping)
            .number(&TOO_LATE, imported.too_late)
            .number(&DAYS, imported.days)
    });
    let notes = all_notes(outcomes).into_iter().map(|(note, files)| {
        Record::new()
            .text("kind", "", note.kind.name())
            .text("what", "what", &note.what)
            .number(&COUNT, note.count)
            .number(&FILES, files)
    });
    Record::new().rows("files", "files", files.collect()).rows(
        "notes",
        "what was found in them",
        notes.collect(),
    )
}

/// Returns the notes on all files, equal ones once with the sum of their counts, and the number of files that they are of.
fn all_notes(outcomes: &[(&Path, Outcome)]) -> Vec<(Note, u64)> {
    let mut all: Vec<(Note, u64)> = Vec::new();
    for note in outcomes.iter().flat_map(|(_, outcome)| &outcome.notes) {
        match all.iter_mut().find(|it| it.0.kind == note.kind && it.0.what == note.what) {
            Some((known, files)) => {
                known.count += note.count;
                *files += 1;
            }
            None => all.push((note.clone(), 1)),
        }
    }
    all.sort_by_key(|it| it.0.kind);
    all
}
