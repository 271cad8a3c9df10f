//! Pairs in rows that are compared: those of one instance, or of instances that are close in time.

use std::collections::{HashMap, HashSet};

use super::side::Side;
use crate::Columns;
use crate::columns::InstanceRow;

/// A pair as logarithm of its bandwidth.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cell {
    pub row: u32,
    pub client: u32,
    pub target: u32,
    pub log: f64,
}

impl Cell {
    pub fn of(&self, side: Side) -> u32 {
        match side {
            Side::Client => self.client,
            Side::Target => self.target,
        }
    }
}

/// Pairs that are compared with each other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    /// When the first instance began.
    pub start: u64,
    /// Number of the setting.
    pub setting: u32,
    /// Whether it is made of several instances of one target each.
    pub is_matched: bool,
}

/// Pairs by row, rows in order of time.
pub(crate) struct Cells {
    pub cells: Vec<Cell>,
    pub rows: Vec<Row>,
}

impl Cells {
    /// Instances with scores.
    ///
    /// Where an experiment has one target an instance (`target`, `pipeline`, `sequences`), there is nobody to compare a target
    /// with in it. Then the first measures of all targets in one setting make a row, the second ones another, and
    /// so on: they were taken within a few instances of each other.
    pub fn new(columns: &Columns) -> Self {
        let alone = sources_of_one(columns);
        let mut matched = Matched::default();
        let (mut cells, mut rows) = (Vec::new(), Vec::new());
        for instance in columns.instances().iter().filter(|it| columns.has_scores(it)) {
            let pairs = columns.pairs(instance);
            let is_matched = alone.contains(&instance.source);
            let next = rows.len() as u32;
            let row = if is_matched { matched.row(instance, pairs[0].target, next) } else { next };
            if row == next {
                let (start, setting) = (instance.start, instance.setting);
                rows.push(Row { start, setting, is_matched });
            }
            cells.extend(pairs.iter().filter(|pair| pair.bytes > 0).map(|pair| Cell {
                row,
                client: pair.client,
                target: pair.target,
                log: pair.bandwidth().ln(),
            }));
        }
        in_order_of_time(cells, rows)
    }

    /// The cells of each row that has any.
    pub fn by_row(&self) -> impl Iterator<Item = &[Cell]> {
        self.cells.chunk_by(|a, b| a.row == b.row)
    }
}

fn in_order_of_time(mut cells: Vec<Cell>, rows: Vec<Row>) -> Cells {
    let mut order: Vec<u32> = (0..rows.len() as u32).collect();
    order.sort_by_key(|row| rows[*row as usize].start);
    let mut places = vec![0; rows.len()];
    (0..).zip(&order).for_each(|(place, row)| places[*row as usize] = place);
    cells.iter_mut().for_each(|cell| cell.row = places[cell.row as usize]);
    cells.sort_by_key(|cell| cell.row);
    Cells { cells, rows: order.iter().map(|row| rows[*row as usize]).collect() }
}

/// Rows of instances with one target each.
#[derive(Default)]
struct Matched {
    /// How often a target was measured, by source, run, setting and target.
    times: HashMap<(u32, u32, u32, u32), u32>,
    /// The row of the measures with this number, by source, run, setting and number.
    rows: HashMap<(u32, u32, u32, u32), u32>,
}

impl Matched {
    fn row(&mut self, instance: &InstanceRow, target: u32, next: u32) -> u32 {
        let (source, run, setting) = (instance.source, instance.run, instance.setting);
        let times = self.times.entry((source, run, setting, target)).or_default();
        *times += 1;
        *self.rows.entry((source, run, setting, *times)).or_insert(next)
    }
}

/// Sources of which every instance has one target, and not all the same one.
fn sources_of_one(columns: &Columns) -> HashSet<u32> {
    let mut sources: HashMap<u32, (u32, Targets)> = HashMap::new();
    for instance in columns.instances() {
        let pairs = columns.pairs(instance);
        let Some(target) = pairs.first().map(|pair| pair.target) else { continue };
        let (first, targets) = sources.entry(instance.source).or_insert((target, Targets::Same));
        if pairs.iter().any(|pair| pair.target != target) {
            *targets = Targets::Beside;
        } else if target != *first && *targets == Targets::Same {
            *targets = Targets::InTurn;
        }
    }
    let in_turn = sources.into_iter().filter(|(_, (_, targets))| *targets == Targets::InTurn);
    in_turn.map(|(source, _)| source).collect()
}

/// How the targets of a source were measured.
#[derive(PartialEq)]
enum Targets {
    /// There is one.
    Same,
    /// One after the other.
    InTurn,
    /// Some beside each other.
    Beside,
}
