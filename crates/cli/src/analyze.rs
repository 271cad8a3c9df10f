//! `plimsoll analyze`: what a long history says.

mod compare;
mod parts;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::available_parallelism;

use anyhow::{Context, Result, bail};
use plimsoll_analyze::{
    Analysis, Beside, BesidePart, Frame, Merged, Options, Wanted, Whole, Zone, summarize,
};
use plimsoll_domain::BytesPerSec;
use plimsoll_domain::site::SiteFile;
use plimsoll_figures::analyzed::{self, Part};
use plimsoll_guarded::Readers;
use plimsoll_history::{Component, Store};

use crate::argument::argument;
use crate::found_site;
use crate::known_costs::KnownCosts;
use crate::new_file::NewFile;
use crate::output::Output;
use crate::parts_directory::{self, PartsOptions};
use crate::shown::Shown;
use crate::value;

pub use plimsoll_figures::analyzed::NUMBERS;

/// Say what a long history of storage shows: totals, bursts, hours, phases, balance
///
/// Samples become minutes, outages are set apart, and the questions of Patel and others (2019) are answered for this storage: what is read and
/// written and how unevenly over time and over targets, whether it recurs, and whether it tells what comes. docs/analyze.md has the definitions.
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  \
    plimsoll analyze --store history\n  \
    plimsoll analyze --store history summary\n  \
    plimsoll analyze --store history --html history.html\n  \
    plimsoll analyze --store history system targets --json\n  \
    plimsoll analyze --store history --since 2026-01-01 --until 2026-02-01 --zone Europe/Berlin\n  \
    plimsoll analyze --store history --compare 2026-01 2026-02\n  \
    srun plimsoll analyze --store history --into parts   (each task a part; then:)\n  \
    plimsoll analyze --merge parts --html history.html")]
pub struct Arguments {
    /// Only these parts
    #[arg(value_name = "PART", value_enum)]
    parts: Vec<PartArgument>,

    /// The history, a directory that `plimsoll monitor` writes
    #[arg(long, value_name = "DIR", required_unless_present_any = ["merge", "compare"], conflicts_with = "merge")]
    store: Option<PathBuf>,

    /// From this moment on: 2026-11-16T00:00:00Z, 2026-11-16, or seconds since 1970
    #[arg(long, value_name = "TIME", value_parser = value::moment_millis)]
    since: Option<u64>,

    /// Up to this moment
    #[arg(long, value_name = "TIME", value_parser = value::moment_millis)]
    until: Option<u64>,

    /// Only targets of this file system
    #[arg(long, value_name = "NAME")]
    file_system: Option<String>,

    /// Time zone of hours and days, by its name in the IANA's list: Europe/Berlin
    #[arg(long, value_name = "NAME", default_value = "UTC", value_parser = zone)]
    zone: Zone,

    /// What a target can read or write at most, like 5GiB/s: minutes with more are dropped
    #[arg(long, value_name = "RATE")]
    limit: Option<BytesPerSec>,

    /// A minute is high from this percentile of all minutes on
    #[arg(long, value_name = "PERCENT", default_value = "75", value_parser = percentile)]
    high_from: f64,

    /// A minute is low up to this percentile
    #[arg(long, value_name = "PERCENT", default_value = "25", value_parser = percentile)]
    low_to: f64,

    /// Seed of the random numbers that intervals are drawn with
    #[arg(long, value_name = "N", default_value = "1", value_parser = value::count)]
    seed: u64,

    /// Put two side by side: two histories, or two months (2026-01) or file systems of --store
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with_all = ["merge", "into", "part", "parts"])]
    compare: Option<Vec<String>>,

    #[command(flatten)]
    shown: Shown,

    #[command(flatten)]
    division: PartsOptions,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum PartArgument {
    /// What became of the samples, outages
    Cleaning,
    /// All targets together: totals, their ratio, distributions
    System,
    /// Hours of the day and days of the week
    Time,
    /// High and low activity: how long and how often
    Phases,
    /// Whether activity tells what comes
    Prediction,
    /// Each target
    Targets,
    /// Imbalance and parallelism of targets
    Space,
    /// Files opened and closed
    Metadata,
    /// Processors of servers
    Servers,
    /// How busy file systems were, where operations are counted
    Utilization,
    /// Which jobs made the load, where targets count by job
    Jobs,
    /// Hot targets, daily jobs, forecasts
    Findings,
    /// The questions of the paper, answered in words
    Summary,
}

impl PartArgument {
    fn part(self) -> Part {
        match self {
            PartArgument::Cleaning => Part::Cleaning,
            PartArgument::System => Part::System,
            PartArgument::Time => Part::Time,
            PartArgument::Phases => Part::Phases,
            PartArgument::Prediction => Part::Prediction,
            PartArgument::Targets => Part::Targets,
            PartArgument::Space => Part::Space,
            PartArgument::Metadata => Part::Metadata,
            PartArgument::Servers => Part::Servers,
            PartArgument::Utilization => Part::Utilization,
            PartArgument::Jobs => Part::Jobs,
            PartArgument::Findings => Part::Findings,
            PartArgument::Summary => Part::Summary,
        }
    }
}

pub fn run(arguments: &Arguments, output: Output) -> Result<ExitCode> {
    if arguments.low_to > arguments.high_from {
        bail!("--low-to is more than --high-from");
    }
    if let Some(directory) = arguments.division.merged() {
        let opened = parts_directory::open(directory)?;
        let html = arguments.shown.page(|| Ok(parts::readers(&opened)))?;
        let Merged { store, frame, whole, beside } = parts::merge(opened, &options(arguments))?;
        return arguments.show(&store, &frame, &whole, &beside, html, output);
    }
    if let Some([first, second]) = arguments.compare.as_deref() {
        compare::run(arguments, [first, second], output)?;
        return Ok(ExitCode::SUCCESS);
    }
    let path = arguments.store.as_deref().context("no history is given; hint: --store DIR")?;
    let store = Store::open(path)?;
    let site = found_site::path().as_deref().map(SiteFile::load).transpose()?;
    let of_site = site.as_ref().map_or(Readers::Everyone, SiteFile::readers);
    let costs = KnownCosts::new(site.as_ref().map(|file| file.site().clone()));
    if let Some((part, into)) = arguments.division.wanted()? {
        if arguments.shown.has_page() {
            bail!("a part has no page; hint: --html goes with --merge");
        }
        let frame = frame(&store, path, &options(arguments))?;
        let readers = store.readers()?.and(of_site);
        let file = parts::create(into, part, readers, arguments.shown.replacing())?;
        let record = parts::work_out(&store, path, &frame, part, &costs, file)?.text(
            "directory",
            "left in",
            into.display().to_string(),
        );
        output.print(
            "analyze-part",
            &format!("part of an analysis of {}", path.display()),
            &record,
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    // Who may read a page depends on every file of the store; without a page they stay closed.
    let html = arguments.shown.page(|| Ok(store.readers()?.and(of_site)))?;
    let frame = frame(&store, path, &options(arguments))?;
    let whole = summarize(&store, &frame, &frame.days, threads())?.whole(&frame);
    let beside = arguments.beside(&store, &frame, &costs)?;
    arguments.show(&path.display().to_string(), &frame, &whole, &beside, html, output)
}

impl Arguments {
    /// Returns the parts that were asked for.
    fn parts(&self) -> Vec<Part> {
        match self.parts.as_slice() {
            [] => Part::ALL.to_vec(),
            some => some.iter().map(|it| it.part()).collect(),
        }
    }

    /// Reads what else the parts need of the store.
    fn beside(&self, store: &Store, frame: &Frame, costs: &KnownCosts) -> Result<Beside> {
        let parts = self.parts();
        let needs = |part: Part| {
            let is_told = parts.contains(&part) || parts.contains(&Part::Summary);
            is_told || self.shown.has_page()
        };
        let of_target = |component: &Component| costs.with_source(component);
        let wanted = Wanted {
            costs: needs(Part::Utilization).then_some(&of_target),
            jobs: needs(Part::Jobs),
        };
        let part = BesidePart::read(store, frame, &frame.days, &wanted, threads())?;
        Ok(part.whole(frame))
    }

    fn show(
        &self,
        name: &str,
        frame: &Frame,
        whole: &Whole,
        beside: &Beside,
        html: Option<NewFile>,
        output: Output,
    ) -> Result<ExitCode> {
        let analysis = Analysis::of(frame, whole);
        if let Some(file) = html {
            file.write(analyzed::page(name, frame, &analysis, beside).as_bytes())?;
        }
        let rows = self.shown.rows(output)?;
        let record = analyzed::record(frame, &analysis, beside, &self.parts(), rows);
        output.print("analyze", &format!("analysis of {name}"), &record)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Looks what a store has.
fn frame(store: &Store, path: &Path, options: &Options) -> Result<Frame> {
    let frame = Frame::of(store, options)?;
    if frame.targets.is_empty() && frame.servers.is_empty() && frame.metadata.is_empty() {
        let shown = argument(path);
        bail!(
            "{shown} has no samples of targets for that time; hint: plimsoll monitor --store {shown} takes some"
        );
    }
    Ok(frame)
}

fn threads() -> usize {
    available_parallelism().map_or(1, |it| it.get())
}

fn options(arguments: &Arguments) -> Options {
    Options {
        since: arguments.since,
        until: arguments.until,
        file_system: arguments.file_system.clone(),
        zone: arguments.zone.clone(),
        limit: arguments.limit.map(BytesPerSec::get),
        high_from: arguments.high_from / 100.0,
        low_to: arguments.low_to / 100.0,
        seed: arguments.seed,
    }
}

fn zone(text: &str) -> Result<Zone, String> {
    Zone::named(text).ok_or_else(|| "is no time zone; write it like Europe/Berlin or UTC".into())
}

fn percentile(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        _ => Err("is not from 0 to 100; write it like 75".into()),
    }
}
