//! `plimsoll score`: what a benchmark measured, as scores and verdicts.

mod runs_table;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use plimsoll_domain::moment;
use plimsoll_domain::site::SiteFile;
use plimsoll_figures::results::{self, Measured};
use plimsoll_figures::scores::{self, View, pairs};
use plimsoll_figures::{gather, names};
use plimsoll_guarded::Readers;
use plimsoll_record::marker;
use plimsoll_score::locality::{Places, locality};
use plimsoll_score::verdict::Test;
use plimsoll_score::{Kind, Options, Peaks, score};

use crate::argument::argument;
use crate::found_site;
use crate::new_file::{NewFile, Replacing};
use crate::open_input::readers_of_results;
use crate::output::{Output, message};

pub use plimsoll_figures::scores::NUMBERS;

/// Score benchmark results: what is slow, how often, how long, and what it costs
///
/// LEB and PEB compare a pair of client and target with the fastest of its instance and of all
/// equal instances (Xie, section 5.1); EB and EAB divide bandwidths by peaks of targets (section 3).
/// Verdicts compare each component with the others of the same instance, or with their next measures
/// of equal settings: slow throughout, since some moment, at times, in some settings, or noisier. Where
/// all targets and clients are alike, whatever noise they have in common, the chance that any of them is
/// named is less than 1 in 20 in the simulations of docs/straggler-verdicts.md, with two exceptions that
/// it names; it also shows how often stragglers are found. Several results, of any experiments, times and
/// machines, are scored together: targets and clients of equal names count as the same.
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  \
    plimsoll score results\n  \
    plimsoll score monday tuesday --site site.toml --write-back\n  \
    plimsoll score results --fail-on persistent --json\n  \
    plimsoll score results --site site.toml --html scores.html\n  \
    plimsoll score --from-csv runs.csv --value bandwidth --by machine,program --time start\n  \
    plimsoll score --from-csv cori.csv.gz edison.csv.gz --as tokio-abc")]
pub struct Arguments {
    /// Directories that `plimsoll bench` wrote
    #[arg(required_unless_present = "from_csv", conflicts_with = "from_csv")]
    results: Vec<PathBuf>,

    /// The site file: peaks and servers of targets, coordinates and I/O routers of clients [default: the one that `site show` finds]
    #[arg(long, value_name = "FILE")]
    site: Option<PathBuf>,

    /// Compute distances of nodes by the paper's equation, even on a torus
    #[arg(long, requires = "site")]
    no_wrap: bool,

    /// Write measured peaks, durations of slowness and stragglers into the site file
    #[arg(long, requires = "site")]
    write_back: bool,

    /// Quantiles of all measures below which a measure is low
    #[arg(long, value_name = "T", value_delimiter = ',', default_value = "0.05,0.1,0.2", value_parser = quantile)]
    threshold: Vec<f64>,

    /// A component is a straggler when it is slower than the others by more than this
    #[arg(long, value_name = "SHARE", default_value = "15%", value_parser = quantile)]
    straggler_below: f64,

    /// Include runs in which conditions changed
    #[arg(long)]
    include_changed: bool,

    /// Offset from UTC for hours and weekdays, such as +02:00
    #[arg(long, value_name = "OFFSET", default_value = "Z", value_parser = utc_offset, allow_hyphen_values = true)]
    utc_offset: i32,

    /// Write every pair with its scores and marks into this file
    #[arg(long, value_name = "FILE", conflicts_with = "from_csv")]
    csv: Option<PathBuf>,

    /// Also draw all of it into this page, with the figures of the paper
    #[arg(long, value_name = "FILE", conflicts_with = "from_csv")]
    html: Option<PathBuf>,

    #[command(flatten)]
    replacing: Replacing,

    /// Rows of each table
    #[arg(long, value_name = "N", default_value = "15", value_parser = crate::value::count)]
    top: u64,

    /// Exit with status 1 if there is such a straggler
    #[arg(long, value_enum)]
    fail_on: Option<FailOn>,

    #[command(flatten)]
    table: runs_table::TableArguments,
}

/// Seed of random matches of nodes and bandwidths.
const SEED: u64 = 1;

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum FailOn {
    /// A component that is slow throughout, since some moment, or by known peaks
    Persistent,
    /// Any component that a verdict names
    Transient,
}

pub fn run(arguments: &Arguments, output: Output) -> Result<ExitCode> {
    if arguments.table.is_given() {
        return runs_table::run(&arguments.table, arguments.utc_offset, output);
    }
    if let Some(recording) = arguments.results.iter().find(|it| it.join(marker::NAME).is_file()) {
        let shown = argument(recording);
        bail!("{shown} is a recording, not results of bench; hint: plimsoll report {shown}");
    }
    let site = arguments.site.clone().or_else(found_site::path);
    let mut site = site.as_deref().map(SiteFile::load).transpose()?;
    let of_site = site.as_ref().map_or(Readers::Everyone, SiteFile::readers);
    let readers = readers_of_results(&arguments.results).and(of_site);
    let create = |path: &Option<PathBuf>| {
        let create = |path| arguments.replacing.create_from(path, readers);
        path.as_deref().map(create).transpose()
    };
    let (csv, html) = (create(&arguments.csv)?, create(&arguments.html)?);
    let mut gathered = gather(&arguments.results, site.as_ref().map(SiteFile::site))?;
    let columns = &gathered.columns;
    if columns.instances().is_empty() {
        bail!("cannot score {}: no instance was measured", names(&arguments.results));
    }
    let peaks = Peaks::new(columns, site.as_ref().map(SiteFile::site));
    let notes = scores::notes(columns, &peaks, site.as_ref().map(SiteFile::site));
    gathered.warnings.extend(notes);
    let scored = score(columns, &peaks, &options(arguments));
    gathered.warnings.extend(scores::note_on_rests(columns, &scored.target_verdicts));
    // Programs get every row; people get those that matter.
    let rows = if output.json { usize::MAX } else { usize::try_from(arguments.top)? };
    let places = site.as_ref().map(|it| Places::of(columns, it.site(), !arguments.no_wrap));
    let places = places.unwrap_or_default();
    let locality = locality(columns, &peaks, &places, SEED);
    let view = View {
        columns,
        peaks: &peaks,
        scores: &scored,
        places: &places,
        locality: &locality,
        rows,
        json: output.json,
        utc_offset: arguments.utc_offset,
    };
    if let Some(file) = csv {
        write_csv(file, &view)?;
    }
    if let Some(site) = site.as_mut().filter(|_| arguments.write_back) {
        let lines = scores::write_back(site, &view)?;
        site.save()?;
        lines.iter().for_each(|line| message(&format!("site file: {line}")));
        if readers != of_site {
            message(
                "note: others may read the site file who may not read the results: names and peaks are in it now",
            );
        }
    }
    let title = format!("scores of {}", names(&arguments.results));
    if let Some(file) = html {
        let page = results::page(&title, &Measured::new(&gathered, &peaks), &view);
        file.write(page.as_bytes())?;
    }
    output.print("score", &title, &scores::record(&view, &gathered.warnings))?;
    let is_named = view.worst().is_some_and(Kind::is_straggler);
    let fails = match arguments.fail_on {
        Some(FailOn::Persistent) => view.is_slow_now(),
        Some(FailOn::Transient) => view.is_slow_now() || is_named,
        None => false,
    };
    Ok(ExitCode::from(u8::from(fails)))
}

fn write_csv(mut file: NewFile, view: &View) -> Result<()> {
    let path = file.path().to_owned();
    let attempt = || format!("cannot write {}", path.display());
    let mut out = csv::Writer::from_writer(&mut file);
    out.write_record(pairs::names()).with_context(attempt)?;
    pairs::rows(view, |cells| out.write_record(cells)).with_context(attempt)?;
    out.flush().with_context(attempt)?;
    drop(out);
    file.finish()
}

fn options(arguments: &Arguments) -> Options {
    let test = Test { below: arguments.straggler_below, ..Test::default() };
    Options {
        thresholds: arguments.threshold.clone(),
        test,
        include_changed: arguments.include_changed,
        utc_offset: arguments.utc_offset,
        ..Options::default()
    }
}

fn quantile(text: &str) -> Result<f64, String> {
    match crate::value::share(text)? {
        share if share > 0.0 && share < 1.0 => Ok(share),
        _ => Err("is not between 0 and 1; write it like 0.1 or 10%".into()),
    }
}

fn utc_offset(text: &str) -> Result<i32, String> {
    moment::utc_offset(text).ok_or_else(|| "is not an offset; write it like +02:00".into())
}
