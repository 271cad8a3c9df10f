//! `plimsoll model contention`: jobs that choose targets at random.

use anyhow::{Result, ensure};
use plimsoll_report::{Record, numbers, sparkline};
use plimsoll_theory::{
    Contention, PlacementBand, PlacementRuns, Requests, Spread, TheoryError, simulate_placement,
};

use super::SiteArgument;
use crate::output::Output;
use crate::progress::Progress;
use crate::value;

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

numbers! {
    TARGETS = "targets", "targets", Count, "Targets of the file system, D.", "given";
    JOBS = "jobs", "jobs", Count, "Jobs that write at the same time, n.", "given";
    REQUESTED = "requested", "targets requested", Count, "Targets that all jobs request together, a target counted for each job.", "Wright, eq. 6.3";
    IN_USE = "in_use", "targets in use", Count, "Expected number of targets that at least one job uses.", "Wright, eqs 6.1, 6.2, 6.5";
    LOAD = "load", "load", Ratio, "Mean number of jobs on a target in use: requested over expected in use. In `monte_carlo`: requested over in use in each trial, whose mean is slightly larger.", "Wright, eqs 6.4, 6.6";
    WORST = "worst", "worst target, at least", Count, "Expected number of jobs on the most crowded target, as if targets filled independently: a lower bound, 11 % low for four targets and within 5 % from 16 targets on. With --trials, `monte_carlo` has the mean and its spread.", "order statistics of the binomial";
    WORST_AT_MOST = "worst_at_most", "worst target, at most", Count, "Upper bound of the expected number of jobs on the most crowded target.", "union bound";
    SHARED_BY = "shared_by", "targets", Count, "For each k, the expected number of targets that exactly k jobs use; 0 is unused.", "binomial; Poisson binomial for unequal requests";
    MAX_LOAD = "max_load", "for a load of at most", Ratio, "The load that must not be exceeded.", "given";
    TARGETS_NEEDED = "targets_needed", "targets needed", Count, "The fewest targets on which these jobs stay within the load.", "inverse of Wright, eq. 6.4";
    PER_JOB_AT_MOST = "per_job_at_most", "or targets per job, at most", Count, "The most targets that each of these jobs, requesting equally, may take.", "inverse of Wright, eq. 6.4";
    TRIALS = "trials", "trials", Count, "Number of times that the random placement was simulated.", "given";
    MEAN_OF = "mean_of", "placements per trial", Count, "Number of placements of which each trial is the mean.", "given";
    SEED = "seed", "seed", Count, "Seed of the random numbers; equal seeds give equal results.", "given";
    K = "k", "jobs", Count, "Number of jobs that share a target.", "";
    MEAN = "mean", "mean", Ratio, "Mean over the trials.", "simulation";
    DEVIATION = "deviation", "deviation", Ratio, "Standard deviation over the trials (n - 1); missing for one trial.", "simulation";
    LOW = "low", "99 % from", Ratio, "Quantile 0.005 of the trials, by the nearest rank.", "simulation";
    HIGH = "high", "to", Ratio, "Quantile 0.995 of the trials, by the nearest rank.", "simulation";
}

/// Shares of targets below this are left out of the distribution's tails.
const SHOWN_TARGETS_MIN: f64 = 0.0005;

pub fn run(arguments: &Arguments, output: Output) -> Result<()> {
    let targets = arguments.site.targets(arguments.targets)?;
    let requests = requests(arguments)?;
    let contention = Contention::new(targets, requests.clone())?;
    let occupancy = contention.occupancy();
    let worst = occupancy.worst();
    let mut record = Record::new()
        .number(&TARGETS, targets)
        .number(&JOBS, requests.jobs())
        .number(&REQUESTED, requests.total())
        .number(&IN_USE, contention.in_use())
        .number(&LOAD, contention.load())
        .number(&WORST, worst.at_least)
        .number(&WORST_AT_MOST, worst.at_most)
        .spectrum(
            &SHARED_BY,
            "targets used by exactly k jobs (expected)",
            occupancy.shared_by(SHOWN_TARGETS_MIN),
        );
    if let Some(growth) = load_growth(&contention)? {
        record = record.picture(growth);
    }
    if let Some(load) = arguments.max_load {
        record =
            record.section("inverse", "what keeps the load", inverse(targets, &requests, load)?);
    }
    if let Some(trials) = arguments.trials {
        let runs = PlacementRuns { trials, mean_of: arguments.mean_of, seed: arguments.seed };
        record = record.section("monte_carlo", "played out", monte_carlo(&contention, runs)?);
    }
    let title = format!("contention: {} jobs on {targets} targets", requests.jobs());
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

/// One line that shows the load grow as equal jobs start one after the other.
fn load_growth(contention: &Contention) -> Result<Option<String>> {
    const COLUMNS: u64 = 40;
    let &[(per_job, jobs)] = contention.requests().groups() else { return Ok(None) };
    if jobs < 2 {
        return Ok(None);
    }
    let steps = COLUMNS.min(jobs);
    let mut loads = Vec::new();
    for step in 0..steps {
        let started = 1 + (jobs - 1) * step / (steps - 1);
        let requests = Requests::equal(per_job, started)?;
        loads.push(Contention::new(contention.targets(), requests)?.load());
    }
    Ok(Some(format!("load from the first job to the last\n  {}\n", sparkline(&loads))))
}

fn inverse(targets: u64, requests: &Requests, load: f64) -> Result<Record> {
    let mut record = Record::new().number(&MAX_LOAD, load);
    if requests.jobs() == 0 {
        return Ok(record.note("without jobs there is no load"));
    }
    let answers = [
        (&TARGETS_NEEDED, Contention::targets_for_load(requests, load)),
        (&PER_JOB_AT_MOST, Contention::requests_for_load(targets, requests.jobs(), load)),
    ];
    for (number, answer) in answers {
        record = match answer {
            Ok(answer) => record.number(number, answer),
            Err(TheoryError::NoAnswer(reason)) => record.number(number, None::<u64>).note(reason),
            Err(wrong) => return Err(wrong.into()),
        };
    }
    Ok(record)
}

fn monte_carlo(contention: &Contention, runs: PlacementRuns) -> Result<Record> {
    let progress = Progress::new("trials", runs.trials);
    let band: PlacementBand = simulate_placement(contention, runs, &progress.done)?;
    let shared_by = band
        .shared_by
        .iter()
        .filter(|(_, spread)| spread.mean >= SHOWN_TARGETS_MIN)
        .map(|(k, spread)| spread_numbers(Record::new().number(&K, *k), spread))
        .collect();
    Ok(Record::new()
        .number(&TRIALS, runs.trials)
        .number(&MEAN_OF, runs.mean_of)
        .number(&SEED, runs.seed)
        .rows(
            "measures",
            "",
            vec![
                measure("in_use", &band.in_use),
                measure("load", &band.load),
                measure("worst", &band.worst),
            ],
        )
        .rows("shared_by", "targets used by exactly k jobs", shared_by))
}

fn measure(name: &str, spread: &Spread) -> Record {
    spread_numbers(Record::new().text("measure", "measure", name), spread)
}

fn spread_numbers(record: Record, spread: &Spread) -> Record {
    record
        .number(&MEAN, spread.mean)
        .number(&DEVIATION, spread.deviation)
        .number(&LOW, spread.low)
        .number(&HIGH, spread.high)
}
