//! What a plan will cost, before anything is done.

use plimsoll_domain::{Bytes, BytesPerSec};

use crate::plan::{Plan, PlanError};
use crate::shape::Shape;

/// From the least to the most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span<T> {
    /// If every run ends as early as it can.
    pub least: T,
    /// If every run goes on as long as it can.
    pub most: T,
}

/// What a plan will cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// Instances.
    pub instances: Span<u64>,
    /// Bytes moved, those written before a read included, those read back to verify not.
    pub bytes: Span<Bytes>,
    /// Bytes of one repetition: every setting once.
    pub bytes_of_repetition: Bytes,
    /// The most that the files of one instance take on one target.
    pub bytes_at_once_per_target: Bytes,
    /// Processes that each client needs.
    pub processes_per_client: u32,
    /// Seconds with pauses, if the rate of a target is known: targets at that rate, each instance
    /// as long as its busiest target. A budget of time bounds it.
    pub seconds: Option<Span<f64>>,
}

impl Estimate {
    /// Refuses a plan whose largest instance does not fit on the target with the least room.
    ///
    /// # Errors
    /// With what is needed and what is free.
    pub fn check_space(&self, free_bytes_least: Bytes) -> Result<(), PlanError> {
        let needed = self.bytes_at_once_per_target;
        if needed <= free_bytes_least {
            return Ok(());
        }
        let problem = format!(
            "an instance needs {needed} on one target, and the fullest has {free_bytes_least} free; \
             hint: smaller bursts"
        );
        Err(PlanError::value("burst.sizes", problem))
    }
}

/// What a checked plan will cost; `rate` is what one target can do.
pub fn estimate(plan: &Plan, rate: Option<BytesPerSec>) -> Estimate {
    let (mut bytes, mut at_once, mut busy_seconds, mut settings) = (0u64, 0, 0.0, 0u64);
    let rate = rate.filter(|rate| rate.get() > 0).map(|rate| rate.get() as f64);
    for shape in Shape::all(plan).filter_map(Result::ok) {
        let here = shape.bytes_on_one_target();
        let passes = shape.bytes_moved().checked_div(shape.bytes()).unwrap_or(1);
        settings += 1;
        bytes = bytes.saturating_add(shape.bytes_moved());
        at_once = at_once.max(here);
        busy_seconds += rate.map_or(0.0, |rate| here as f64 * passes as f64 / rate);
    }
    let repetitions = repetitions(plan);
    let times = |count: u64, each: u64| count.saturating_mul(each);
    let budget = plan.budget.bytes.map_or(u64::MAX, Bytes::get);
    let all_bytes = |count| Bytes::new(times(count, bytes).min(budget));
    let seconds = |count: u64| {
        let whole = busy_seconds * count as f64 + pauses(plan, count);
        plan.budget.time.map_or(whole, |budget| whole.min(budget.as_seconds()))
    };
    Estimate {
        instances: Span {
            least: times(repetitions.least, settings),
            most: times(repetitions.most, settings),
        },
        bytes: Span { least: all_bytes(repetitions.least), most: all_bytes(repetitions.most) },
        bytes_of_repetition: Bytes::new(bytes),
        bytes_at_once_per_target: Bytes::new(at_once),
        processes_per_client: plan.processes_most(),
        seconds: rate
            .map(|_| Span { least: seconds(repetitions.least), most: seconds(repetitions.most) }),
    }
}

/// How often everything is measured, over all runs.
fn repetitions(plan: &Plan) -> Span<u64> {
    let runs = u64::from(plan.repeat.runs);
    Span {
        least: runs * u64::from(plan.repeat.rounds),
        most: runs * u64::from(plan.repeat.rounds_most()),
    }
}

/// Seconds of rest.
fn pauses(plan: &Plan, repetitions: u64) -> f64 {
    let runs = f64::from(plan.repeat.runs);
    let rounds_each = (plan.groups.len() * plan.burst.sizes.len().max(1)) as f64;
    let rounds = repetitions as f64 * rounds_each;
    let within_rounds = rounds * (plan.vary.len() - 1) as f64;
    plan.pause.instances.as_seconds() * within_rounds
        + plan.pause.rounds.as_seconds() * (rounds - runs).max(0.0)
        + plan.pause.runs.as_seconds() * (runs - 1.0)
}
