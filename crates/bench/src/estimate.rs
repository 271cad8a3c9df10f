//! What a plan will cost, before anything is done.

use std::collections::BTreeMap;

use plimsoll_domain::{Bytes, BytesPerSec};

use crate::plan::{Plan, PlanError};
use crate::schedule::{InstancePlan, Schedule, Step};
use crate::shape::Shape;
use crate::stopping::earliest;

/// From the least to the most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span<T> {
    /// If every run ends as early as it can.
    pub least: T,
    /// If every run goes on as long as it can.
    pub most: T,
}

/// What a plan will cost. Budgets of bytes and time bound all of it.
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
    /// The most memory that the transfers of one process take.
    pub memory_of_process: Bytes,
    /// Processes that each client needs.
    pub processes_per_client: u32,
    /// Seconds with pauses, each instance as long as its slowest target; targets of unknown rate take no
    /// time. The least is `None` if no rate is known, the most if one is not known and no budget of time
    /// bounds it.
    pub seconds: Span<Option<f64>>,
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

/// Returns what a checked plan will cost. `rates` is what each of the plan's targets can do, as far as that is
/// known.
pub fn estimate(plan: &Plan, rates: &[Option<BytesPerSec>]) -> Estimate {
    let each = Repetition::of(plan, rates);
    let all_known = (0..plan.targets.len()).all(|it| rates.get(it).is_some_and(Option::is_some));
    let repetitions = repetitions(plan);
    let budget = plan.budget.bytes.map_or(u64::MAX, Bytes::get);
    let bytes = |count| Bytes::new(each.times(plan, count, each.bytes).min(budget));
    let instances = |count| each.times(plan, count, each.settings);
    let time_most = match (all_known, plan.budget.time) {
        (true, _) => Some(each.time(plan, repetitions.most)),
        (false, budget) => budget.map(|most| most.as_seconds()),
    };
    Estimate {
        instances: Span { least: instances(repetitions.least), most: instances(repetitions.most) },
        bytes: Span { least: bytes(repetitions.least), most: bytes(repetitions.most) },
        bytes_of_repetition: Bytes::new(each.bytes),
        bytes_at_once_per_target: Bytes::new(each.at_once),
        memory_of_process: Bytes::new(each.memory),
        processes_per_client: plan.processes_most(),
        seconds: Span {
            least: each.busy.map(|_| each.time(plan, repetitions.least)),
            most: time_most,
        },
    }
}

/// Every setting of a plan once.
struct Repetition {
    settings: u64,
    bytes: u64,
    /// The most on one target in one instance.
    at_once: u64,
    /// The most memory of one process.
    memory: u64,
    /// Seconds of its instances; `None` if no rate is known.
    busy: Option<f64>,
}

impl Repetition {
    fn of(plan: &Plan, rates: &[Option<BytesPerSec>]) -> Self {
        let mut each = Repetition { settings: 0, bytes: 0, at_once: 0, memory: 0, busy: None };
        for shape in Shape::all(plan).filter_map(Result::ok) {
            each.settings += 1;
            each.bytes = each.bytes.saturating_add(shape.bytes_moved());
            each.at_once = each.at_once.max(shape.bytes_on_one_target());
            each.memory = each.memory.max(shape.memory_of_process());
        }
        let rate = |target: u32| rates.get(target as usize).copied().flatten();
        let any_known = rates.iter().any(Option::is_some);
        each.busy = any_known.then(|| busy_seconds(plan, each.settings, &rate));
        each
    }

    /// Returns the seconds of this many repetitions with their pauses. Without a rate only pauses take time.
    fn seconds(&self, plan: &Plan, count: f64) -> f64 {
        self.busy.map_or(0.0, |busy| busy * count) + pauses(plan, count)
    }

    /// Returns how many of these repetitions fit the budget; it may be a fraction.
    fn within_budget(&self, plan: &Plan, count: u64) -> f64 {
        let part = |most: f64, each: f64| if each > 0.0 { most / each } else { f64::INFINITY };
        let another = self.seconds(plan, 2.0) - self.seconds(plan, 1.0);
        let time = plan.budget.time.map(|most| part(most.as_seconds(), another));
        let bytes = plan.budget.bytes.map(|most| part(most.get() as f64, self.bytes as f64));
        time.into_iter().chain(bytes).fold(count as f64, f64::min)
    }

    /// Returns the total of this many repetitions within the budget, given the amount of each.
    fn times(&self, plan: &Plan, count: u64, each: u64) -> u64 {
        let within = self.within_budget(plan, count);
        match within < count as f64 {
            // What the budget cuts off was begun, but no rounding error begins another.
            true => (within * each as f64 - 1e-3).ceil() as u64,
            // A float has no room for the largest counts.
            false => count.saturating_mul(each),
        }
    }

    /// Returns the seconds of this many repetitions within the budget.
    fn time(&self, plan: &Plan, count: u64) -> f64 {
        let whole = self.seconds(plan, self.within_budget(plan, count));
        plan.budget.time.map_or(whole, |most| whole.min(most.as_seconds()))
    }
}

/// Instances that are looked at to find out how long one takes.
const LOOKED_AT: u64 = 2000;

/// Returns the seconds that the instances of a repetition take, by the targets that the schedule gives them.
fn busy_seconds(plan: &Plan, settings: u64, rate: &impl Fn(u32) -> Option<BytesPerSec>) -> f64 {
    let repetitions = (LOOKED_AT / settings.max(1)).max(1);
    let steps = Schedule::new(plan).take_while(|step| !matches!(step, Step::EndOfRun { .. }));
    let instances = steps.filter_map(|step| match step {
        Step::Instance(instance) => Some(seconds_of(&instance, rate)),
        _ => None,
    });
    let (count, seconds) = instances
        .take((repetitions * settings) as usize)
        .fold((0u64, 0.0), |(count, sum), seconds| (count + 1, sum + seconds));
    seconds * settings as f64 / count.max(1) as f64
}

/// Returns the seconds of an instance's slowest target.
fn seconds_of(instance: &InstancePlan, rate: &impl Fn(u32) -> Option<BytesPerSec>) -> f64 {
    let mut bytes: BTreeMap<u32, f64> = BTreeMap::new();
    for process in instance.processes.iter().chain(&instance.prepare) {
        let each = process.bytes.get() as f64 / process.targets.len().max(1) as f64;
        for target in &process.targets {
            *bytes.entry(*target).or_default() += each;
        }
    }
    let seconds = |(target, bytes): (u32, f64)| {
        rate(target).map_or(0.0, |rate| bytes / rate.get().max(1) as f64)
    };
    bytes.into_iter().map(seconds).fold(0.0, f64::max)
}

/// Returns how often everything is measured, over all runs.
fn repetitions(plan: &Plan) -> Span<u64> {
    let repeat = &plan.repeat;
    let runs = u64::from(repeat.runs);
    let most = runs * u64::from(repeat.rounds_most());
    let asked = runs * u64::from(repeat.rounds);
    // No precision is known to be reached before.
    let for_precision = repeat.precision.map_or(0, |_| earliest(repeat.confidence) as u64);
    Span { least: asked.max(for_precision).min(most), most }
}

/// Returns the seconds of all pauses.
fn pauses(plan: &Plan, repetitions: f64) -> f64 {
    let runs = f64::from(plan.repeat.runs);
    let rounds_each = (plan.groups.len() * plan.burst.sizes.len().max(1)) as f64;
    let rounds = repetitions * rounds_each;
    let within_rounds = rounds * (plan.vary.len() - 1) as f64;
    plan.pause.instances.as_seconds() * within_rounds
        + plan.pause.rounds.as_seconds() * (rounds - runs).max(0.0)
        + plan.pause.runs.as_seconds() * (runs - 1.0)
}
