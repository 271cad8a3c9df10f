//! A simulation as a page with charts.

use plimsoll_report::html::{Axis, BoxPlots, BoxSummary, Lines, Page, Section};
use plimsoll_report::{Unit, words};
use plimsoll_simulate::scenario::Sweep;
use plimsoll_simulate::{Point, PolicyOutcomes, Scenario};
use plimsoll_stats::Sample;

use super::conclusion::conclusion;
use super::{single, sweep, swept};
use crate::boxes;

/// Returns the page as one file.
pub fn page(name: &str, scenario: &Scenario, points: &[Point]) -> String {
    let seeds = words::count(u64::from(scenario.seeds), "seed");
    let policies = match points[0].policies.len() {
        1 => "1 policy".into(),
        n => format!("{n} policies"),
    };
    let subtitle = format!("{}; {policies}, {seeds}", scenario.title);
    let page = Page::new(format!("Simulation {name}"), subtitle)
        .section(Section::new("What it shows").text(conclusion(scenario, points)));
    let sections = match &scenario.sweep {
        Some(swept) => of_sweep(name, scenario, swept, points),
        None => of_point(name, &points[0]),
    };
    let page = sections.into_iter().fold(page, Page::section);
    let beside = scenario.source.as_ref().map(|it| format!(" To be read beside: {it}."));
    let footer = format!("Made by plimsoll simulate {name}.{}", beside.unwrap_or_default());
    page.footer(footer).to_html()
}

fn of_point(name: &str, point: &Point) -> Vec<Section> {
    let (_, record) = single::record(name, point, false);
    let processes = point.scenario.application.processes;
    let makespan = Axis::new("makespan", Unit::Seconds);
    let summaries: Vec<BoxSummary> = point.policies.iter().filter_map(summary).collect();
    let ends = point.policies.iter().fold(
        Lines::cdf("Processes that are done, first seed", Axis::new("time", Unit::Seconds)),
        |lines, policy| {
            let name = policy.policy.to_string();
            lines.line(name, steps(&policy.outcomes[0].ends, processes))
        },
    );
    let mut charts = Section::new("Charts");
    if !summaries.is_empty() {
        let boxes = BoxPlots::new("Makespan over the seeds", "policy", makespan);
        charts = charts.chart(summaries.into_iter().fold(boxes, BoxPlots::summary));
    }
    vec![charts.chart(ends), Section::new("Numbers").record(&record)]
}

/// Returns a cumulative distribution of at most a few hundred points: (time, percent done). Processes that are
/// never done are not in the list, but count.
fn steps(sorted: &[f64], processes: u32) -> Vec<(f64, f64)> {
    const POINTS: usize = 400;
    let n = sorted.len();
    let every = n.div_ceil(POINTS).max(1);
    let indices = (0..n).step_by(every).chain(n.checked_sub(1));
    indices
        .map(|index| (sorted[index], 100.0 * (index + 1) as f64 / f64::from(processes)))
        .collect()
}

/// None of a policy that lost something: it has no makespan, and a box at 0 would look best.
fn summary(policy: &PolicyOutcomes) -> Option<BoxSummary> {
    let name = policy.policy.to_string();
    let sample = policy.over_seeds(|outcome| outcome.makespan)?;
    Some(boxes::summary(name, &sample))
}

fn of_sweep(name: &str, scenario: &Scenario, swept: &Sweep, points: &[Point]) -> Vec<Section> {
    let (_, record) = sweep::record(name, scenario, swept, points);
    let charts = Section::new("Charts");
    let charts = match swept.across {
        Some(_) => sweep::maps(swept, points).into_iter().fold(charts, Section::chart),
        None if scenario.application.bursts > 1 => charts
            .chart(over_values("Time of the program", swept, points, |it| it.program_time))
            .chart(over_values("Longest wait of a burst", swept, points, |it| {
                Some(it.stalls?.most)
            }))
            .chart(over_values("Makespan", swept, points, |outcome| outcome.makespan)),
        None => charts
            .chart(over_values("Makespan", swept, points, |outcome| outcome.makespan))
            .chart(over_values("Read-back time", swept, points, |outcome| outcome.read_makespan)),
    };
    vec![charts, Section::new("Numbers").record(&record)]
}

fn over_values(
    what: &str,
    swept: &Sweep,
    points: &[Point],
    of: impl Fn(&plimsoll_simulate::Outcome) -> Option<f64>,
) -> Lines {
    let at = |point: &Point, nth: usize| {
        Some((point.value?, point.policies[nth].over_seeds(&of).as_ref().map(Sample::median)?))
    };
    let lines: Vec<(String, Vec<(f64, f64)>)> = (0..points[0].policies.len())
        .map(|nth| {
            let name = swept::swept_name(swept, &points[0].policies[nth].policy);
            (name, points.iter().filter_map(|point| at(point, nth)).collect())
        })
        .collect();
    let title = heading(what, lines.iter().flat_map(|(_, line)| line.iter().map(|it| it.1)));
    let y = Axis::new("median over the seeds", Unit::Seconds);
    let chart = Lines::new(title, swept::value_axis(swept.parameter), y);
    lines.into_iter().fold(chart, |chart, (name, line)| chart.line(name, line))
}

/// Says between what the values lie, or that they hardly differ.
fn heading(what: &str, values: impl Iterator<Item = f64>) -> String {
    const ALIKE: f64 = 1.05;
    let ends = values.map(|it| (it, it)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    match ends {
        None => what.into(),
        Some((least, most)) if most <= least * ALIKE => {
            format!("{what}: {} at every value, within 5 %", words::time(least))
        }
        Some((least, most)) => {
            format!("{what}: from {} to {}", words::time(least), words::time(most))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_states_what_the_values_show() {
        assert_eq!(heading("Makespan", [77.0, 5.37].into_iter()), "Makespan: from 5.37 s to 77 s");
        assert_eq!(
            heading("Makespan", [5.0, 5.2].into_iter()),
            "Makespan: 5 s at every value, within 5 %"
        );
        assert_eq!(heading("Makespan", std::iter::empty()), "Makespan");
    }
}
