//! Jobs that choose targets at random.

use plimsoll_report::{Record, numbers, sparkline};
use plimsoll_theory::{Contention, PlacementBand, PlacementRuns, Requests, Spread, TheoryError};

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

/// Returns what the model says.
///
/// # Errors
/// If fewer of these jobs cannot be computed.
pub fn record(contention: &Contention) -> Result<Record, TheoryError> {
    let (requests, occupancy) = (contention.requests(), contention.occupancy());
    let worst = occupancy.worst();
    let record = Record::new()
        .number(&TARGETS, contention.targets())
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
    Ok(match load_growth(contention)? {
        Some(growth) => record.picture(growth),
        None => record,
    })
}

/// Returns what keeps the load.
///
/// # Errors
/// If no load is that.
pub fn inverse(contention: &Contention, load: f64) -> Result<Record, TheoryError> {
    let requests = contention.requests();
    let mut record = Record::new().number(&MAX_LOAD, load);
    if requests.jobs() == 0 {
        return Ok(record.note("without jobs there is no load"));
    }
    let answers = [
        (&TARGETS_NEEDED, Contention::targets_for_load(requests, load)),
        (
            &PER_JOB_AT_MOST,
            Contention::requests_for_load(contention.targets(), requests.jobs(), load),
        ),
    ];
    for (number, answer) in answers {
        record = match answer {
            Ok(answer) => record.number(number, answer),
            Err(TheoryError::NoAnswer(reason)) => record.number(number, None::<u64>).note(reason),
            Err(wrong) => return Err(wrong),
        };
    }
    Ok(record)
}

/// Returns what came of playing the random choice out.
pub fn played_out(runs: PlacementRuns, band: &PlacementBand) -> Record {
    let shared_by = band
        .shared_by
        .iter()
        .filter(|(_, spread)| spread.mean >= SHOWN_TARGETS_MIN)
        .map(|(k, spread)| spread_numbers(Record::new().number(&K, *k), spread))
        .collect();
    Record::new()
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
        .rows("shared_by", "targets used by exactly k jobs", shared_by)
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

/// One line that shows the load grow as equal jobs start one after the other.
fn load_growth(contention: &Contention) -> Result<Option<String>, TheoryError> {
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
