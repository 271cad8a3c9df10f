//! A scenario with a sweep: a table over its values, and a plot or a map.

use plimsoll_report::{RatioMap, Record, line_plot, words};
use plimsoll_route::PolicyKind;
use plimsoll_simulate::scenario::{Parameter, Sweep};
use plimsoll_simulate::{Outcome, Point, PolicyOutcomes, Scenario};
use plimsoll_stats::Sample;

use super::buffer::Buffered;
use super::loss;
use super::numbers::{
    ACROSS, BANDWIDTH, BUSIEST, COORDINATOR, CV, EAB, EVENTS, FLUID_BOUND, LOST, MAKESPAN,
    MAKESPAN_CV, MAKESPAN_HIGH, MAKESPAN_LOW, MESSAGE_RATE, MESSAGES, MOVED, OF_BOUND, PROCESS_P95,
    READ, SEED, SEEDS, SPEEDUP, STATIC_MAKESPAN, STRAGGLER_GAIN, STRAGGLER_GAIN_ALL, VALUE,
};
use super::single::{burst_columns, count, median, over, process_cv, process_p95};
use super::swept::{swept_name, value_axis};

/// Returns the title, a row for each value and policy, and a drawing.
pub fn record(
    name: &str,
    scenario: &Scenario,
    sweep: &Sweep,
    points: &[Point],
) -> (String, Record) {
    let title = format!("simulation {name}: {}", scenario.title);
    let first = &points[0].policies[0];
    let mut record = Record::new().text("scenario", "scenario", name).text(
        "parameter",
        "over",
        sweep.parameter.label(),
    );
    if let Some(across) = sweep.across {
        record = record.text("across_parameter", "and over", across.label());
    }
    record =
        record.number(&SEED, first.outcomes[0].seed).number(&SEEDS, first.outcomes.len() as u64);
    for map in maps(sweep, points) {
        record = record.picture(map.to_text());
    }
    for group in groups(scenario, sweep) {
        record = record.rows(group.key, group.title, rows(points, group.columns));
    }
    record = loss::note(record, points);
    if sweep.across.is_none() {
        for policy in 0..points[0].policies.len() {
            record = record.picture(plot(sweep, points, policy));
        }
    }
    (title, record)
}

type Columns = fn(Record, &Point, &PolicyOutcomes) -> Record;

struct Group {
    key: &'static str,
    title: &'static str,
    columns: Columns,
}

/// Returns the tables that a sweep needs, which depend on what it changes.
fn groups(scenario: &Scenario, sweep: &Sweep) -> Vec<Group> {
    let mut groups = vec![Group { key: "points", title: "times", columns: times }];
    let changes = |parameter| sweep.parameter == parameter || sweep.across == Some(parameter);
    if changes(Parameter::Scale) || changes(Parameter::Processes) {
        groups.push(Group { key: "load", title: "messages and data", columns: load });
    }
    if changes(Parameter::Pairs) {
        groups.push(Group { key: "pairs", title: "pairs and stragglers", columns: pairs });
    }
    if scenario.application.bursts > 1 {
        let title =
            if scenario.buffer.is_some() { "bursts and buffers" } else { "bursts and caches" };
        groups.push(Group { key: "bursts", title, columns: bursts });
    }
    groups
}

fn rows(points: &[Point], columns: Columns) -> Vec<Record> {
    let has_loss = loss::is_in(points);
    let of_point = |point: &'_ Point| {
        let base = |policy: &PolicyOutcomes| {
            let mut row = Record::new().number(&VALUE, point.value);
            if point.across.is_some() {
                row = row.number(&ACROSS, point.across);
            }
            let row =
                columns(row.text("policy", "policy", policy.policy.to_string()), point, policy);
            if has_loss { row.number(&LOST, loss::most_bytes(policy)) } else { row }
        };
        point.policies.iter().map(base).collect::<Vec<_>>()
    };
    points.iter().flat_map(of_point).collect()
}

fn times(row: Record, point: &Point, policy: &PolicyOutcomes) -> Record {
    let makespans = policy.over_seeds(|outcome| outcome.makespan);
    let quartiles = makespans.as_ref().map(Sample::quartiles);
    row.number(&MAKESPAN, makespans.as_ref().map(Sample::median))
        .number(&MAKESPAN_LOW, quartiles.map(|(low, _)| low))
        .number(&MAKESPAN_HIGH, quartiles.map(|(_, high)| high))
        .number(&MAKESPAN_CV, makespans.as_ref().and_then(Sample::cov))
        .number(&FLUID_BOUND, median(Sample::new(point.bounds.clone()).ok()))
        .number(&OF_BOUND, median(policy.relative_to(&point.bounds)))
        .number(&STATIC_MAKESPAN, median(Sample::new(point.static_makespans.clone()).ok()))
        .number(&SPEEDUP, median(policy.relative_to(&point.static_makespans)).map(f64::recip))
        .number(&CV, over(policy, process_cv))
        .number(&READ, over(policy, |outcome| outcome.read_makespan))
}

fn load(row: Record, _: &Point, policy: &PolicyOutcomes) -> Record {
    row.number(&BANDWIDTH, over(policy, bandwidth))
        .number(&MOVED, count(policy, |outcome| outcome.moved_bytes))
        .number(&MESSAGES, count(policy, |outcome| outcome.messages))
        .number(&COORDINATOR, count(policy, |outcome| outcome.coordinator_messages))
        .number(&BUSIEST, count(policy, |outcome| outcome.busiest_messages))
        .number(&MESSAGE_RATE, over(policy, |o| Some(o.busiest_messages as f64 / o.makespan?)))
        .number(&EVENTS, count(policy, |outcome| outcome.events))
}

fn pairs(row: Record, _: &Point, policy: &PolicyOutcomes) -> Record {
    let last_over = |outcome: &Outcome, other: Option<f64>| Some(outcome.makespan? / other?);
    let before_last = |outcome: &Outcome| outcome.ends.iter().rev().nth(1).copied();
    row.number(&EAB, over(policy, |outcome| outcome.effective_bandwidth))
        .number(&PROCESS_P95, over(policy, process_p95))
        .number(&STRAGGLER_GAIN, over(policy, |o| last_over(o, before_last(o))))
        .number(&STRAGGLER_GAIN_ALL, over(policy, |o| last_over(o, Some(o.processes?.least))))
}

fn bursts(row: Record, _: &Point, policy: &PolicyOutcomes) -> Record {
    burst_columns(row, policy)
}

fn bandwidth(outcome: &Outcome) -> Option<f64> {
    Some(outcome.committed_bytes as f64 / outcome.makespan?)
}

fn plot(sweep: &Sweep, points: &[Point], policy: usize) -> String {
    let line: Vec<(f64, f64)> = points
        .iter()
        .filter_map(|point| {
            let makespan = over(&point.policies[policy], |outcome| outcome.makespan)?;
            Some((point.value?, makespan))
        })
        .collect();
    let name = swept_name(sweep, &points[0].policies[policy].policy);
    line_plot(&line, sweep.parameter.label(), &format!("makespan of {name}, s"))
}

/// Returns how many times sooner a policy is done than static placement.
pub fn gain(point: &Point, policy: usize) -> f64 {
    let relative = point.policies[policy].relative_to(&point.static_makespans);
    median(relative).map_or(f64::NAN, f64::recip)
}

/// Says how much faster a policy is at best, if it is, and what the cells have.
fn map_title(sweep: &Sweep, points: &[Point], policy: usize) -> String {
    let name = swept_name(sweep, &points[0].policies[policy].policy);
    let most = points.iter().map(|point| gain(point, policy)).fold(f64::NAN, f64::max);
    let claim = match most {
        most if most > 1.05 => {
            format!("{name} is up to {} times as fast as static placement", words::short(most))
        }
        most if most.is_finite() => format!("{name} is nowhere faster than static placement"),
        _ => name,
    };
    format!("{claim}: makespan of static over its own")
}

/// Returns what a sweep of two parameters shows as maps; none for one of one parameter.
pub fn maps(sweep: &Sweep, points: &[Point]) -> Vec<RatioMap> {
    match Buffered::of(sweep, points) {
        Some(buffered) => buffered.maps(),
        None => gain_maps(sweep, points),
    }
}

/// Returns a map of the gain for each policy that routes; none for a sweep of one parameter.
fn gain_maps(sweep: &Sweep, points: &[Point]) -> Vec<RatioMap> {
    let Some(across) = sweep.across else { return Vec::new() };
    let routes = |policy: &usize| points[0].policies[*policy].policy.kind != PolicyKind::Static;
    let map = |policy: usize| {
        let title = map_title(sweep, points, policy);
        let rows = (value_axis(sweep.parameter), sweep.values.clone());
        let columns = (value_axis(across), sweep.across_values.clone());
        let cells = points.iter().map(|point| gain(point, policy)).collect();
        let map = RatioMap::new(title, rows, columns).cells(cells);
        let map = match (sweep.mark, &sweep.mark_name) {
            (Some(mark), Some(name)) => map.outline(mark, name.as_str()),
            _ => map,
        };
        sweep.marks.iter().fold(map, |map, mark| map.mark(mark.at, mark.name.as_str()))
    };
    (0..points[0].policies.len()).filter(routes).map(map).collect()
}
