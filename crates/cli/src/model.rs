//! `plimsoll model`: closed-form answers.

pub mod absorb;
pub mod contention;
pub mod throttle;
pub mod utilization;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;
use plimsoll_domain::site::{Site, SiteFile};

use crate::output::Output;

/// Closed-form answers: contention, throttling, burst absorption, utilization
#[derive(clap::Args)]
#[command(
    before_help = "Examples:\n  \
        plimsoll model contention --targets 480 --per-job 160 --jobs 4\n  \
        plimsoll model throttle --targets 16 --noisy 4 --noise 64",
    subcommand_required = true,
    disable_help_subcommand = true
)]
pub struct Arguments {
    #[command(subcommand)]
    model: Model,
}

#[derive(Subcommand)]
enum Model {
    Contention(contention::Arguments),
    Throttle(throttle::Arguments),
    Absorb(absorb::Arguments),
    Utilization(utilization::Arguments),
}

pub fn run(arguments: Arguments, output: Output) -> Result<ExitCode> {
    match arguments.model {
        Model::Contention(arguments) => contention::run(&arguments, output)?,
        Model::Throttle(arguments) => throttle::run(&arguments, output)?,
        Model::Absorb(arguments) => absorb::run(&arguments, output)?,
        Model::Utilization(arguments) => utilization::run(&arguments, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The source of the values that a model's flags leave out.
#[derive(clap::Args)]
struct SiteArgument {
    /// Site file for the values that flags leave out
    #[arg(long, value_name = "FILE")]
    site: Option<PathBuf>,
}

impl SiteArgument {
    fn load(&self) -> Result<Option<Site>> {
        let load = |path: &PathBuf| SiteFile::load(Path::new(path));
        Ok(self.site.as_ref().map(load).transpose()?.map(|file| file.site().clone()))
    }

    /// Returns the flag, or the number of targets of the site.
    fn targets(&self, flag: Option<u64>) -> Result<u64> {
        match (flag, self.load()?) {
            (Some(targets), _) => Ok(targets),
            (None, Some(site)) => Ok(site.targets.len() as u64),
            (None, None) => anyhow::bail!("no number of targets; hint: --targets N or --site FILE"),
        }
    }
}
