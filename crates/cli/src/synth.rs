//! `plimsoll synth`: a history that never was.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result, bail};
use plimsoll_guarded::is_there;
use plimsoll_history::Day;
use plimsoll_report::{Record, numbers};
use plimsoll_synth::{Plan, synthesize};

use crate::argument::argument;
use crate::new_file::Replacing;
use crate::output::Output;
use crate::progress::Progress;
use crate::value;

numbers! {
    SAMPLES = "samples", "samples", Count, "Samples that the store has now.", "docs/analyze.md";
    DAYS = "days", "days", Count, "Days that it has.", "docs/analyze.md";
}

/// Make a history that never was, from a seed, with the truth about it
///
/// Targets of data and metadata and their servers as they might have been for some time: bursts, hot targets, a daily job, outages, counters that begin anew and numbers that
/// lie. What was planted is written beside the store, so that an analysis can be held against it.
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  \
    plimsoll synth --store made --days 90\n  \
    plimsoll synth --store year --days 365 --targets 248 --step 5 --seed 7")]
pub struct Arguments {
    /// The store, a directory that does not exist yet
    #[arg(long, value_name = "DIR")]
    store: PathBuf,

    /// Where the truth is written (JSON) [default: the store's name with .truth.json]
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,

    /// The first day
    #[arg(long, value_name = "DAY", default_value = "2025-01-01", value_parser = value::moment_millis)]
    first_day: u64,

    /// How many days
    #[arg(long, value_name = "N", default_value = "30", value_parser = clap::value_parser!(u32).range(1..=3660))]
    days: u32,

    /// Targets of data
    #[arg(long, value_name = "N", default_value = "24", value_parser = clap::value_parser!(u32).range(1..=4096))]
    targets: u32,

    /// Seconds between samples: 1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30 or 60
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = step)]
    step: u32,

    /// Seed of the random numbers; equal seeds give equal histories
    #[arg(long, value_name = "N", default_value = "1", value_parser = value::count)]
    seed: u64,

    /// Plant nothing: noise only
    #[arg(long)]
    plain: bool,

    #[command(flatten)]
    replacing: Replacing,
}

pub fn run(arguments: &Arguments, output: Output) -> Result<ExitCode> {
    let shown = argument(&arguments.store);
    let is_taken = is_there(&arguments.store);
    if is_taken.with_context(|| format!("cannot make {shown}"))? {
        bail!(
            "{shown} exists; hint: what is made up is not mixed with what is there, name another directory"
        );
    }
    let truth_path = arguments.truth.clone().unwrap_or_else(|| {
        let mut name = arguments.store.clone().into_os_string();
        name.push(".truth.json");
        name.into()
    });
    let truth_file = arguments.replacing.create(&truth_path)?;
    let plan = Plan {
        seed: arguments.seed,
        first_day: Day::ending_at(arguments.first_day + 1),
        days: arguments.days,
        targets: arguments.targets,
        step_seconds: arguments.step,
        is_planted: !arguments.plain,
    };
    let progress = Progress::new("making days", arguments.days.into());
    let (truth, imported) = synthesize(&arguments.store, &plan, |_| {
        progress.done.fetch_add(1, Ordering::Relaxed);
    })?;
    drop(progress);
    let text = serde_json::to_string_pretty(&truth).context("cannot write the truth as JSON")?;
    truth_file.write((text + "\n").as_bytes())?;
    let record = Record::new()
        .text("store", "store", arguments.store.display().to_string())
        .text("truth", "truth", truth_path.display().to_string())
        .number(&SAMPLES, imported.samples)
        .number(&DAYS, imported.days);
    output.print("synth", "a history that never was", &record)?;
    Ok(ExitCode::SUCCESS)
}

fn step(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(step) if step > 0 && 60 % step == 0 => Ok(step),
        _ => Err("does not divide a minute; write it like 5 or 60".into()),
    }
}
