//! Results as one HTML page.

use plimsoll_report::Record;
use plimsoll_report::Unit;
use plimsoll_report::html::{Page, Section, Tile};
use serde_json::Value;

use super::numbers::*;
use super::{Measured, bandwidth, clients, components, nodes, sequences, stragglers, table, times};
use crate::scores::{View, conclusion, verdict};

/// Rows of the table of settings.
const ROWS_MAX: usize = 500;

/// The whole page: who is slow comes first.
pub fn page(title: &str, measured: &Measured, view: &View) -> String {
    let columns = measured.columns;
    let subtitle = format!(
        "experiment {}: {} instances, {} clients, {} targets",
        measured.experiments,
        columns.instances().len(),
        columns.clients.len(),
        columns.targets.len()
    );
    let sections = [
        Section::new("Verdict")
            .text(conclusion(view))
            .folded(Section::new("All verdicts").record(&verdict(view))),
        at_a_glance(measured),
        bandwidth::section(measured),
    ];
    let page = sections.into_iter().fold(Page::new(title, subtitle), Page::section);
    let page = clients::section(measured).into_iter().fold(page, Page::section);
    let page = page
        .section(times::completions(measured))
        .section(components::section(measured))
        .section(stragglers::section(measured))
        .section(sequences::section(measured, view));
    let page = nodes::section(view).into_iter().fold(page, Page::section);
    page.section(times::over_time(measured))
        .section(about(measured))
        .footer(
            "Made by plimsoll. Outliers are marked, never dropped. The charts follow Xie and others: bandwidth figures 7 to 20, \
             single clients 10, completion of pairs 19, what stragglers cost 21, targets and clients 22, how long \
             targets are slow 23 to 25; LEB, PEB, EB and EAB are defined in their sections 3 and 5.1.",
        )
        .to_html()
}

fn at_a_glance(measured: &Measured) -> Section {
    let pairs = measured.columns.all_pairs().len() as u64;
    let mut tiles = vec![
        Tile::new(&INSTANCES, measured.complete),
        Tile::new(&FAILED, measured.failed),
        Tile::new(&PAIRS, pairs),
        Tile::new(&SPAN, measured.span_seconds),
    ];
    tiles.extend(extremes(measured));
    let rows = table::points(measured, ROWS_MAX, measured.has_peaks());
    let title = format!("Aggregate bandwidth by {}", measured.labels.varied);
    let record = Record::new().rows("points", title, rows);
    let section =
        measured.gathered.warnings.iter().fold(Section::new("At a glance"), Section::note);
    let section = section.tiles(&tiles).record(&record);
    if measured.gathered.failures.is_empty() {
        return section;
    }
    let failures = table::failures(measured, ROWS_MAX);
    section.record(&Record::new().rows("failures", "why instances failed", failures))
}

/// The settings with the lowest and the highest median; one tile when there is one setting.
fn extremes(measured: &Measured) -> Vec<Tile> {
    let mut known: Vec<_> = measured
        .points
        .iter()
        .filter_map(|point| Some((point, point.aggregate.as_ref()?)))
        .collect();
    known.sort_by(|a, b| a.1.median.total_cmp(&b.1.median));
    let tile = |(point, aggregate): &(&_, &plimsoll_score::Distribution)| {
        let interval = match aggregate.median_interval {
            Some((low, high)) => {
                let show = |value| Unit::BytesPerSec.show(value);
                format!("95 % interval {} to {}", show(low), show(high))
            }
            None => "no interval below twenty instances".into(),
        };
        let name = match known.len() {
            1 => String::new(),
            _ => measured.labels.long(measured.columns, point) + "; ",
        };
        Tile::new(&MEDIAN, aggregate.median).note(format!("{name}n = {}, {interval}", aggregate.n))
    };
    match known.as_slice() {
        [] => vec![Tile::new(&MEDIAN, None::<f64>)],
        [one] => vec![tile(one)],
        [lowest, .., highest] => vec![tile(lowest), tile(highest)],
    }
}

fn about(measured: &Measured) -> Section {
    let mut section = Section::new("About these results").record(&table::overview(measured));
    let sources = measured.columns.sources.iter().map(|source| source.label.as_str());
    for (results, label) in measured.gathered.results.iter().zip(sources) {
        // One directory is named by the title.
        let of = match measured.gathered.results.len() {
            1 => String::new(),
            _ => format!(" of {label}"),
        };
        if results.environment != Value::Null {
            let text = format!("{:#}", results.environment);
            section = section.folded(Section::new(format!("Environment{of}")).code(text));
        }
        if !results.plan_text.is_empty() {
            section = section.folded(Section::new(format!("Plan{of}")).code(&results.plan_text));
        }
    }
    section
}
