//! Where the nodes of instances are, and what comes of it.

use plimsoll_domain::burst::Setting;
use plimsoll_report::{Record, Unit};
use plimsoll_score::locality::{ByTrait, Locality, Range, Trait};
use plimsoll_score::sequence::Basis;

use super::{View, table};
use crate::scores::numbers::*;

/// What was found, in sentences; then the correlations and the ranges.
pub fn locality(record: Record, view: &View, locality: &Locality) -> Record {
    if !view.json && locality.by_trait.is_empty() && locality.unknown.is_empty() {
        return record;
    }
    let sentences: Vec<String> = locality.by_trait.iter().map(|it| sentence(view, it)).collect();
    let correlations = locality.by_trait.iter().map(|it| correlation(view, it)).collect();
    let ranges = locality.by_trait.iter();
    let ranges = ranges.flat_map(|it| it.ranges.iter().map(move |range| ranged(view, it, range)));
    let record = record.texts("locality_findings", "where nodes are", sentences);
    let name = ("locality", "bandwidth by where nodes are");
    let record = table(record, view, name, correlations);
    let name = ("locality_ranges", "the same in ranges");
    let record = table(record, view, name, ranges.collect());
    notes(view, locality).into_iter().fold(record, Record::note)
}

/// One sentence about one setting and one trait.
pub fn sentence(view: &View, it: &ByTrait) -> String {
    let bursts = bursts(view, it);
    let what = match it.of {
        Trait::Distance => "the distance between nodes",
        Trait::Routers => "the number of I/O routers",
    };
    let sets = it.sets.len();
    let Some(found) = it.correlation else {
        return format!(
            "{bursts}: nothing can be said about {what} from {sets} sets of nodes; hint: more runs, on other nodes"
        );
    };
    let figures = format!(
        "rank correlation {:.2}, 95 % interval {:.2} to {:.2}, {}, {sets} sets of nodes",
        found.rho,
        found.low,
        found.high,
        p(found.p_value)
    );
    match it.rises() {
        Some(true) => format!("{bursts}: bandwidth rises with {what} ({figures})"),
        Some(false) => format!("{bursts}: bandwidth falls with {what} ({figures})"),
        None => format!("{bursts}: no dependence on {what} was found ({figures})"),
    }
}

/// Which setting, in words.
pub fn bursts(view: &View, it: &ByTrait) -> String {
    let setting = setting(view, it);
    let burst = Unit::Bytes.show(setting.burst.get() as f64);
    format!("{} of {burst} by {} clients", setting.operation.name(), setting.clients)
}

fn p(value: f64) -> String {
    if value < 1e-3 { "p < 0.001".into() } else { format!("p = {value:.3}") }
}

fn setting<'a>(view: &View<'a>, it: &ByTrait) -> &'a Setting {
    &view.columns.settings[it.setting as usize]
}

/// What rows of both tables begin with.
fn begun(view: &View, it: &ByTrait) -> Record {
    let setting = setting(view, it);
    Record::new()
        .text("experiment", "experiment", view.columns.experiments.name(it.experiment))
        .text("operation", "operation", setting.operation.name())
        .number(&BURST_BYTES, setting.burst.get())
        .number(&CLIENTS, u64::from(setting.clients))
        .text("by", "by", it.of.name())
}

fn correlation(view: &View, it: &ByTrait) -> Record {
    let found = it.correlation;
    begun(view, it)
        .number(&NODE_SETS, it.sets.len() as u64)
        .number(&INSTANCES, it.instances() as u64)
        .number(&CORRELATION, found.map(|it| it.rho))
        .number(&CORRELATION_LOW, found.map(|it| it.low))
        .number(&CORRELATION_HIGH, found.map(|it| it.high))
        .number(&CORRELATION_P, found.map(|it| it.p_value))
        .text("basis", "of", basis(it.basis))
}

fn ranged(view: &View, it: &ByTrait, range: &Range) -> Record {
    let interval = range.medians.median_interval;
    begun(view, it)
        .number(&VALUE_FROM, range.from)
        .number(&VALUE_TO, range.to)
        .number(&NODE_SETS, range.medians.n as u64)
        .number(&INSTANCES, range.instances as u64)
        .number(&LOCAL_MEDIAN, range.medians.median)
        .number(&MEDIAN_LOW, interval.map(|it| it.0))
        .number(&MEDIAN_HIGH, interval.map(|it| it.1))
        .text("basis", "of", basis(it.basis))
}

fn basis(basis: Basis) -> &'static str {
    match basis {
        Basis::EffectiveBandwidth => "EAB",
        Basis::Bandwidth => "the median bandwidth",
    }
}

/// Clients that the site file does not place, by name.
pub fn notes(view: &View, locality: &Locality) -> Vec<String> {
    const NAMED: usize = 8;
    let note = |(of, clients): (&Trait, &std::collections::BTreeSet<u32>)| {
        let mut names: Vec<&str> =
            clients.iter().map(|it| view.columns.clients.name(*it)).collect();
        names.sort_by(|a, b| plimsoll_domain::natural(a, b));
        let more = match names.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        names.truncate(NAMED);
        let what = match of {
            Trait::Distance => "usable coordinates",
            Trait::Routers => "router",
        };
        let left_out = locality.left_out.get(of).copied().unwrap_or(0);
        format!(
            "no {what} of {}{more} in the site file: {left_out} instances do not count for {}",
            names.join(", "),
            of.name()
        )
    };
    locality.unknown.iter().map(note).collect()
}
