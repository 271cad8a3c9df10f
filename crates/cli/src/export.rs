//! `plimsoll export`: a recording for other tools.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use plimsoll_explain::{ExplainError, Recording, is_process_file};
use plimsoll_export::{Exported, FILES_MAX, chunks, write_parquet, write_perfetto};
use plimsoll_guarded::{Directory, Readers};
use plimsoll_report::{Record, numbers};

use crate::harmless::Harmless;
use crate::new_file::Replacing;
use crate::newest;
use crate::output::{self, Output};
use crate::progress::Progress;

/// Write every call of a recording to a file for other tools
///
/// parquet: one row for each call, for pandas, Polars, DuckDB and similar tools: process, pid, rank,
/// host, thread, layer, operation, file, offset, length, bytes, errno, argument, start_ns (since
/// the beginning of the recording, on one timeline for all processes), duration_ns, depth (0
/// for calls of the program itself). Facts about the recording are in the file's metadata.
///
/// perfetto: a trace to view, with a track for each thread and the POSIX calls inside the MPI
/// calls that made them. Open it at https://ui.perfetto.dev, which draws it in the browser and
/// uploads nothing. It handles a few million calls; for more, use parquet.
///
/// If only you can read the recording, only you can read the file.
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  \
    plimsoll export                       (the newest recording here, to Parquet)\n  \
    plimsoll export run1 --to parquet\n  \
    plimsoll export run1 --to perfetto -o trace.json\n  \
    plimsoll export run1 --to perfetto -o - | gzip > trace.json.gz\n  \
    duckdb -c \"select operation, count(*), sum(bytes) from 'run1.parquet' group by all\"")]
pub struct Arguments {
    /// The recording [default: the newest here]
    recording: Option<PathBuf>,

    /// What to write
    #[arg(long, value_enum, default_value = "parquet")]
    to: ExportFormat,

    /// File to write, or - for stdout (perfetto) [default: RECORDING.parquet or RECORDING.perfetto.json]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    replacing: Replacing,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum ExportFormat {
    /// A table with one row for each call
    Parquet,
    /// A trace for https://ui.perfetto.dev
    Perfetto,
}

numbers! {
    CALLS = "calls", "calls", Count, "Calls that were written, nested ones included: rows of the Parquet file, slices of the Perfetto trace.", "the recording";
    FILE_BYTES = "file_bytes", "size of the file", Bytes, "Size of the file that was written; missing where it is no regular file.", "the file system";
}

pub fn run(arguments: &Arguments, output: Output) -> Result<ExitCode> {
    let source = match &arguments.recording {
        Some(path) => path.clone(),
        None => newest::recording()?,
    };
    let directory = Directory::open(&source)
        .map_err(|cause| ExplainError::Directory { directory: source.clone(), cause })?;
    let readers = Readers::of(&directory);
    let recording = Recording::read_with_limit(directory, FILES_MAX)?;
    if arguments.output.as_deref() == Some(Path::new("-")) {
        return to_stdout(&recording, arguments.to, output);
    }
    let path = match &arguments.output {
        Some(path) => path.clone(),
        None => default_path(&source, arguments.to)?,
    };
    ensure!(
        !is_in(&path, &source),
        "{} is a file of the recording itself; hint: give another name with -o FILE",
        path.display()
    );
    let mut file = arguments.replacing.create_from(&path, readers.and(recording.readers()))?;
    let exported = export(&recording, arguments.to, &mut file)
        .with_context(|| format!("cannot write {}", path.display()))?;
    file.finish()?;
    warn(&exported);
    let size = fs::metadata(&path).ok().filter(|it| it.is_file()).map(|it| it.len());
    let record = Record::new()
        .text("file", "file", path.to_string_lossy())
        .number(&CALLS, exported.calls)
        .number(&FILE_BYTES, size);
    let record = match arguments.to {
        ExportFormat::Perfetto if !output.json => record.note("open it at https://ui.perfetto.dev"),
        _ => record,
    };
    let title = format!("recording {}", source.display());
    output.print("export", &title, &record)?;
    Ok(ExitCode::SUCCESS)
}

fn to_stdout(recording: &Recording, format: ExportFormat, output: Output) -> Result<ExitCode> {
    ensure!(
        format == ExportFormat::Perfetto,
        "a Parquet file cannot go to stdout; hint: give a name with -o FILE"
    );
    ensure!(!output.json, "--json and -o - both want stdout; hint: give a name with -o FILE");
    let exported = export(recording, format, Harmless::json(std::io::stdout()))
        .context("cannot write to stdout")?;
    warn(&exported);
    Ok(ExitCode::SUCCESS)
}

fn export(
    recording: &Recording,
    format: ExportFormat,
    output: impl Write + Send,
) -> io::Result<Exported> {
    let progress = Progress::new("exporting", chunks(recording));
    match format {
        ExportFormat::Parquet => write_parquet(recording, output, &progress.done),
        ExportFormat::Perfetto => write_perfetto(recording, output, &progress.done),
    }
}

fn warn(exported: &Exported) {
    for warning in &exported.warnings {
        output::message(&format!("warning: {warning}"));
    }
}

/// Beside the recording, with its name.
fn default_path(recording: &Path, format: ExportFormat) -> Result<PathBuf> {
    let recording = match recording.file_name() {
        Some(_) => recording.to_path_buf(),
        // "." and ".." have a name elsewhere.
        None => Directory::hold_unserved_with_path(recording)
            .map(|(_, real)| real)
            .with_context(|| format!("cannot find the recording {}", recording.display()))?,
    };
    let Some(name) = recording.file_name() else {
        bail!(
            "{} has no name to call a file after; hint: give one with -o FILE",
            recording.display()
        );
    };
    let mut name = name.to_os_string();
    name.push(match format {
        ExportFormat::Parquet => ".parquet",
        ExportFormat::Perfetto => ".perfetto.json",
    });
    Ok(recording.with_file_name(name))
}

/// Returns true for a name that would count as a file of the recording.
fn is_in(path: &Path, recording: &Path) -> bool {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let real = |path: &Path| Directory::hold_unserved_with_path(path).map(|(_, real)| real);
    let is_same = match (real(folder), real(recording)) {
        (Ok(folder), Ok(recording)) => folder == recording,
        _ => false,
    };
    is_same && is_process_file(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_called_after_the_recording_and_beside_it() {
        let path = |recording: &str, format| default_path(Path::new(recording), format).unwrap();
        assert_eq!(path("runs/run1/", ExportFormat::Parquet), Path::new("runs/run1.parquet"));
        assert_eq!(path("run1.x", ExportFormat::Perfetto), Path::new("run1.x.perfetto.json"));
        let here = std::env::current_dir().unwrap();
        let name = format!("{}.parquet", here.file_name().unwrap().to_string_lossy());
        assert_eq!(path(".", ExportFormat::Parquet), here.with_file_name(name));
        assert!(default_path(Path::new("/"), ExportFormat::Parquet).is_err());
    }
}
