//! What was planted.

use serde::Serialize;

use crate::Plan;
use crate::plan::{
    CLOSES_PER_OPEN, COMMON, HOT, JOB_LEVEL, JOB_MINUTES, JOB_START, LEVEL_MINUTES, LEVEL_SHAPE,
    RATIO, READ_BYTES_OF_TARGET, SHARE_MINUTES, SHARE_SHAPE,
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
    /// Correlation of reads with writes of the same minute.
    pub read_with_written: f64,
    /// Files closed over files opened.
    pub closes_per_open: f64,
    /// Targets that get more than others.
    pub hot_targets: Vec<String>,
    /// Their bytes over those of the others, read and written: the daily job reads of all alike.
    pub hot_over_others: [f64; 2],
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
        let base = READ_BYTES_OF_TARGET * f64::from(plan.targets);
        let ratio = if plan.is_planted { RATIO } else { 1.0 };
        let job = plan.is_planted.then_some(DailyJob {
            start_minute: JOB_START,
            minutes: JOB_MINUTES,
            read_bytes: JOB_LEVEL * base,
        });
        let level = if plan.is_planted { JOB_LEVEL } else { 0.0 };
        let read = Moments::of(plan, level);
        let written = Moments::of(plan, 0.0);
        let mean = [base * read.mean, base / ratio * written.mean];
        // What reads and writes have in common; shares of targets are drawn apart.
        let common = COMMON * COMMON / LEVEL_SHAPE;
        let hot = plan.hot();
        let hot_over = |job: f64| {
            let least = plan.weights().into_iter().fold(f64::MAX, f64::min);
            let on_top = job * JOB_MINUTES as f64 / 1440.0;
            (HOT * least + on_top) / (least + on_top)
        };
        Truth {
            seed: plan.seed,
            targets: plan.targets,
            days: plan.days,
            mean,
            read_over_written: mean[0] / mean[1],
            cov: [read.variance.sqrt() / read.mean, written.variance.sqrt() / written.mean],
            lag_1: [read.lag_1 / read.variance, written.lag_1 / written.variance],
            read_with_written: common / (read.variance * written.variance).sqrt(),
            closes_per_open: CLOSES_PER_OPEN,
            hot_over_others: if hot.is_empty() { [1.0; 2] } else { [hot_over(level), HOT] },
            hot_targets: hot.into_iter().map(Plan::target_name).collect(),
            daily_job: job,
            outages: Vec::new(),
            resets: Vec::new(),
            lies: Vec::new(),
            bytes: [0; 2],
        }
    }
}

/// Mean, variance and covariance with the next minute, of the whole in units of its mean load.
struct Moments {
    mean: f64,
    variance: f64,
    lag_1: f64,
}

impl Moments {
    /// Load times the mean of shares, and the job on top, which is spread evenly.
    fn of(plan: &Plan, job: f64) -> Self {
        let weights = plan.weights();
        let n = weights.len() as f64;
        let squares: f64 = weights.iter().map(|it| it * it).sum();
        let share_variance = squares / (n * n) / SHARE_SHAPE;
        let own = 1.0 - COMMON;
        let level_variance = (own * own + COMMON * COMMON) / LEVEL_SHAPE;
        let product = |lag: f64| {
            let level = level_variance * (1.0 - 1.0 / LEVEL_MINUTES).powf(lag);
            let share = share_variance * (1.0 - 1.0 / SHARE_MINUTES).powf(lag);
            (1.0 + level) * (1.0 + share) - 1.0
        };
        let running = JOB_MINUTES as f64 / 1440.0;
        let both = (JOB_MINUTES as f64 - 1.0) / 1440.0;
        Moments {
            mean: 1.0 + job * running,
            variance: product(0.0) + job * job * running * (1.0 - running),
            lag_1: product(1.0) + job * job * (both - running * running),
        }
    }
}
