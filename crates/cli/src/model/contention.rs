//! `plimsoll model contention`: jobs that choose targets at random.

use anyhow::{Result, ensure};
use plimsoll_figures::models::contention;
use plimsoll_theory::{Contention, PlacementRuns, Requests, simulate_placement};

use super::SiteArgument;
use crate::output::Output;
use crate::progress::Progress;
use crate::value;

pub use contention::NUMBERS;

/// Show how jobs that choose targets at random contend for them
///
/// Each of n jobs takes r targets (stripes) at random out of D. Targets in use:
/// D (1 - product of (1 - r_j/D)); load: targets requested over targets in use
/// (S. A. Wright, thesis, equations 6.1 to 6.4; 6.5 and 6.6 for PLFS, where each
/// rank is a job of 2 stripes: --per-job 2 --jobs RANKS). Beyond the thesis: how many
/// targets are shared by exactly k jobs (a binomial, or Poisson binomial, distribution),
/// the worst target, and a seeded simulation.
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  \
    plimsoll model contention --targets 480 --per-job 160 --jobs 4\n  \
    plimsoll model contention --targets 480 --per-job 2 --jobs 4096   (PLFS)\n  \
    plimsoll model contention --targets 480 --per-job 160,64,64 --trials 1000\n  \
    plimsoll model contention --targets 480 --per-job 64 --jobs 10 --max-load 1.5")]
pub struct Arguments {
    /// Targets of the file system, D
    #[arg(long, value_name = "D", value_parser = value::count, allow_negative_numbers = true)]
    targets: Option<u64>,

    /// Targets that each job requests; a list has one entry for each job
    #[arg(long, value_name = "R[,R...]", required = true, value_delimiter = ',',
        value_parser = value::count, allow_negative_numbers = true)]
    per_job: Vec<u64>,

    /// Number of equal jobs, n (with a single --per-job)
    #[arg(long, value_name = "N", value_parser = value::count, allow_negative_numbers = true)]
    jobs: Option<u64>,

    /// Also find what keeps the load at most L
    #[arg(long, value_name = "L", value_parser = value::share, allow_negative_numbers = true)]
    max_load: Option<f64>,

    /// Also simulate it this many times
    #[arg(long, value_name = "TRIALS", value_parser = value::count, allow_negative_numbers = true)]
    trials: Option<u64>,

    /// Number of placements of which each trial is the mean
    #[arg(long, value_name = "RUNS", default_value = "1", requires = "trials",
        value_parser = value::count, allow_negative_numbers = true)]
    mean_of: u64,

    /// Seed of the trials
    #[arg(long, default_value = "1", requires = "trials",
        value_parser = value::count, allow_negative_numbers = true)]
    seed: u64,

    #[command(flatten)]
    site: SiteArgument,
}

pub fn run(arguments: &Arguments, output: Output) -> Result<()> {
    let targets = arguments.site.targets(arguments.targets)?;
    let requests = requests(arguments)?;
    let jobs = requests.jobs();
    let contention = Contention::new(targets, requests)?;
    let mut record = contention::record(&contention)?;
    if let Some(load) = arguments.max_load {
        let inverse = contention::inverse(&contention, load)?;
        record = record.section("inverse", "what keeps the load", inverse);
    }
    if let Some(trials) = arguments.trials {
        let runs = PlacementRuns { trials, mean_of: arguments.mean_of, seed: arguments.seed };
        let progress = Progress::new("trials", trials);
        let band = simulate_placement(&contention, runs, &progress.done)?;
        record = record.section("monte_carlo", "played out", contention::played_out(runs, &band));
    }
    let title = format!("contention: {jobs} jobs on {targets} targets");
    output.print("model.contention", &title, &record)
}

fn requests(arguments: &Arguments) -> Result<Requests> {
    match (arguments.per_job.as_slice(), arguments.jobs) {
        (&[per_job], jobs) => Ok(Requests::equal(per_job, jobs.unwrap_or(1))?),
        (list, jobs) => {
            ensure!(
                jobs.is_none_or(|jobs| jobs == list.len() as u64),
                "--per-job lists {} jobs, but --jobs says {}; hint: leave out --jobs",
                list.len(),
                jobs.unwrap_or(0)
            );
            Ok(Requests::each(list)?)
        }
    }
}
