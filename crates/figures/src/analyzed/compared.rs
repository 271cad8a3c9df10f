//! Two histories side by side.

use plimsoll_analyze::{
    Analysis, ComparedFigure, Difference, Estimate, FigureKind, Frame, compared,
};
use plimsoll_report::html::{Axis, Lines, Page, Section};
use plimsoll_report::{Number, Record, Unit, words};

use super::numbers::*;
use super::page::distribution;

/// A history, and what it is called.
#[derive(Clone, Copy)]
pub struct Named<'a> {
    /// What it is called.
    pub name: &'a str,
    /// What it is of.
    pub frame: &'a Frame,
    /// What it says.
    pub analysis: &'a Analysis,
}

/// Returns how two histories compare.
pub fn comparison(first: &Named<'_>, second: &Named<'_>) -> Record {
    let figures = compared(first.analysis, second.analysis);
    let history = |it: &Named<'_>| {
        let [read, written] = it.analysis.system.directions.each_ref().map(|it| it.bytes as f64);
        Record::new()
            .text("name", "history", it.name)
            .number(&DAYS, known_days(it.analysis))
            .number(&TARGET_COUNT, it.frame.targets.len() as u64)
            .number(&READ, read)
            .number(&WRITTEN, written)
    };
    let rows = |kinds: &[FigureKind], numbers: [&'static Number; 5]| -> Vec<Record> {
        let some = figures.iter().filter(|it| kinds.contains(&it.kind));
        some.map(|it| row(it, numbers)).collect()
    };
    Record::new()
        .rows("histories", "compared", vec![history(first), history(second)])
        .rows("bytes", "bytes of all targets", rows(&[FigureKind::Bytes], BYTES))
        .rows("ratios", "ratios", rows(&[FigureKind::Ratio], RATIOS))
        .rows("shares", "shares of time", rows(&[FigureKind::Share], SHARES))
        .rows("correlations", "correlations", rows(&[FigureKind::Correlation], CORRELATIONS))
        .texts("answers", "in words", answers(first, second, &figures))
        .note("intervals are of 95 % each: of twenty figures that are the same, one differs by chance; both histories are taken to be independent")
}

/// Returns the days of which anything is known.
fn known_days(analysis: &Analysis) -> u64 {
    let line = &analysis.timeline;
    let is_known = |places: std::ops::Range<usize>| {
        line.bytes.iter().any(|series| series[places.clone()].iter().any(Option::is_some))
    };
    line.days().filter(|(places, _)| is_known(places.clone())).count() as u64
}

const BYTES: [&Number; 5] = [
    &FIRST_BYTES,
    &SECOND_BYTES,
    &SECOND_OVER_FIRST,
    &SECOND_OVER_FIRST_LOW,
    &SECOND_OVER_FIRST_HIGH,
];
const RATIOS: [&Number; 5] = [
    &FIRST_RATIO,
    &SECOND_RATIO,
    &SECOND_OVER_FIRST,
    &SECOND_OVER_FIRST_LOW,
    &SECOND_OVER_FIRST_HIGH,
];
const SHARES: [&Number; 5] =
    [&FIRST_SHARE, &SECOND_SHARE, &SHARE_CHANGE, &SHARE_CHANGE_LOW, &SHARE_CHANGE_HIGH];
const CORRELATIONS: [&Number; 5] =
    [&FIRST_RATIO, &SECOND_RATIO, &CHANGE, &CHANGE_LOW, &CHANGE_HIGH];

fn row(figure: &ComparedFigure, numbers: [&'static Number; 5]) -> Record {
    let [first, second, change, low, high] = numbers;
    let interval = figure.change.and_then(|it| it.interval);
    Record::new()
        .text("figure", "figure", figure.name)
        .number(first, figure.values[0].map(|it| it.value))
        .number(second, figure.values[1].map(|it| it.value))
        .number(change, figure.change.map(|it| it.value))
        .number(low, interval.map(|it| it.low))
        .number(high, interval.map(|it| it.high))
        .text("difference", "difference", verdict(figure))
}

fn verdict(figure: &ComparedFigure) -> &'static str {
    match figure.difference() {
        Difference::More => "more in the second",
        Difference::Less => "less in the second",
        Difference::None => "none that is clear",
        Difference::Unknown => "too few days to tell",
    }
}

/// Returns in words what differs, what does not clearly, and what cannot be told.
fn answers(first: &Named<'_>, second: &Named<'_>, figures: &[ComparedFigure]) -> Vec<String> {
    let mut told = Vec::new();
    for figure in figures {
        let more = match figure.difference() {
            Difference::More => "more",
            Difference::Less => "less",
            _ => continue,
        };
        if let (Some(change), [Some(one), Some(two)]) = (&figure.change, &figure.values) {
            told.push(format!(
                "{}: {more} in {} than in {}: {} against {}, {}.",
                figure.name,
                second.name,
                first.name,
                shown(figure.kind, two.value),
                shown(figure.kind, one.value),
                by_how_much(figure.kind, change)
            ));
        }
    }
    let names = |difference: Difference| -> Vec<String> {
        let some = figures.iter().filter(|it| it.difference() == difference);
        some.map(|it| it.name.to_string()).collect()
    };
    let unclear = names(Difference::None);
    if !unclear.is_empty() {
        told.push(format!(
            "No clear difference, which is not the same as none: {}.",
            unclear.join(", ")
        ));
    }
    let unknown = names(Difference::Unknown);
    if !unknown.is_empty() {
        told.push(format!("Too few days in one of them to tell: {}.", unknown.join(", ")));
    }
    told
}

fn shown(kind: FigureKind, value: f64) -> String {
    match kind {
        FigureKind::Bytes => words::bytes(value as u64),
        FigureKind::Share => words::percent(value),
        FigureKind::Ratio | FigureKind::Correlation => words::short(value),
    }
}

fn by_how_much(kind: FigureKind, change: &Estimate) -> String {
    let show = |value: f64| match kind {
        FigureKind::Share => words::percent(value),
        _ => words::short(value),
    };
    let interval = change
        .interval
        .map_or_else(String::new, |it| format!(" ({} to {})", show(it.low), show(it.high)));
    match kind {
        FigureKind::Bytes | FigureKind::Ratio => {
            format!("{} times as much{interval}", show(change.value))
        }
        _ => format!("a difference of {}{interval}", show(change.value)),
    }
}

/// Returns a page that shows two histories side by side.
pub fn comparison_page(first: &Named<'_>, second: &Named<'_>) -> String {
    let record = comparison(first, second);
    let figures = compared(first.analysis, second.analysis);
    let told = answers(first, second, &figures).join("\n");
    let mut charts = Section::new("Minutes");
    for (direction, name) in ["read", "written"].into_iter().enumerate() {
        let axis = Axis::new("bytes of a minute", Unit::Bytes);
        let mut cdf = Lines::cdf(format!("Bytes {name} in a minute"), axis);
        for of in [first, second] {
            if let Some(sample) = &of.analysis.system.directions[direction].minutes {
                cdf = cdf.line(of.name, distribution(sample.values()));
            }
        }
        charts = charts.chart(cdf);
    }
    Page::new(format!("{} and {}", first.name, second.name), "two histories side by side")
        .section(Section::new("In words").text(told))
        .section(charts)
        .section(Section::new("All numbers").record(&record))
        .footer("Made by plimsoll analyze --compare.".to_string())
        .to_html()
}
