//! What was planted.

use serde::Serialize;

use crate::Plan;
use crate::degrees::degrees;
use crate::plan::{
    CLOSES_PER_OPEN, JOB_LEVEL, JOB_MINUTES, JOB_START, LEVEL_MINUTES, LEVEL_SHAPE, OPENS,
    PROCESSORS, SAME,
};

/// What is true of a history that was made, by its model: what an analysis should find, up to chance.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Truth {
    /// The seed.
    pub seed: u64,
    /// Targets of data.
    pub targets: u32,
    /// Days.
    pub days: u32,
    /// Mean bytes read and written in a minute, of all targets.
    pub mean: [f64; 2],
    /// Bytes read over bytes written.
    pub read_over_written: f64,
    /// Coefficients of variation of minutes of the whole.
    pub cov: [f64; 2],
    /// Correlation of reads and of writes with the minute after.
    pub lag_1: [f64; 2],
    /// Correlation of writes with the next window, of 1, 5 and 25 minutes.
    pub written_windows: [f64; 3],
    /// Correlation of reads with writes of the same minute.
    pub read_with_written: f64,
    /// Times in the upper quarter of minutes, of reads and of writes.
    pub high_phases: [Phases; 2],
    /// Times in the lower quarter of minutes.
    pub low_phases: [Phases; 2],
    /// Mean number of targets that do as much as each other within 5 %, of reads and of writes: drawn from the model.
    pub mean_degree: [f64; 2],
    /// The same in minutes of the upper quarter.
    pub mean_degree_high: [f64; 2],
    /// Bytes of the target that gets most over the mean of targets on a day, read and written; nothing where none is hot.
    pub most_over_mean: Option<[f64; 2]>,
    /// Mean number of files opened in a minute.
    pub opens: f64,
    /// Files closed over files opened.
    pub closes_per_open: f64,
    /// Mean share of their time that processors of servers work.
    pub processors: f64,
    /// Targets that get more than others.
    pub hot_targets: Vec<HotTarget>,
    /// Targets that work alike for some jobs.
    pub wide_targets: usize,
    /// The job that runs every day.
    pub daily_job: Option<DailyJob>,
    /// Outages, by their first minute since 1970.
    pub outages: Vec<Planted>,
    /// Counters that began anew: a sample of one target is missing at that minute.
    pub resets: Vec<Planted>,
    /// Numbers that nothing reaches.
    pub lies: Vec<Planted>,
    /// Bytes that targets read and wrote in minutes that are stored, lies apart.
    pub bytes: [u64; 2],
}

/// Times of high or of low activity.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Phases {
    /// Mean length in minutes.
    pub length: f64,
    /// Mean time from the start of one to that of the next, in minutes.
    pub interval: f64,
}

/// A target that gets more than others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HotTarget {
    /// Its name.
    pub name: String,
    /// Its bytes over those of the others, read and written: the daily job reads of all alike.
    pub over_others: [f64; 2],
}

/// The job that runs every day.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DailyJob {
    /// Its first minute of the day, in UTC.
    pub start_minute: usize,
    /// How long it lasts.
    pub minutes: usize,
    /// What it reads in a minute, of all targets.
    pub read_bytes: f64,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Planted {
    /// Minutes since 1970.
    pub minute: u64,
    /// How many minutes.
    pub minutes: u64,
    /// What: `missing` or `flat` for an outage, or the name of a target.
    pub what: String,
}

impl Truth {
    /// Returns what follows from the model.
    pub(crate) fn of(plan: &Plan) -> Self {
        let bytes = plan.bytes();
        let jobs = [plan.job_level(), 0.0];
        let [read, written] = jobs.map(Moments::of);
        let mean = [bytes[0] * read.mean, bytes[1] * written.mean];
        let weights = plan.weights();
        let mean_weight = weights.iter().sum::<f64>() / weights.len() as f64;
        let hot = plan.hot();
        // A weight over another one, with the daily job of all targets alike on top.
        let over = |weight: f64, other: f64| {
            jobs.map(|job| {
                let on_top = job * JOB_MINUTES as f64 / 1440.0;
                (weight / mean_weight + on_top) / (other / mean_weight + on_top)
            })
        };
        let [of_reads, of_writes] = [0, 1].map(|direction| degrees(plan, direction));
        Truth {
            seed: plan.seed,
            targets: plan.targets,
            days: plan.days,
            mean,
            read_over_written: mean[0] / mean[1],
            cov: [read.variance.sqrt() / read.mean, written.variance.sqrt() / written.mean],
            lag_1: [read.lag_1 / read.variance, written.lag_1 / written.variance],
            written_windows: [1, 5, 25].map(of_windows),
            read_with_written: SAME / LEVEL_SHAPE / (read.variance * written.variance).sqrt(),
            high_phases: jobs.map(Phases::high),
            low_phases: jobs.map(Phases::low),
            mean_degree: [of_reads.mean, of_writes.mean],
            mean_degree_high: [of_reads.mean_when_high, of_writes.mean_when_high],
            most_over_mean: hot.first().map(|it| over(it.1, mean_weight)),
            opens: OPENS,
            closes_per_open: CLOSES_PER_OPEN,
            processors: PROCESSORS,
            hot_targets: hot
                .iter()
                .map(|it| HotTarget { name: Plan::target_name(it.0), over_others: over(it.1, 1.0) })
                .collect(),
            wide_targets: plan.wide_targets(),
            daily_job: plan.is_planted.then_some(DailyJob {
                start_minute: JOB_START,
                minutes: JOB_MINUTES,
                read_bytes: JOB_LEVEL * bytes[0],
            }),
            outages: Vec::new(),
            resets: Vec::new(),
            lies: Vec::new(),
            bytes: [0; 2],
        }
    }
}

/// How likely load is the same a minute later.
const STAYS: f64 = 1.0 - 1.0 / LEVEL_MINUTES;

/// Mean, variance and covariance with the next minute, of the whole in units of its mean load.
struct Moments {
    mean: f64,
    variance: f64,
    lag_1: f64,
}

impl Moments {
    /// The load, and the job on top.
    fn of(job: f64) -> Self {
        let running = JOB_MINUTES as f64 / 1440.0;
        let both = (JOB_MINUTES as f64 - 1.0) / 1440.0;
        Moments {
            mean: 1.0 + job * running,
            variance: 1.0 / LEVEL_SHAPE + job * job * running * (1.0 - running),
            lag_1: STAYS / LEVEL_SHAPE + job * job * (both - running * running),
        }
    }
}

/// Returns the correlation of the load of a window of so many minutes with the next one: sums of powers over the pairs of minutes.
fn of_windows(width: i32) -> f64 {
    let sum = |later: i32| -> f64 {
        let pairs = (0..width).flat_map(|one| (0..width).map(move |other| (one, other + later)));
        pairs.map(|(one, other)| STAYS.powi((one - other).abs())).sum()
    };
    sum(width) / sum(0)
}

impl Phases {
    /// Of the upper quarter. The daily job is in it whatever the load is; a minute beside it is with some probability, and stays so until load is
    /// drawn anew and comes out lower.
    fn high(job: f64) -> Self {
        let minutes = if job > 0.0 { JOB_MINUTES as f64 } else { 0.0 };
        let in_it = (360.0 - minutes) / (1440.0 - minutes);
        let of_job = if job > 0.0 { 1.0 - in_it } else { 0.0 };
        Phases::of(in_it, minutes, of_job)
    }

    /// Of the lower quarter, which ends where the daily job begins.
    fn low(job: f64) -> Self {
        let minutes = if job > 0.0 { JOB_MINUTES as f64 } else { 0.0 };
        let in_it = 360.0 / (1440.0 - minutes);
        Phases::of(in_it, minutes, if job > 0.0 { in_it } else { 0.0 })
    }

    /// Of so many minutes in it, a job of so many minutes, and how many begin with or after the job each day.
    fn of(in_it: f64, job_minutes: f64, of_job: f64) -> Self {
        let steps = 1440.0 - job_minutes - f64::from(job_minutes > 0.0);
        let starts = steps * in_it * (1.0 - in_it) / LEVEL_MINUTES + of_job;
        Phases { length: 360.0 / starts, interval: 1440.0 / starts }
    }
}
