//! A component against the others of the same instance.

use super::blame::{Blame, Partners};
use super::effect::{Cell, Cells, Effects, Side};
use crate::Columns;

/// One measure of a component.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measure {
    /// When the instance began, nanoseconds since 1970.
    pub start: u64,
    /// Logarithm of its bandwidth over the median of the others of the instance.
    pub log_ratio: f64,
}

/// The measures of one component, in order of time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Component {
    /// Its measures.
    pub measures: Vec<Measure>,
    /// The fewest others that it was compared with.
    pub others: usize,
    /// The counterpart with which it was always, and which was always with it: what is slow is
    /// one of the two, or both.
    pub inseparable: Option<u32>,
}

/// Clients and targets, each compared with its like.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Compared {
    /// By number of the target; those that were never compared have no measures.
    pub targets: Vec<Component>,
    /// By number of the client.
    pub clients: Vec<Component>,
}

impl Compared {
    /// Compares all pairs of instances that have scores. A pair that is slower than the others of
    /// its instance by more than the share `below` is blamed on one of its components.
    pub fn new(columns: &Columns, below: f64) -> Self {
        let cells = Cells::new(columns);
        let effects = Effects::new(columns, &cells);
        let blame = Blame::new(columns, &cells, &effects, below);
        let of = |side| components(columns, &cells, &effects, &blame, side);
        Compared { targets: of(Side::Target), clients: of(Side::Client) }
    }
}

fn components(
    columns: &Columns,
    cells: &Cells,
    effects: &Effects,
    blame: &Blame,
    side: Side,
) -> Vec<Component> {
    let count = match side {
        Side::Client => columns.clients.len(),
        Side::Target => columns.targets.len(),
    };
    let mut components = vec![Component { others: usize::MAX, ..Component::default() }; count];
    for row in cells.rows() {
        let start = cells.starts[row[0].row as usize];
        let kept: Vec<Cell> = row.iter().filter(|it| !blame.excuses(it, side)).copied().collect();
        compare(&kept, side, effects, start, &mut components);
    }
    components.iter_mut().for_each(|it| it.measures.sort_by_key(|measure| measure.start));
    let partners = Partners::new(cells);
    for (number, component) in (0..).zip(&mut components) {
        component.inseparable = partners.inseparable(side, number);
    }
    components
}

fn compare(row: &[Cell], side: Side, effects: &Effects, start: u64, out: &mut [Component]) {
    let mut parts = parts(row, side, effects);
    keep_comparable(&mut parts);
    if parts.len() < 2 {
        return;
    }
    parts.sort_unstable_by(|a, b| a.log.total_cmp(&b.log));
    let logs: Vec<f64> = parts.iter().map(|it| it.log).collect();
    for (place, part) in parts.iter().enumerate() {
        let component = &mut out[part.number as usize];
        let log_ratio = part.log - median_without(&logs, place);
        component.measures.push(Measure { start, log_ratio });
        component.others = component.others.min(parts.len() - 1);
    }
}

/// A component in one instance: the mean over its pairs, without the part of the counterparts.
struct Part {
    number: u32,
    pairs: usize,
    log: f64,
}

fn parts(row: &[Cell], side: Side, effects: &Effects) -> Vec<Part> {
    let adjusted = |cell: &Cell| {
        let part = effects.part(side.other(), cell.of(side.other()));
        (cell.of(side), cell.log - part)
    };
    let mut cells: Vec<(u32, f64)> = row.iter().map(adjusted).collect();
    cells.sort_unstable_by_key(|(number, _)| *number);
    let part = |group: &[(u32, f64)]| Part {
        number: group[0].0,
        pairs: group.len(),
        log: group.iter().map(|(_, log)| log).sum::<f64>() / group.len() as f64,
    };
    cells.chunk_by(|a, b| a.0 == b.0).map(part).collect()
}

/// A target that two clients share gives each of them less: only components with the same number
/// of pairs are compared, those of the commonest number.
fn keep_comparable(parts: &mut Vec<Part>) {
    let mut counts = std::collections::BTreeMap::new();
    parts.iter().for_each(|part| *counts.entry(part.pairs).or_insert(0usize) += 1);
    let commonest = counts.iter().max_by_key(|(_, count)| **count).map(|(pairs, _)| *pairs);
    parts.retain(|part| Some(part.pairs) == commonest);
}

/// The median of ascending values without the one at `place`; there are at least two.
fn median_without(sorted: &[f64], place: usize) -> f64 {
    let at = |index: usize| sorted[if index < place { index } else { index + 1 }];
    let others = sorted.len() - 1;
    match others % 2 {
        1 => at(others / 2),
        _ => (at(others / 2 - 1) + at(others / 2)) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_the_others() {
        let sorted = [1.0, 2.0, 4.0, 8.0];
        let all: Vec<f64> = (0..4).map(|place| median_without(&sorted, place)).collect();
        assert_eq!(all, [4.0, 4.0, 2.0, 2.0]);
        assert_eq!(median_without(&[1.0, 3.0, 9.0], 1), 5.0);
        assert_eq!(median_without(&[1.0, 3.0], 0), 3.0);
    }
}
