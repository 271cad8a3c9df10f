//! What belongs to the client and what to the target of a pair.
//!
//! A client that is slow makes every target slow that it writes to. When clients and targets are paired
//! at random, both effects can be told apart: the logarithm of a pair's bandwidth is taken for the sum
//! of an instance's, a client's and a target's part, each found while the others are held, in turn,
//! until nothing moves (as in Tukey's median polish, 1977). From ranks, so that rounds in which
//! something was slow do not pull the part of what is usually fast.

use super::cells::{Cell, Cells};
use super::median_of;
use super::side::Side;
use crate::Columns;

/// Parts of clients and targets, as logarithms; 0 where a part cannot be told from the other.
pub(super) struct Effects {
    clients: Vec<f64>,
    targets: Vec<f64>,
}

/// A component that was seen less often, or with one counterpart only, has no part of its own.
const LEAST_CELLS: usize = 5;
const ROUNDS_MAX: usize = 20;
const SETTLED: f64 = 1e-4;

impl Effects {
    pub fn new(columns: &Columns, cells: &Cells) -> Self {
        let mut effects = Effects {
            clients: vec![0.0; columns.clients.len()],
            targets: vec![0.0; columns.targets.len()],
        };
        let groups =
            [Side::Target, Side::Client].map(|side| CellsOfSide::new(columns, cells, side));
        if groups.iter().all(|group| group.members.is_empty()) {
            return effects;
        }
        for _ in 0..ROUNDS_MAX {
            let centres = effects.centres(cells);
            let moved = groups.each_ref().map(|group| effects.update(cells, &centres, group));
            if !moved.contains(&true) {
                break;
            }
        }
        effects
    }

    pub fn part(&self, side: Side, number: u32) -> f64 {
        match side {
            Side::Client => self.clients[number as usize],
            Side::Target => self.targets[number as usize],
        }
    }

    /// What neither the client nor the target explains.
    pub fn rest(&self, cell: &Cell) -> f64 {
        cell.log - self.part(Side::Client, cell.client) - self.part(Side::Target, cell.target)
    }

    /// The part of each instance.
    pub fn centres(&self, cells: &Cells) -> Vec<f64> {
        let mut centres = vec![0.0; cells.rows.len()];
        let mut values = Vec::new();
        for row in cells.by_row() {
            values.clear();
            values.extend(row.iter().map(|cell| self.rest(cell)));
            centres[row[0].row as usize] = median_of(&mut values).unwrap_or(0.0);
        }
        centres
    }

    /// Sets the parts of one side; says whether any of them moved.
    fn update(&mut self, cells: &Cells, centres: &[f64], groups: &CellsOfSide) -> bool {
        let mut moved = false;
        let mut values = Vec::new();
        for (number, members) in &groups.members {
            let old = self.part(groups.side, *number);
            values.clear();
            values.extend(members.iter().map(|index| {
                let cell = &cells.cells[*index as usize];
                self.rest(cell) + old - centres[cell.row as usize]
            }));
            let new = lasting_part(&mut values);
            let parts = match groups.side {
                Side::Client => &mut self.clients,
                Side::Target => &mut self.targets,
            };
            parts[*number as usize] = new;
            moved |= has_moved(old, new);
        }
        moved
    }
}

fn has_moved(old: f64, new: f64) -> bool {
    (new - old).abs() >= SETTLED
}

/// What three quarters of the values have in common: the quartile next to zero if both lie on
/// one side of it, otherwise nothing. A client that met slow targets in half of its instances must not
/// be taken for slow; that a slow one's part comes out smaller by some of the noise does no harm.
fn lasting_part(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let quartile = |p| plimsoll_stats::sample::quantile_sorted(values, p).unwrap_or(0.0);
    quartile(0.25).max(0.0) + quartile(0.75).min(0.0)
}

/// The cells of each component of one side that can have a part of its own.
struct CellsOfSide {
    side: Side,
    members: Vec<(u32, Vec<u32>)>,
}

impl CellsOfSide {
    fn new(columns: &Columns, cells: &Cells, side: Side) -> Self {
        let components = match side {
            Side::Client => columns.clients.len(),
            Side::Target => columns.targets.len(),
        };
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); components];
        for (index, cell) in cells.cells.iter().enumerate() {
            members[cell.of(side) as usize].push(index as u32);
        }
        let other = |index: &u32| cells.cells[*index as usize].of(side.other());
        let own_part = |list: &Vec<u32>| {
            list.len() >= LEAST_CELLS && list.iter().any(|it| other(it) != other(&list[0]))
        };
        let members = (0..).zip(members).filter(|(_, list)| own_part(list)).collect();
        CellsOfSide { side, members }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cells::Row;
    use super::*;

    #[test]
    fn what_three_quarters_have_in_common_lasts() {
        let of = |values: &[f64]| lasting_part(&mut values.to_vec());
        assert_eq!(of(&[-0.5, -0.4, -0.3, -0.2, -0.1]), -0.2);
        assert_eq!(of(&[0.1, 0.5, 0.3, 0.2, 0.4]), 0.2, "in any order");
        assert_eq!(of(&[-0.5, -0.5, 0.0, 0.5, 0.5]), 0.0, "on both sides");
        assert_eq!(of(&[-0.5, -0.5, -0.5, 0.0, 0.0]), 0.0);
        assert_eq!(of(&[]), 0.0);
    }

    #[test]
    fn a_part_has_moved_if_it_has_not_settled() {
        assert!(has_moved(0.0, 0.2) && has_moved(0.2, 0.0) && has_moved(-0.1, 0.1));
        assert!(!has_moved(0.3, 0.3) && !has_moved(0.3, 0.3 + 0.5 * SETTLED));
    }

    const COUNT: u32 = 6;

    /// Instances in which each client has each target in turn, with the logarithm of the bandwidth in an instance.
    fn cells(instances: u32, log: impl Fn(u32, u32, u32) -> f64) -> Cells {
        let mut cells = Vec::new();
        for row in 0..instances {
            for client in 0..COUNT {
                let target = (client + row) % COUNT;
                cells.push(Cell { row, client, target, log: log(row, client, target) });
            }
        }
        let row = |it: u32| Row { start: it.into(), setting: 0, is_matched: false };
        Cells { cells, rows: (0..instances).map(row).collect() }
    }

    fn columns() -> Columns {
        let mut columns = Columns::default();
        for it in 0..COUNT {
            columns.clients.number(&format!("c{it}"));
            columns.targets.number(&format!("t{it}"));
        }
        columns
    }

    #[test]
    fn the_part_of_a_slow_client_and_of_a_slow_target_are_found_beside_each_other() {
        let (slow_client, slow_target) = (0.5f64.ln(), 0.8f64.ln());
        let part = |is_slow: bool, slow: f64| if is_slow { slow } else { 0.0 };
        let cells = cells(12, |row, client, target| {
            f64::from(row) + part(client == 1, slow_client) + part(target == 2, slow_target)
        });
        let effects = Effects::new(&columns(), &cells);
        for it in 0..COUNT {
            let client = effects.part(Side::Client, it);
            assert!((client - part(it == 1, slow_client)).abs() < 1e-9, "{it}: {client}");
            let target = effects.part(Side::Target, it);
            assert!((target - part(it == 2, slow_target)).abs() < 1e-9, "{it}: {target}");
        }
        for (row, centre) in effects.centres(&cells).iter().enumerate() {
            assert!((centre - row as f64).abs() < 1e-9, "the state of the whole system: {centre}");
        }
        assert!(cells.cells.iter().all(|it| (effects.rest(it) - f64::from(it.row)).abs() < 1e-9));
    }

    #[test]
    fn four_pairs_and_one_counterpart_have_no_part_of_their_own() {
        let slow = |_, client, _| if client == 1 { -1.0 } else { 0.0 };
        let part =
            |instances| Effects::new(&columns(), &cells(instances, slow)).part(Side::Client, 1);
        assert_eq!((part(4), part(5)), (0.0, -1.0));
        let mut together = cells(12, slow);
        together.cells.iter_mut().for_each(|it| it.target = it.client);
        assert_eq!(Effects::new(&columns(), &together).part(Side::Client, 1), 0.0);
    }
}
