//! How long targets are slow (Xie, figs 23 to 25).

use std::collections::BTreeMap;

use plimsoll_domain::natural;
use plimsoll_report::Unit;
use plimsoll_report::html::{Axis, Gantt, Lines, Section, Span};
use plimsoll_score::sequence::{Basis, Sequence, SeriesKey, TargetSeries};
use plimsoll_score::survival::Survival;

use super::Measured;
use crate::scores::View;

/// Series of the picture; more cannot be told apart.
const ROWS_MAX: usize = 64;

pub fn section(measured: &Measured, view: &View) -> Section {
    let section = Section::new("How long targets are slow").text(
        "A measure is what a target took in one instance. It is low when it lies under the t-quantile of all \
         measures, so that a share t is always low; consecutive measures of a target that are all low, or \
         all normal, are a sequence. It lasts until the first measure of the other kind; the last one of a \
         run was not seen to end, and counts as lasting longer (Kaplan-Meier).",
    );
    let series =
        TargetSeries::new(measured.columns, measured.peaks, |it| view.scores.changed.count(it));
    if series.values().is_empty() {
        return section.note(
            "There are no measures of targets: every instance failed, is striped or shares its files.",
        );
    }
    let section = limits(section, view, &series).chart(measures(&series));
    if series.intervals().is_empty() {
        return section.note("Every target was measured once in a run: there are no sequences.");
    }
    let section = section
        .chart(times(
            "Time between measures of a target",
            "time between starts",
            series.intervals(),
        ))
        .chart(times("Length of the series of a target", "first to last measure", series.spans()))
        .chart(durations(view, "Low sequences", |it| it.low.as_ref()))
        .chart(durations(view, "Normal sequences", |it| it.normal.as_ref()));
    match view.scores.sequences.get(view.scores.sequences.len() / 2) {
        Some(middle) => picture(section, measured, &series, middle.threshold),
        None => section,
    }
}

fn limits(section: Section, view: &View, series: &TargetSeries) -> Section {
    let unit = value_axis(series).unit;
    let limit =
        |threshold: f64| Some(format!("{} (t = {threshold})", unit.show(series.limit(threshold)?)));
    let limits: Vec<String> =
        view.scores.sequences.iter().filter_map(|it| limit(it.threshold)).collect();
    let section = section.text(format!("Measures are low under {}.", limits.join(", ")));
    match view.scores.sequences.first() {
        Some(it) if it.settings > 1 => section.note(format!(
            "Measures of {} settings are compared with one quantile: some are low because of their \
             setting. The experiment \"sequences\" has one setting.",
            it.settings
        )),
        _ => section,
    }
}

fn value_axis(series: &TargetSeries) -> Axis {
    match series.basis() {
        Basis::EffectiveBandwidth => {
            Axis::new("share of the target's peak (EAB)", Unit::Ratio).reaching(0.0, 1.0)
        }
        Basis::Bandwidth => {
            Axis::new("bandwidth of a target", Unit::BytesPerSec).reaching(0.0, 0.0)
        }
    }
}

fn measures(series: &TargetSeries) -> Lines {
    let title = match series.basis() {
        Basis::EffectiveBandwidth => "Share of their peaks that targets give (EAB)",
        Basis::Bandwidth => "Bandwidth of targets, as a peak is missing",
    };
    Lines::cdf(title, value_axis(series)).distribution("measures", series.values().to_vec())
}

fn times(title: &str, axis: &str, seconds: Vec<f64>) -> Lines {
    Lines::cdf(title, Axis::new(axis, Unit::Seconds).reaching(0.0, 0.0))
        .distribution("series", seconds)
}

/// A line for each threshold, of those that have such sequences.
fn durations(
    view: &View,
    title: &str,
    of: fn(&plimsoll_score::sequence::Sequences) -> Option<&Survival>,
) -> Lines {
    let seconds = Axis::new("duration", Unit::Seconds).reaching(0.0, 0.0);
    let share = Axis::new("ended within", Unit::Percent).reaching(0.0, 100.0);
    let lines = Lines::new(title, seconds, share).steps();
    view.scores.sequences.iter().fold(lines, |lines, it| {
        let ended = of(it).map_or(Vec::new(), ended_within);
        lines.line(format!("t = {}", it.threshold), ended)
    })
}

/// Percent that ended within a time, up to the longest that was watched.
fn ended_within(survival: &Survival) -> Vec<(f64, f64)> {
    let percent = |share: f64| (1.0 - share) * 100.0;
    let first = survival.steps.first().map(|step| (step.0, 0.0));
    let last = survival.steps.last().map(|step| (survival.longest, percent(step.1)));
    let steps = survival.steps.iter().map(|(seconds, share)| (*seconds, percent(*share)));
    first.into_iter().chain(steps).chain(last).collect()
}

/// Each series as a row of low and normal sequences, from the start of its run.
fn picture(
    section: Section,
    measured: &Measured,
    series: &TargetSeries,
    threshold: f64,
) -> Section {
    let mut rows: BTreeMap<SeriesKey, Vec<Sequence>> = BTreeMap::new();
    let mut starts: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for sequence in series.each_sequence(threshold) {
        let key = sequence.series;
        let start = starts.entry((key.source, key.run)).or_insert(sequence.start);
        *start = sequence.start.min(*start);
        rows.entry(key).or_default().push(sequence);
    }
    let all = rows.len();
    let chosen = chosen(measured, rows);
    let shown = chosen.len();
    let seconds = Axis::new("time since the start of the run", Unit::Seconds).reaching(0.0, 0.0);
    let names = chosen.iter().map(|(key, _)| row_name(measured, key, starts.len() > 1));
    let title = format!("Low and normal sequences of targets, t = {threshold}");
    let kinds = vec!["normal".into(), "low".into()];
    let mut gantt = Gantt::new(title, seconds, names.collect(), kinds);
    for (row, (key, sequences)) in chosen.iter().enumerate() {
        let start = starts[&(key.source, key.run)];
        let since = |at: u64| (at - start) as f64 * 1e-9;
        for it in sequences {
            let ended = if it.ended { "" } else { ", not seen to end" };
            gantt.push(Span {
                row,
                kind: usize::from(it.is_low),
                start: since(it.start),
                end: since(it.end),
                detail: format!("{} measures{ended}", it.measures),
            });
        }
    }
    let section = section.chart(gantt);
    if shown < all {
        section
            .note(format!("{shown} of {all} series are drawn: those with the most low measures."))
    } else {
        section
    }
}

/// Those with the most low measures, in the order of their names.
fn chosen(
    measured: &Measured,
    rows: BTreeMap<SeriesKey, Vec<Sequence>>,
) -> Vec<(SeriesKey, Vec<Sequence>)> {
    let low = |sequences: &[Sequence]| -> usize {
        sequences.iter().filter(|it| it.is_low).map(|it| it.measures).sum()
    };
    let mut rows: Vec<(SeriesKey, Vec<Sequence>)> = rows.into_iter().collect();
    rows.sort_by_key(|(_, sequences)| std::cmp::Reverse(low(sequences)));
    rows.truncate(ROWS_MAX);
    let name = |key: &SeriesKey| measured.columns.targets.name(key.target);
    rows.sort_by(|(a, _), (b, _)| natural(name(a), name(b)).then_with(|| a.cmp(b)));
    rows
}

fn row_name(measured: &Measured, key: &SeriesKey, several_runs: bool) -> String {
    let target = measured.columns.targets.name(key.target);
    if !several_runs {
        return target.to_string();
    }
    match measured.columns.sources.len() {
        1 => format!("{target}, run {}", key.run),
        _ => format!(
            "{target}, run {} of {}",
            key.run, measured.columns.sources[key.source as usize].label
        ),
    }
}
