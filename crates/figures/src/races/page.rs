//! Races as one HTML page: who won comes first.

use plimsoll_race::{FinishedRace, RacePlan};
use plimsoll_report::html::{Axis, BoxPlots, Page, Scatter, Section, StackedBars};
use plimsoll_report::{Unit, words};
use plimsoll_stats::Sample;

use super::{conclusion, median, of_runs};
use crate::boxes;

/// Returns the page as one file.
pub fn page(plan: &RacePlan, runs: &[FinishedRace], ending: &str) -> String {
    let targets: Vec<&str> = plan.targets.list.iter().map(|it| it.name.as_str()).collect();
    let subtitle = format!(
        "{}, {ending}: {} write {} to {}",
        words::count(runs.len() as u64, "race"),
        words::count(u64::from(plan.course.writers), "process"),
        words::bytes(plan.course.total_bytes()),
        targets.join(", ")
    );
    let answer = Section::new("Who won").text(conclusion(plan, runs));
    let numbers = of_runs(plan, runs, ending, false);
    Page::new("Race of routing policies", subtitle)
        .section(answer)
        .section(Section::new("Time").chart(ratios(plan, runs)).chart(rounds(plan, runs)))
        .section(Section::new("Data").chart(placement(plan, runs)))
        .section(Section::new("Numbers").record(&numbers))
        .footer(
            "Made by plimsoll route bench. The least possible time is all data over all bandwidth of the targets (Huang, \
             equation 1 in its general form).",
        )
        .to_html()
}

fn sound(runs: &[FinishedRace], policy: usize) -> impl Iterator<Item = &FinishedRace> {
    runs.iter().filter(move |run| run.policy == policy && run.outcome.is_sound())
}

fn axis() -> Axis {
    Axis::new("times the least possible time", Unit::Ratio).reaching(0.0, 1.0)
}

/// Returns the distribution of each policy's times.
fn ratios(plan: &RacePlan, runs: &[FinishedRace]) -> BoxPlots {
    let samples: Vec<(String, Sample)> = (0..plan.policies.len())
        .filter_map(|nth| {
            let ratios = sound(runs, nth).map(FinishedRace::ratio).collect();
            Some((plan.policies[nth].to_string(), Sample::new(ratios).ok()?))
        })
        .collect();
    let order =
        |a: &&(String, Sample), b: &&(String, Sample)| a.1.median().total_cmp(&b.1.median());
    let (least, most) = (samples.iter().min_by(order), samples.iter().max_by(order));
    let title = match (least, most) {
        (Some((_, least)), Some((_, most))) if samples.len() > 1 => format!(
            "Medians are from {} to {} times the least possible time",
            words::short(least.median()),
            words::short(most.median())
        ),
        _ => "Time over the least possible time".into(),
    };
    let boxes = BoxPlots::new(title, "policy", axis());
    samples.into_iter().fold(boxes, |boxes, (name, it)| boxes.summary(boxes::summary(name, &it)))
}

/// Returns each race, so that a drift shows that medians hide.
fn rounds(plan: &RacePlan, runs: &[FinishedRace]) -> Scatter {
    let x = Axis::new("round", Unit::Count);
    let points = |nth| sound(runs, nth).map(|run| (run.round as f64, run.ratio())).collect();
    let all = plan.policies.iter().enumerate();
    all.fold(
        Scatter::new("Each race, in the order of the rounds", x, axis()),
        |chart, (nth, it)| chart.points(it.to_string(), points(nth)),
    )
}

/// Returns how much each policy puts on each target.
fn placement(plan: &RacePlan, runs: &[FinishedRace]) -> StackedBars {
    let targets = &plan.targets.list;
    let bytes = |nth: usize| -> Vec<f64> {
        let of =
            |at: usize| median(sound(runs, nth).map(|run| run.outcome.target_bytes[at] as f64));
        (0..targets.len()).map(|at| of(at).unwrap_or(f64::NAN)).collect()
    };
    let all: Vec<(String, Vec<f64>)> =
        (0..plan.policies.len()).map(|nth| (plan.policies[nth].to_string(), bytes(nth))).collect();
    let names = targets.iter().map(|it| it.name.clone()).collect();
    let axis = Axis::new("bytes on each target, medians", Unit::Bytes);
    let bars = StackedBars::new(placement_title(plan, &all), "policy", axis, names);
    all.into_iter().fold(bars, |bars, (name, bytes)| bars.row(name, bytes))
}

/// Says how much the slowest target gets, where one is slower than the others.
fn placement_title(plan: &RacePlan, all: &[(String, Vec<f64>)]) -> String {
    let rates: Vec<f64> = plan.targets.list.iter().filter_map(|it| it.rate).collect();
    let plain = "Where the data goes".to_string();
    if rates.len() < plan.targets.list.len() {
        return plain;
    }
    let slowest = (0..rates.len()).min_by(|a, b| rates[*a].total_cmp(&rates[*b]));
    let is_slower = |slowest: &usize| {
        rates.iter().enumerate().all(|(at, rate)| at == *slowest || *rate > rates[*slowest] * 1.1)
    };
    let Some(slowest) = slowest.filter(is_slower) else { return plain };
    let known = all.iter().filter(|(_, bytes)| bytes[slowest].is_finite());
    let order =
        |a: &&(String, Vec<f64>), b: &&(String, Vec<f64>)| a.1[slowest].total_cmp(&b.1[slowest]);
    match (known.clone().max_by(order), known.min_by(order)) {
        (Some(most), Some(least)) if most.1[slowest] > least.1[slowest] => format!(
            "{}, the slowest target, gets {} from {} and {} from {}",
            plan.targets.list[slowest].name,
            words::bytes(most.1[slowest] as u64),
            most.0,
            words::bytes(least.1[slowest] as u64),
            least.0
        ),
        _ => plain,
    }
}
