//! A scenario without a sweep: its policies side by side.

use plimsoll_report::{Bar, Record, Value, bars};
use plimsoll_route::Message;
use plimsoll_simulate::{Outcome, Point, PolicyOutcomes, optimal_factor};
use plimsoll_stats::Sample;

use super::loss;
use super::numbers::{
    BUSIEST, COORDINATOR, CV, DATA, EAB, EFFICIENCY, EVENTS, FLUID_BOUND, IMBALANCE, LOST,
    MAKESPAN, MAKESPAN_CV, MAKESPAN_DEVIATION, MAKESPAN_HIGH, MAKESPAN_LOW, MAKESPAN_MEAN,
    MEAN_DELAY, MESSAGE_COUNT, MESSAGES, MOVED, OF_BOUND, PROCESS_MEAN, PROCESS_P95, PROCESSES,
    PROGRAM_TIME, READ, SEED, SEEDS, SPEEDUP, STALL, STALL_CV, STALL_MEAN, STALL_MOST,
    STATIC_MAKESPAN, TARGET, TARGET_BUSY, TARGET_BYTES, TARGET_END, TARGETS, TF_OPTIMUM, WASTED,
};

/// Returns the title and everything about one point: the first policy in full, then all of them.
pub fn record(name: &str, point: &Point, each_target: bool) -> (String, Record) {
    let scenario = &point.scenario;
    let title = format!("simulation {name}: {}", scenario.title);
    let mut record = Record::new()
        .text("scenario", "scenario", name)
        .number(&PROCESSES, u64::from(scenario.application.processes))
        .number(&TARGETS, u64::from(scenario.storage.targets))
        .number(&DATA, scenario.application.total_bytes())
        .number(&SEED, point.policies[0].outcomes[0].seed)
        .number(&SEEDS, point.policies[0].outcomes.len() as u64)
        .number(&TF_OPTIMUM, optimal_factor(scenario).ok())
        .number(&FLUID_BOUND, median(Sample::new(point.bounds.clone()).ok()))
        .number(&STATIC_MAKESPAN, median(Sample::new(point.static_makespans.clone()).ok()));
    record = first_policy(record, point);
    let rows = point.policies.iter().map(|policy| row(point, policy)).collect();
    record = record.rows("policies", "policies", rows);
    record = loss::note(record, std::slice::from_ref(point));
    record = record.picture(bars(&makespan_bars(point)));
    if scenario.application.bursts > 1 {
        let title =
            if scenario.buffer.is_some() { "bursts and buffers" } else { "bursts and caches" };
        record = record.rows("bursts", title, burst_rows(point));
    }
    if let Some(policy) = point.policies.iter().find(|policy| policy.outcomes[0].messages > 0) {
        let title = format!("messages of {}", policy.policy);
        record = record.rows("messages_by_type", title, message_rows(&policy.outcomes[0]));
    }
    if each_target {
        let first = &point.policies[0];
        let title = format!("targets, {}, seed {}", first.policy, first.outcomes[0].seed);
        record = record.rows("each_target", title, target_rows(&first.outcomes[0]));
    }
    (title, record)
}

/// Returns what programs ask for first, of the policy of most interest.
fn first_policy(record: Record, point: &Point) -> Record {
    let first = &point.policies[0];
    let makespans = first.over_seeds(|outcome| outcome.makespan);
    spread(record.text("policy", "policy", first.policy.to_string()), makespans.as_ref())
        .number(&MAKESPAN_MEAN, makespans.as_ref().map(Sample::mean))
        .number(&MAKESPAN_DEVIATION, makespans.as_ref().and_then(Sample::sd))
        .number(&MAKESPAN_CV, makespans.as_ref().and_then(Sample::cov))
        .number(&OF_BOUND, median(first.relative_to(&point.bounds)))
        .number(&CV, over(first, process_cv))
        .number(&PROCESS_MEAN, over(first, |outcome| Some(outcome.processes?.mean)))
        .number(&PROCESS_P95, over(first, process_p95))
        .number(&MOVED, count(first, |outcome| outcome.moved_bytes))
        .number(&WASTED, count(first, |outcome| outcome.wasted_bytes))
        .number(&LOST, loss::most_bytes(first))
        .number(&MESSAGES, count(first, |outcome| outcome.messages))
        .number(&COORDINATOR, count(first, |outcome| outcome.coordinator_messages))
        .number(&BUSIEST, count(first, |outcome| outcome.busiest_messages))
        .number(&READ, over(first, |outcome| outcome.read_makespan))
        .number(&IMBALANCE, over(first, |outcome| outcome.imbalance))
        .number(&EAB, over(first, |outcome| outcome.effective_bandwidth))
        .number(&EVENTS, count(first, |outcome| outcome.events))
}

fn spread(record: Record, makespans: Option<&Sample>) -> Record {
    let quartiles = makespans.map(Sample::quartiles);
    record
        .number(&MAKESPAN, makespans.map(Sample::median))
        .number(&MAKESPAN_LOW, quartiles.map(|(low, _)| low))
        .number(&MAKESPAN_HIGH, quartiles.map(|(_, high)| high))
}

/// One policy in a table.
fn row(point: &Point, policy: &PolicyOutcomes) -> Record {
    let makespans = policy.over_seeds(|outcome| outcome.makespan);
    let row = Record::new().text("policy", "policy", policy.policy.to_string());
    let mut row = spread(row, makespans.as_ref())
        .number(&OF_BOUND, median(policy.relative_to(&point.bounds)))
        .number(&SPEEDUP, median(policy.relative_to(&point.static_makespans)).map(f64::recip))
        .number(&MAKESPAN_CV, makespans.as_ref().and_then(Sample::cov))
        .number(&CV, over(policy, process_cv));
    if loss::is_in(std::slice::from_ref(point)) {
        row = row.number(&LOST, loss::most_bytes(policy));
    }
    if point.scenario.application.think.is_some() {
        row = row.number(&MEAN_DELAY, over(policy, |outcome| outcome.mean_delay));
    }
    row.number(&MOVED, count(policy, |outcome| outcome.moved_bytes))
        .number(&MESSAGES, count(policy, |outcome| outcome.messages))
        .number(&COORDINATOR, count(policy, |outcome| outcome.coordinator_messages))
        .number(&READ, over(policy, |outcome| outcome.read_makespan))
        .number(&EVENTS, count(policy, |outcome| outcome.events))
}

fn makespan_bars(point: &Point) -> Vec<Bar> {
    let bar = |policy: &PolicyOutcomes| {
        let makespan = over(policy, |outcome| outcome.makespan).unwrap_or(f64::NAN);
        Bar {
            label: policy.policy.to_string(),
            value: makespan,
            shown: MAKESPAN.unit.show(makespan),
        }
    };
    point.policies.iter().map(bar).collect()
}

fn burst_rows(point: &Point) -> Vec<Record> {
    let row = |policy: &PolicyOutcomes| {
        burst_columns(Record::new().text("policy", "policy", policy.policy.to_string()), policy)
    };
    point.policies.iter().map(row).collect()
}

/// Adds how long the program takes and waits.
pub fn burst_columns(row: Record, policy: &PolicyOutcomes) -> Record {
    row.number(&PROGRAM_TIME, over(policy, |outcome| outcome.program_time))
        .number(&STALL, over(policy, |outcome| outcome.stall))
        .number(&STALL_MEAN, over(policy, |outcome| Some(outcome.stalls?.mean)))
        .number(&STALL_MOST, over(policy, |outcome| Some(outcome.stalls?.most)))
        .number(&STALL_CV, over(policy, |outcome| Some(outcome.stalls?.cv)))
        .number(&EFFICIENCY, over(policy, |outcome| outcome.efficiency))
}

fn message_rows(outcome: &Outcome) -> Vec<Record> {
    let sent = Message::NAMES.iter().zip(outcome.messages_by_kind).filter(|(_, count)| *count > 0);
    sent.map(|(kind, count)| {
        Record::new().text("type", "type", *kind).number(&MESSAGE_COUNT, count)
    })
    .collect()
}

fn target_rows(outcome: &Outcome) -> Vec<Record> {
    let row = |(index, target): (usize, &plimsoll_simulate::TargetOutcome)| {
        Record::new()
            .number(&TARGET, index as u64)
            .number(&TARGET_BYTES, target.bytes)
            .number(&TARGET_END, target.end)
            .number(&TARGET_BUSY, target.busy)
    };
    outcome.each_target.iter().enumerate().map(row).collect()
}

/// Returns the median over the seeds.
pub fn over<V: Into<Option<f64>>>(
    policy: &PolicyOutcomes,
    of: impl Fn(&Outcome) -> V,
) -> Option<f64> {
    median(policy.over_seeds(of))
}

pub fn median(sample: Option<Sample>) -> Option<f64> {
    sample.as_ref().map(Sample::median)
}

/// Returns the median of a count: whole for one seed and for an odd number of them.
pub fn count(policy: &PolicyOutcomes, of: impl Fn(&Outcome) -> u64) -> Value {
    match over(policy, |outcome| of(outcome) as f64) {
        Some(value) if value.fract() == 0.0 => Value::Integer(value as u64),
        Some(value) => Value::Real(value),
        None => Value::Missing,
    }
}

/// Deviation over mean of the completion of processes.
pub fn process_cv(outcome: &Outcome) -> Option<f64> {
    Some(outcome.processes?.cv)
}

/// When 95 % of the processes were done.
pub fn process_p95(outcome: &Outcome) -> Option<f64> {
    outcome.processes?;
    let ends = &outcome.ends;
    ends.get(((ends.len() as f64 * 0.95).ceil() as usize).saturating_sub(1)).copied()
}
