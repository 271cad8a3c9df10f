//! Clients and targets of benchmark results, each compared with the others of its kind.

use super::cells::{Cell, Cells};
use super::component::{Component, Measure, against_others};
use super::effect::Effects;
use super::partners::Partners;
use super::side::Side;
use crate::Columns;

/// Clients and targets, each compared with the others of its kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Compared {
    /// By number of the target; those that were never compared have no measures.
    pub targets: Vec<Component>,
    /// By number of the client.
    pub clients: Vec<Component>,
    /// Comparisons whose targets were measured one after the other, not beside each other.
    pub matched: usize,
}

impl Compared {
    /// Compares all pairs of instances that have scores.
    ///
    /// A slow client makes targets slow, but with random pairing each of them alike: to a comparison of targets it is
    /// noise that all of them have, and the other way round. What lasts is taken out all the same.
    pub fn new(columns: &Columns) -> Self {
        let cells = Cells::new(columns);
        let effects = Effects::new(columns, &cells);
        let of = |side| components(columns, &cells, &effects, side);
        Compared {
            targets: of(Side::Target),
            clients: of(Side::Client),
            matched: cells.rows.iter().filter(|it| it.is_matched).count(),
        }
    }
}

fn components(columns: &Columns, cells: &Cells, effects: &Effects, side: Side) -> Vec<Component> {
    let count = match side {
        Side::Client => columns.clients.len(),
        Side::Target => columns.targets.len(),
    };
    let mut components = vec![Component::default(); count];
    for row in cells.by_row() {
        let (numbers, logs) = comparable(row, side, effects);
        let (set, place) = (row[0].row, &cells.rows[row[0].row as usize]);
        for (number, log_ratio) in numbers.iter().zip(against_others(&logs)) {
            let (start, setting) = (place.start, place.setting);
            let measure = Measure { start, set, setting, log_ratio };
            components[*number as usize].push(measure, logs.len() - 1);
        }
    }
    let partners = Partners::new(cells);
    for (number, component) in (0..).zip(&mut components) {
        component.finish();
        component.inseparable = partners.inseparable(side, number);
    }
    components
}

/// The components of one comparison with the mean over their pairs, without the part of the counterparts.
///
/// A target that two clients share gives each of them less: only components with the same number
/// of pairs are compared, those of the commonest number.
fn comparable(row: &[Cell], side: Side, effects: &Effects) -> (Vec<u32>, Vec<f64>) {
    let adjusted = |cell: &Cell| {
        let part = effects.part(side.other(), cell.of(side.other()));
        (cell.of(side), cell.log - part)
    };
    let mut cells: Vec<(u32, f64)> = row.iter().map(adjusted).collect();
    cells.sort_unstable_by_key(|(number, _)| *number);
    let mut counts = std::collections::BTreeMap::new();
    let groups = || cells.chunk_by(|a, b| a.0 == b.0);
    groups().for_each(|group| *counts.entry(group.len()).or_insert(0usize) += 1);
    let commonest = counts.iter().max_by_key(|(_, count)| **count).map_or(0, |(pairs, _)| *pairs);
    let mean = |group: &[(u32, f64)]| {
        (group[0].0, group.iter().map(|(_, log)| log).sum::<f64>() / group.len() as f64)
    };
    groups().filter(|group| group.len() == commonest).map(mean).unzip()
}
