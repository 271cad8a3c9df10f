//! Scores of targets and of clients (Xie, fig. 22).

use std::collections::BTreeMap;

use plimsoll_report::html::{Axis, Lines, Section};
use plimsoll_report::{Record, Unit};
use plimsoll_score::Distribution;
use plimsoll_score::columns::PairRow;
use plimsoll_score::names::Names;
use plimsoll_score::relative::{Fastest, Relative, by_component};

use super::Measured;
use super::numbers::*;

/// Rows of a table of components; a browser sorts and searches them.
const ROWS_MAX: usize = 500;

pub fn section(measured: &Measured) -> Section {
    let fastest = Fastest::new(&measured.columns, |_| true);
    let of =
        |key: fn(&PairRow) -> Option<u32>| by_component(&measured.columns, &fastest, |_| true, key);
    let targets = of(|pair| Some(pair.target));
    let section = Section::new("Targets and clients").text(
        "LEB is a pair's bandwidth over that of the fastest pair of its instance, PEB over that of the \
         fastest pair of all instances with equal settings. A component that is low in both is slow \
         itself; one whose PEB alone is low was measured when everything was slow.",
    );
    if targets.is_empty() {
        return section.note(
            "There are no scores: every instance failed, is striped or shares its files, so that its \
             time does not belong to one target.",
        );
    }
    let clients = of(|pair| Some(pair.client));
    let servers = of(|pair| pair.server);
    let section = component(section, "targets", &targets, &measured.columns.targets);
    let section = component(section, "clients", &clients, &measured.columns.clients);
    match servers.is_empty() {
        true => section,
        false => section.folded(Section::new("Servers").record(&table(
            "servers",
            &servers,
            &measured.columns.servers,
        ))),
    }
}

fn component(
    section: Section,
    kind: &'static str,
    scores: &BTreeMap<u32, Relative>,
    names: &Names,
) -> Section {
    let leb = ordered(scores, |it| it.leb.as_ref());
    let peb = ordered(scores, |it| it.peb.as_ref());
    let mut section = section;
    // One component in order of speed is no picture.
    if scores.len() > 1 {
        if !leb.is_empty() {
            section = section.chart(lines("LEB", kind, &leb));
        }
        section = section.chart(lines("PEB", kind, &peb));
    }
    section = section.text(lowest(kind, scores, names));
    let title = format!("All {kind} by name");
    section.folded(Section::new(title).record(&table(kind, scores, names)))
}

/// The names behind the left end of the figures.
fn lowest(kind: &str, scores: &BTreeMap<u32, Relative>, names: &Names) -> String {
    const NAMED: usize = 4;
    let words = by_median(scores).into_iter().take(NAMED).filter_map(|(number, score)| {
        let median = score.peb.as_ref()?.median;
        Some(format!("{} ({})", names.name(*number), Unit::Ratio.show(median)))
    });
    format!(
        "Lowest median PEB of {} {kind}: {}.",
        scores.len(),
        words.collect::<Vec<_>>().join(", ")
    )
}

/// Components, those with the lowest median PEB first.
fn by_median(scores: &BTreeMap<u32, Relative>) -> Vec<(&u32, &Relative)> {
    let mut listed: Vec<(&u32, &Relative)> = scores.iter().collect();
    let median = |it: &Relative| it.peb.as_ref().map_or(f64::INFINITY, |it| it.median);
    listed.sort_by(|a, b| median(a.1).total_cmp(&median(b.1)));
    listed
}

/// Distributions, those with the lowest median first.
fn ordered(
    scores: &BTreeMap<u32, Relative>,
    of: fn(&Relative) -> Option<&Distribution>,
) -> Vec<&Distribution> {
    let mut found: Vec<&Distribution> = scores.values().filter_map(of).collect();
    found.sort_by(|a, b| a.median.total_cmp(&b.median));
    found
}

fn lines(score: &str, kind: &str, ordered: &[&Distribution]) -> Lines {
    let title = format!("{score} of {kind}");
    let x = Axis::new(format!("{kind}, lowest median first"), Unit::Count);
    let y = Axis::new(score, Unit::Ratio).reaching(0.0, 1.0);
    let values = |of: fn(&Distribution) -> f64| {
        (1..).zip(ordered).map(|(place, it)| (f64::from(place), of(it))).collect()
    };
    Lines::new(title, x, y)
        .line("max", values(|it| it.max))
        .line("median", values(|it| it.median))
        .line("mean", values(|it| it.mean))
        .line("min", values(|it| it.min))
}

fn table(kind: &'static str, scores: &BTreeMap<u32, Relative>, names: &Names) -> Record {
    let listed = by_median(scores);
    let rows = listed.iter().take(ROWS_MAX).map(|(number, score)| {
        let leb = |of: fn(&Distribution) -> f64| score.leb.as_ref().map(of);
        let peb = |of: fn(&Distribution) -> f64| score.peb.as_ref().map(of);
        Record::new()
            .text("name", "name", names.name(**number))
            .number(&MEASURES, score.peb.as_ref().map(|it| it.n as u64))
            .number(&LEB_MEDIAN, leb(|it| it.median))
            .number(&LEB_MEAN, leb(|it| it.mean))
            .number(&LEB_MIN, leb(|it| it.min))
            .number(&PEB_MEDIAN, peb(|it| it.median))
            .number(&PEB_MEAN, peb(|it| it.mean))
            .number(&PEB_MIN, peb(|it| it.min))
    });
    let record = Record::new().rows(kind, "lowest PEB first", rows.collect());
    match listed.len().saturating_sub(ROWS_MAX) {
        0 => record,
        more => record.note(format!("{more} more, all faster than these.")),
    }
}
