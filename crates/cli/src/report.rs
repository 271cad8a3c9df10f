//! `plimsoll report`: what a program did with its files, and why it was slow; what a benchmark
//! measured.

pub mod results;
pub mod source;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Result, bail, ensure};
use plimsoll_explain::SUMMARY_BYTES_MAX;
use plimsoll_figures::recordings::{self, Explained};
use plimsoll_guarded::Readers;
use plimsoll_measures::Results;
use plimsoll_report::html::Severity;

use crate::known_placement;
use crate::new_file::{NewFile, Replacing};
use crate::newest;
use crate::open_input::{OpenInput, readers_of_results};
use crate::output::Output;
use crate::part::Part;
use crate::parts_directory::{self, PartsOptions};

pub use plimsoll_figures::recordings::NUMBERS;

/// Explain a recording, or show what a benchmark measured
///
/// For a recording: the share of the run time spent in I/O, how fast the program read and wrote,
/// what to change, and where the time went. Reads and writes are separate, each on the layer that
/// moved most of the bytes. Perceived bandwidth is bytes over the wall time during which at least
/// one process is inside such a call; the time of writing includes the calls that make data durable
/// (fsync and similar calls, closing a written file), and data only excludes them. Effective
/// bandwidth is bytes over the sum of durations of all calls of a layer (Wright, section 4.2.1).
/// Findings come worst first, each with its evidence, its estimated cost in seconds and the exact
/// change to make. Files of the runtime (MPI's shared memory, libraries, byte code, locale) are
/// shown separately and not added up.
///
/// For the results of a benchmark: bandwidths by the parameter that was varied, with intervals; the
/// page has the figures of Xie (box plots, completion times, scores of targets and clients, stragglers).
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  \
    plimsoll report                       (the newest recording here)\n  \
    plimsoll report run1\n  \
    plimsoll report run1 --html run1.html\n  \
    plimsoll report run1 --json\n  \
    plimsoll report run1 --fail-on medium\n  \
    plimsoll report run1 --save-summary run1.summary   (small; later: plimsoll report run1.summary)\n  \
    srun plimsoll report run1 --into parts   (very many processes: each task reads some of them; then:)\n  \
    plimsoll report --merge parts\n  \
    plimsoll report results --html results.html   (a directory that plimsoll bench wrote)")]
pub struct Arguments {
    /// The recording, summaries of all its parts, or the results of a benchmark [default: the newest recording here]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Also draw the report into this file: one HTML page that works offline
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    #[command(flatten)]
    replacing: Replacing,

    /// Rows of each table
    #[arg(long, value_name = "N", default_value = "15", value_parser = crate::value::count)]
    top: u64,

    /// For recordings: count files of the runtime (MPI's shared memory, libraries, byte code, locale) as the program's own
    #[arg(long)]
    include_runtime: bool,

    /// For recordings: also keep in this file what the report is made of; report and compare read it in place of the recording
    #[arg(long, value_name = "FILE")]
    save_summary: Option<PathBuf>,

    #[command(flatten)]
    division: PartsOptions,

    /// For recordings: exit with status 1 if there is a finding of at least this severity
    #[arg(long, value_enum)]
    fail_on: Option<SeverityArgument>,
}

/// Of reports of recordings. 2: bandwidths of reads and of writes apart, files of the runtime
/// apart, shares of run time.
const SCHEMA_VERSION: u32 = 2;

#[derive(Clone, Copy, clap::ValueEnum)]
enum SeverityArgument {
    Low,
    Medium,
    High,
}

pub fn run(arguments: &Arguments, output: Output) -> Result<ExitCode> {
    let create = |path, readers| arguments.replacing.create_from(path, readers);
    let html = |readers| arguments.html.as_deref().map(|it| create(it, readers)).transpose();
    let paths = match (arguments.paths.as_slice(), arguments.division.merged()) {
        ([], None) => vec![newest::recording()?],
        (paths, None) => paths.to_vec(),
        ([], Some(directory)) => {
            parts_directory::open(directory)?.into_iter().map(|it| it.1).collect()
        }
        (_, Some(_)) => bail!("--merge takes what the directory has; hint: name no recording"),
    };
    let part = arguments.part()?;
    if let Some(directory) = paths.iter().find(|path| Results::is_results(path)) {
        arguments.require_only_results(directory)?;
        let html = html(readers_of_results(&paths))?;
        let rows = usize::try_from(arguments.top)?;
        results::run(directory, html, rows, output)?;
        return Ok(ExitCode::SUCCESS);
    }
    let sources: Vec<OpenInput> =
        paths.iter().map(|path| OpenInput::open(path)).collect::<Result<_>>()?;
    let readers = sources.iter().map(OpenInput::readers).fold(Readers::Everyone, Readers::and);
    let mut html = html(readers)?;
    let summary = arguments.save_summary.as_deref().map(|it| create(it, readers)).transpose()?;
    let left = match part {
        Some((part, Some(into))) => {
            Some(parts_directory::create(into, part, readers, &arguments.replacing)?)
        }
        _ => None,
    };
    let mut files: Vec<NewFile> = summary.into_iter().chain(left).collect();
    let gathered = source::gather(sources, arguments.include_runtime, part.map(|it| it.0))?;
    for file in files.iter_mut().chain(&mut html) {
        file.narrow(gathered.recording().readers());
    }
    if !files.is_empty() {
        let bytes = gathered.to_bytes();
        ensure!(
            bytes.len() as u64 <= SUMMARY_BYTES_MAX,
            "the summary would have {} bytes, and none of more than {SUMMARY_BYTES_MAX} is read; \
             hint: report the recording itself",
            bytes.len()
        );
        files.into_iter().try_for_each(|file| file.write(&bytes))?;
    }
    let recording = Arc::clone(gathered.recording());
    let title = format!("recording {}", recording.directory().display());
    if part.is_some() {
        output.print("summary", &title, &recordings::part(&gathered))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut analysis = gathered.finish()?;
    analysis.placement = known_placement::of(&analysis);
    let explained = Explained::new(&recording, &analysis);
    // Programs get every row; people get those that matter.
    let rows = if output.json { usize::MAX } else { usize::try_from(arguments.top)? };
    let record = explained.record(rows);
    if let Some(file) = html {
        file.write(explained.page(&title).as_bytes())?;
    }
    output.print_version("report", SCHEMA_VERSION, &title, &record)?;
    let is_worse = |least| explained.findings().iter().any(|it| it.severity >= severity(least));
    let fails = arguments.fail_on.is_some_and(is_worse);
    Ok(ExitCode::from(u8::from(fails)))
}

impl Arguments {
    /// Returns the part that is read, and the directory that it is left in, if it is one of several.
    fn part(&self) -> Result<Option<(Part, Option<&Path>)>> {
        let part = match (&self.save_summary, self.division.part_elsewhere()) {
            (Some(_), Some(part)) => Some((part, None)),
            _ => self.division.wanted()?.map(|(part, into)| (part, Some(into))),
        };
        if part.is_some() && (self.html.is_some() || self.fail_on.is_some()) {
            bail!(
                "--html and --fail-on are for the whole, not for a part of it; hint: give them with --merge"
            );
        }
        Ok(part)
    }

    /// Fails if something is wanted of results that only recordings have.
    fn require_only_results(&self, results: &Path) -> Result<()> {
        let options = [
            ("--fail-on", self.fail_on.is_some()),
            ("--save-summary", self.save_summary.is_some()),
            ("--include-runtime", self.include_runtime),
            ("--part or --into", self.part()?.is_some()),
        ];
        if let Some((option, _)) = options.iter().find(|(_, is_given)| *is_given) {
            bail!("{option} is for recordings; {} holds results", results.display());
        }
        if self.paths.len() > 1 {
            bail!("{} holds results, which are reported alone", results.display());
        }
        Ok(())
    }
}

fn severity(argument: SeverityArgument) -> Severity {
    match argument {
        SeverityArgument::Low => Severity::Low,
        SeverityArgument::Medium => Severity::Medium,
        SeverityArgument::High => Severity::High,
    }
}
