//! Scores of targets and of clients (Xie, fig. 22).

use std::collections::BTreeMap;

use plimsoll_domain::natural;
use plimsoll_report::html::{Axis, Scatter, Section};
use plimsoll_report::{Record, Unit, words};
use plimsoll_score::Distribution;
use plimsoll_score::columns::PairRow;
use plimsoll_score::names::Names;
use plimsoll_score::relative::{Fastest, Relative, by_component};

use super::Measured;
use super::numbers::*;

/// Rows of a table of components; a browser sorts and searches them.
const ROWS_MAX: usize = 5000;

pub fn section(measured: &Measured) -> Section {
    let fastest = Fastest::new(measured.columns, |_| true);
    let of =
        |key: fn(&PairRow) -> Option<u32>| by_component(measured.columns, &fastest, |_| true, key);
    let targets = of(|pair| Some(pair.target));
    let section = Section::new("Targets and clients").text(
        "LEB (lag effective bandwidth) is the bandwidth of a pair of a client and a target as a share of that of the fastest pair in \
         the same burst, PEB (pair effective bandwidth) of \
         that of the fastest ever with equal settings. A component that is low in both is slow \
         itself; one whose PEB alone is low was measured when everything was slow. Components stand in \
         the order of their names, so that those which are built alike stand together.",
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
    if servers.is_empty() {
        section
    } else {
        section.folded(Section::new("Servers").record(&table(
            "servers",
            &by_name(&servers, &measured.columns.servers),
            &measured.columns.servers,
        )))
    }
}

fn component(
    section: Section,
    kind: &'static str,
    scores: &BTreeMap<u32, Relative>,
    names: &Names,
) -> Section {
    let listed = by_name(scores, names);
    let mut section = section;
    // One component is no picture.
    if listed.len() > 1 {
        if listed.iter().any(|(_, score)| score.leb.is_some()) {
            section = section.chart(chart("LEB", kind, &listed, names, |it| it.leb.as_ref()));
        }
        section = section.chart(chart("PEB", kind, &listed, names, |it| it.peb.as_ref()));
    }
    section = section.text(lowest(kind, scores, names));
    let title = format!("All {kind} by name");
    section.folded(Section::new(title).record(&table(kind, &listed, names)))
}

/// Who is lowest.
fn lowest(kind: &str, scores: &BTreeMap<u32, Relative>, names: &Names) -> String {
    const NAMED: usize = 4;
    let median = |(number, it): (&u32, &Relative)| Some((it.peb.as_ref()?.median, *number));
    let mut medians: Vec<(f64, u32)> = scores.iter().filter_map(median).collect();
    medians.sort_by(|a, b| a.0.total_cmp(&b.0));
    let words = medians
        .into_iter()
        .take(NAMED)
        .map(|(median, number)| format!("{} ({})", names.name(number), Unit::Ratio.show(median)));
    format!(
        "Lowest of {} {kind}, median share of the fastest ever (PEB): {}.",
        scores.len(),
        words.collect::<Vec<_>>().join(", ")
    )
}

/// A component with its scores.
type Scored<'a> = (u32, &'a Relative);

/// Components in the order in which people count them: neighbours are often built alike.
fn by_name<'a>(scores: &'a BTreeMap<u32, Relative>, names: &Names) -> Vec<Scored<'a>> {
    let mut listed: Vec<Scored> = scores.iter().map(|(number, score)| (*number, score)).collect();
    listed.sort_by(|a, b| natural(names.name(a.0), names.name(b.0)));
    listed
}

/// Marks for each component. There is nothing between two of them, and so no line.
fn chart(
    score: &str,
    kind: &str,
    listed: &[Scored],
    names: &Names,
    of: fn(&Relative) -> Option<&Distribution>,
) -> Scatter {
    let title = format!("{score} of {kind}{}", stands_out(listed, names, of));
    let names = listed.iter().map(|(number, _)| names.name(*number).to_string());
    let x = Axis::named(format!("{kind} by name"), names.collect());
    let y = Axis::new(format!("{score}, share of {}", of_whom(score)), Unit::Ratio);
    let y = y.reaching(0.0, 1.0);
    let values = |value: fn(&Distribution) -> f64| {
        let placed = (0u32..).zip(listed);
        placed.filter_map(|(at, (_, it))| Some((f64::from(at), value(of(it)?)))).collect()
    };
    Scatter::new(title, x, y)
        .points("median", values(|it| it.median))
        .points("mean", values(|it| it.mean))
        .points("max", values(|it| it.max))
        .points("min", values(|it| it.min))
}

/// Whose bandwidth a score is a share of.
fn of_whom(score: &str) -> &'static str {
    match score {
        "LEB" => "the fastest pair in the same burst",
        _ => "the fastest ever",
    }
}

/// Names the lowest, where its median is far below that of the others.
fn stands_out(
    listed: &[Scored],
    names: &Names,
    of: fn(&Relative) -> Option<&Distribution>,
) -> String {
    const FAR: f64 = 0.85;
    let median = |(number, it): &Scored| Some((of(it)?.median, *number));
    let mut medians: Vec<(f64, u32)> = listed.iter().filter_map(median).collect();
    medians.sort_by(|a, b| a.0.total_cmp(&b.0));
    match medians.as_slice() {
        [lowest, others @ ..] if others.len() > 1 && lowest.0 < FAR * others[0].0 => format!(
            ": {} has {}, all others at least {}",
            names.name(lowest.1),
            words::short(lowest.0),
            words::short(others[0].0)
        ),
        _ => String::new(),
    }
}

fn table(kind: &'static str, listed: &[Scored], names: &Names) -> Record {
    let rows = listed.iter().take(ROWS_MAX).map(|(number, score)| {
        let leb = |of: fn(&Distribution) -> f64| score.leb.as_ref().map(of);
        let peb = |of: fn(&Distribution) -> f64| score.peb.as_ref().map(of);
        Record::new()
            .text("name", "name", names.name(*number))
            .number(&MEASURES, score.peb.as_ref().map(|it| it.n as u64))
            .number(&LEB_MEDIAN, leb(|it| it.median))
            .number(&LEB_MEAN, leb(|it| it.mean))
            .number(&LEB_MIN, leb(|it| it.min))
            .number(&PEB_MEDIAN, peb(|it| it.median))
            .number(&PEB_MEAN, peb(|it| it.mean))
            .number(&PEB_MIN, peb(|it| it.min))
    });
    let record = Record::new().rows(kind, "by name", rows.collect());
    match listed.len().saturating_sub(ROWS_MAX) {
        0 => record,
        more => record.note(format!("{more} more are not listed; plimsoll score --json has all.")),
    }
}
