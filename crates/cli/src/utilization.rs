//! `plimsoll utilization`: how busy the storage was, from a history.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use plimsoll_domain::Bytes;
use plimsoll_domain::site::SiteFile;
use plimsoll_figures::utilized;
use plimsoll_guarded::Readers;
use plimsoll_history::{Day, Selection, Store, WINDOW_MILLIS};
use plimsoll_utilization::{By, Options, Survey, sharing, survey};

use crate::argument::argument;
use crate::found_site;
use crate::known_costs::KnownCosts;
use crate::output::Output;
use crate::shown::Shown;
use crate::value;

pub use plimsoll_figures::utilized::NUMBERS;

/// Show how busy the storage was: file system utilization (FSU) from a history
///
/// A transaction between server and disk takes a_0 + a_1 b seconds (Uselton and Wright, equation 1). FSU is the time that
/// all transactions of 5 s take, in percent: small transfers keep a target as busy as large ones at a fraction of the
/// bandwidth. Costs come from the site file, where `plimsoll calibrate` writes them; without, they are assumed, and it is said so.
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  \
    plimsoll utilization --store history\n  \
    plimsoll utilization --store history --since 2026-11-16T00:00:00Z --by file-system\n  \
    plimsoll utilization --store history --json\n  \
    plimsoll utilization --store history --html busy.html")]
pub struct Arguments {
    /// The history, a directory that `plimsoll monitor` writes
    #[arg(long, value_name = "DIR")]
    store: PathBuf,

    /// From this moment on: 2026-11-16T00:00:00Z, or seconds since 1970
    #[arg(long, value_name = "TIME", value_parser = value::moment_millis)]
    since: Option<u64>,

    /// Up to this moment
    #[arg(long, value_name = "TIME", value_parser = value::moment_millis)]
    until: Option<u64>,

    /// What targets are put together by
    #[arg(long, value_enum, default_value = "target")]
    by: ByArgument,

    /// A window is moderate from this FSU on, in percent, and idle below
    #[arg(long, value_name = "PERCENT", default_value = "2", value_parser = percent)]
    moderate_from: f64,

    /// A window is busy from this FSU on, in percent
    #[arg(long, value_name = "PERCENT", default_value = "30", value_parser = percent)]
    busy_from: f64,

    /// I/O of at least this size is optimal
    #[arg(long, value_name = "SIZE", default_value = "1MiB")]
    optimal: Bytes,

    /// The site file, which has the costs of targets [default: the one that `site show` finds]
    #[arg(long, value_name = "FILE")]
    site: Option<PathBuf>,

    #[command(flatten)]
    shown: Shown,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum ByArgument {
    /// Each on its own
    Target,
    /// Those of a server
    Server,
    /// Those of a file system
    FileSystem,
}

/// Points of a chart, at most.
const POINTS: u64 = 1500;

pub fn run(arguments: &Arguments, output: Output) -> Result<ExitCode> {
    if arguments.busy_from < arguments.moderate_from {
        bail!("--busy-from is less than --moderate-from");
    }
    let site = arguments.site.clone().or_else(found_site::path);
    let site = site.as_deref().map(SiteFile::load).transpose()?;
    let store = Store::open(&arguments.store)?;
    // Who may read a page depends on every file of the store; without a page they stay closed.
    let html = arguments.shown.page(|| {
        let of_site = site.as_ref().map_or(Readers::Everyone, SiteFile::readers);
        Ok(store.readers()?.and(of_site))
    })?;
    let mut options = options(arguments, &store)?;
    let costs = KnownCosts::new(site.as_ref().map(|file| file.site().clone()));
    let mut surveyed = survey(&store, &options, &|component| costs.of(component))?;
    if let Some(millis) = html.as_ref().and_then(|_| finer_buckets(&surveyed, &options)) {
        options.bucket_millis = millis;
        surveyed = survey(&store, &options, &|component| costs.of(component))?;
    }
    let survey = surveyed;
    if survey.groups.is_empty() && survey.without_operations.is_empty() {
        let shown = argument(&arguments.store);
        bail!(
            "{shown} has no samples of targets for that time; hint: plimsoll monitor --store {shown} takes some"
        );
    }
    let (shared, notes) = (sharing(&store, &options)?, costs.notes());
    if let Some(file) = html {
        let name = arguments.store.display().to_string();
        file.write(utilized::page(&name, &survey, &shared, &options, &notes).as_bytes())?;
    }
    let rows = arguments.shown.rows(output)?;
    let record = utilized::record(&survey, &shared, &options, rows, &notes);
    let title = format!("utilization of {}", arguments.store.display());
    output.print("utilization", &title, &record)?;
    Ok(ExitCode::SUCCESS)
}

fn options(arguments: &Arguments, store: &Store) -> Result<Options> {
    let (since, until) = (arguments.since, arguments.until);
    let mut options = Options {
        since,
        until,
        by: match arguments.by {
            ByArgument::Target => By::Target,
            ByArgument::Server => By::Server,
            ByArgument::FileSystem => By::FileSystem,
        },
        moderate_from: arguments.moderate_from,
        busy_from: arguments.busy_from,
        optimal_bytes: arguments.optimal.get(),
        ..Options::default()
    };
    let days = store.days(&Selection { since, until, ..Selection::default() })?;
    if let Some((first, last)) = days.first().zip(days.last()) {
        let start = since.unwrap_or(0).max(first.start());
        let end = until.unwrap_or(u64::MAX).min(last.end());
        let minutes = (end.saturating_sub(start) / POINTS).div_ceil(60_000).max(1);
        options.bucket_millis = (minutes * 60_000).min(Day::MILLIS);
    }
    Ok(options)
}

/// Returns the time of a point if there are few in the chart, because samples are of a small part of their days: then they are soon read again.
fn finer_buckets(survey: &Survey, options: &Options) -> Option<u64> {
    let starts = || survey.groups.iter().flat_map(|group| group.over_time.keys());
    let (first, last) = starts().min().zip(starts().max())?;
    let span = last - first + options.bucket_millis;
    let is_few = span / options.bucket_millis < POINTS / 4;
    let millis = (span / POINTS).next_multiple_of(WINDOW_MILLIS).max(WINDOW_MILLIS);
    (is_few && millis < options.bucket_millis).then_some(millis)
}

fn percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(percent) if percent.is_finite() && percent >= 0.0 => Ok(percent),
        _ => Err("is not a percentage; write it like 30".into()),
    }
}
