//! `plimsoll model`: closed-form answers.

pub mod absorb;
pub mod contention;
pub mod throttle;
pub mod utilization;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use clap::Subcommand;
use plimsoll_domain::site::{Site, SiteFile};
use plimsoll_theory::{Quantity, TheoryError};

use crate::found_site;
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
    let answered = match arguments.model {
        Model::Contention(arguments) => contention::run(&arguments, output),
        Model::Throttle(arguments) => throttle::run(&arguments, output),
        Model::Absorb(arguments) => absorb::run(&arguments, output),
        Model::Utilization(arguments) => utilization::run(&arguments, output),
    };
    answered.map_err(in_words_of_options)?;
    Ok(ExitCode::SUCCESS)
}

/// Rewrites what a model says of its values: by the names of the options that set them, with hints.
fn in_words_of_options(error: anyhow::Error) -> anyhow::Error {
    let hint = match error.downcast_ref::<TheoryError>() {
        Some(TheoryError::Value { quantity, problem }) => match option(*quantity) {
            Some(option) => return anyhow!("{option} {problem}"),
            None => return error,
        },
        Some(TheoryError::NoiseWithoutTarget { .. }) => "--noisy 1",
        Some(TheoryError::NoRates) => "--rates 100MiB/s,20MiB/s",
        Some(TheoryError::TooManyDraws { .. }) => "fewer --trials",
        _ => return error,
    };
    anyhow!("{error}; hint: {hint}")
}

/// Returns the option that sets a quantity. `None` for those that are a part of an option's value.
fn option(quantity: Quantity) -> Option<&'static str> {
    Some(match quantity {
        Quantity::Targets => "--targets",
        Quantity::SimulatedTargets => "--targets with --trials",
        Quantity::TargetsPerJob => "--per-job",
        Quantity::Jobs => "--jobs",
        Quantity::SimulatedJobs => "--jobs with --trials",
        Quantity::Load => "--max-load",
        Quantity::Trials => "--trials",
        Quantity::PlacementsPerTrial => "--mean-of",
        Quantity::NoisyTargets => "--noisy",
        Quantity::NoiseStreams => "--noise",
        Quantity::OwnStreams => "--streams",
        Quantity::Allowance => "--tf",
        Quantity::Data => "--data",
        Quantity::Compute => "--compute",
        Quantity::Burst => "--burst",
        Quantity::Cache => "--cache",
        Quantity::Drain => "--drain",
        Quantity::Efficiency => "--efficiency",
        Quantity::Interval => "--interval",
        Quantity::Rate
        | Quantity::Intake
        | Quantity::TransactionSize
        | Quantity::OperationCost
        | Quantity::ByteCost
        | Quantity::TransactionCost => return None,
    })
}

/// The source of the values that a model's flags leave out.
#[derive(clap::Args)]
struct SiteArgument {
    /// Site file for the values that flags leave out [default: the one that `site show` finds]
    #[arg(long, value_name = "FILE")]
    site: Option<PathBuf>,
}

impl SiteArgument {
    fn load(&self) -> Result<Option<Site>> {
        let path = self.site.clone().or_else(found_site::path);
        let file = path.map(|path| SiteFile::load(&path)).transpose()?;
        Ok(file.map(|file| file.site().clone()))
    }

    /// Returns the flag, or the number of targets of the site.
    fn targets(&self, flag: Option<u64>) -> Result<u64> {
        if let Some(targets) = flag {
            return Ok(targets);
        }
        let site = self.load()?;
        let site = site.context("no number of targets; hint: --targets N or --site FILE")?;
        Ok(site.targets.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(clap::Parser)]
    struct Models {
        #[command(flatten)]
        arguments: Arguments,
    }

    #[test]
    fn every_option_that_a_model_complains_about_exists() {
        let command = <Models as clap::CommandFactory>::command();
        let known: Vec<String> = command
            .get_subcommands()
            .flat_map(clap::Command::get_arguments)
            .filter_map(|argument| Some(format!("--{}", argument.get_long()?)))
            .collect();
        let options = Quantity::ALL.iter().filter_map(|quantity| option(*quantity));
        for name in options.flat_map(|option| option.split(" with ")) {
            assert!(known.iter().any(|it| it == name), "{name}");
        }
    }
}
