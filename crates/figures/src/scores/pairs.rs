//! Every pair with its scores, as a table for other programs.

use plimsoll_score::columns::{InstanceRow, PairRow};
use plimsoll_score::locality::Trait;
use plimsoll_score::outlier::{Mark, Marks};
use plimsoll_score::relative::lebs;
use plimsoll_score::{Columns, Source};

use super::View;

/// One pair, and what is known of its instance.
struct Row<'a> {
    columns: &'a Columns,
    source: &'a Source,
    instance: &'a InstanceRow,
    pair: &'a PairRow,
    leb: Option<f64>,
    peb: Option<f64>,
    mark: Option<Mark>,
    modified_z: Option<f64>,
    run_changed: bool,
    distance: Option<f64>,
    routers: Option<f64>,
}

/// The name of a column, and what a row has in it.
type Column = (&'static str, fn(&Row) -> String);

const COLUMNS: [Column; 21] = [
    ("results", |row| row.source.label.clone()),
    ("experiment", |row| row.source.experiment.clone()),
    ("run", |row| row.instance.run.to_string()),
    ("group", |row| row.instance.group.to_string()),
    ("round", |row| row.instance.round.to_string()),
    ("instance", |row| row.instance.instance.to_string()),
    ("varied", |row| row.columns.varied.name(row.instance.varied).to_string()),
    ("start_ns", |row| row.instance.start.to_string()),
    ("client", |row| row.columns.clients.name(row.pair.client).to_string()),
    ("target", |row| row.columns.targets.name(row.pair.target).to_string()),
    ("server", |row| {
        row.pair.server.map_or(String::new(), |it| row.columns.servers.name(it).to_string())
    }),
    ("bytes", |row| row.pair.bytes.to_string()),
    ("seconds", |row| row.pair.seconds.to_string()),
    ("bandwidth", |row| row.pair.bandwidth().to_string()),
    ("leb", |row| text(row.leb)),
    ("peb", |row| text(row.peb)),
    ("outlier", |row| match row.mark {
        Some(Mark::Low) => "low".to_string(),
        Some(Mark::High) => "high".to_string(),
        None => String::new(),
    }),
    ("modified_z", |row| text(row.modified_z)),
    ("run_changed", |row| row.run_changed.to_string()),
    ("distance", |row| text(row.distance)),
    ("routers", |row| text(row.routers)),
];

/// Missing is nothing.
fn text(value: Option<f64>) -> String {
    value.map_or(String::new(), |it| it.to_string())
}

/// Returns a cell that no spreadsheet takes for a formula: names come from files that anybody may have written. One that
/// begins as a formula does, and is no number, gets an apostrophe before it.
fn harmless(cell: String) -> String {
    let begins = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if begins && cell.parse::<f64>().is_err() { format!("'{cell}") } else { cell }
}

/// Returns the names of the columns.
pub fn names() -> [&'static str; COLUMNS.len()] {
    COLUMNS.map(|(name, _)| name)
}

/// Hands over the cells of every pair, instance by instance.
///
/// # Errors
/// When `take` fails.
pub fn rows<E>(
    view: &View,
    mut take: impl FnMut([String; COLUMNS.len()]) -> Result<(), E>,
) -> Result<(), E> {
    let columns = view.columns;
    let marks = Marks::new(columns);
    for instance in columns.instances() {
        let pairs = columns.pairs(instance);
        let scored = columns.has_scores(instance);
        let lebs = if scored { lebs(pairs) } else { Vec::new() };
        let place = |of| view.places.of_instance(of, columns, instance);
        let (distance, routers) = (place(Trait::Distance), place(Trait::Routers));
        for (index, pair) in pairs.iter().enumerate() {
            let row = Row {
                columns,
                source: &columns.sources[instance.source as usize],
                instance,
                pair,
                leb: lebs.get(index).copied(),
                peb: view.scores.fastest.peb(instance, pair).filter(|_| scored),
                mark: marks.mark(instance, pair).filter(|_| scored),
                modified_z: marks.modified_z(instance, pair).filter(|_| scored),
                run_changed: view.scores.changed.has(instance),
                distance,
                routers,
            };
            take(COLUMNS.map(|(_, cell)| harmless(cell(&row))))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_spreadsheet_takes_a_name_for_a_formula() {
        for begin in ["=", "+", "-", "@", "\t", "\r"] {
            let name = format!("{begin}HYPERLINK(\"http://h\")");
            assert_eq!(harmless(name.clone()), format!("'{name}"));
        }
        for kept in ["", "node-1", "-1.5", "+3", "1e-9", "'x"] {
            assert_eq!(harmless(kept.into()), kept);
        }
    }
}
