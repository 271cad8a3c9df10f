//! Whether a slow pair was slow because of its client or because of its target.
//!
//! A component that is slow throughout has a part of its own (see `effect`). What is slow now and then
//! is blamed by concentration: if far more of the slow pairs have one client in common than chance gives, the
//! client is blamed, and likewise a target. Slow pairs that show no such concentration are blamed
//! on their targets: when slowness moves from pair to pair, the measures cannot tell both sides
//! apart, and targets are shared by all.

use std::collections::{HashMap, HashSet};

use plimsoll_stats::distribution::binomial_at_least;

use super::effect::{Cell, Cells, Effects, Side};
use crate::Columns;

/// Chance gives a concentration like this in one set of results of a hundred.
const CONCENTRATION_ERROR: f64 = 0.01;

/// Slow pairs, and the side that each is blamed on.
pub(super) struct Blame {
    blamed: HashMap<(u32, u32, u32), Side>,
}

impl Blame {
    pub fn new(columns: &Columns, cells: &Cells, effects: &Effects, low: f64) -> Self {
        let mut blamed = HashMap::new();
        let partners = Partners::new(cells);
        let centres = effects.centres(cells);
        let limit = (1.0 - low).ln();
        let is_slow = |cell: &&Cell| {
            effects.rest(cell) - centres[cell.row as usize] < limit
                && partners.inseparable(Side::Target, cell.target).is_none()
        };
        let mut open: Vec<Cell> = cells.cells.iter().filter(is_slow).copied().collect();
        let shares = [Side::Target, Side::Client].map(|side| Shares::new(cells, side));
        while let Some((side, number)) = most_concentrated(&open, &shares) {
            let (theirs, rest): (Vec<Cell>, Vec<Cell>) =
                open.into_iter().partition(|cell| cell.of(side) == number);
            blamed.extend(theirs.iter().map(|cell| (key(cell), side)));
            open = rest;
        }
        // With one target there is nobody to compare it with: then clients answer for themselves.
        let default = if columns.targets.len() > 1 { Side::Target } else { Side::Client };
        blamed.extend(open.iter().map(|cell| (key(cell), default)));
        Blame { blamed }
    }

    /// Whether a component of that side is not to blame for a slow pair.
    pub fn excuses(&self, cell: &Cell, side: Side) -> bool {
        self.blamed.get(&key(cell)).is_some_and(|blamed| *blamed != side)
    }
}

fn key(cell: &Cell) -> (u32, u32, u32) {
    (cell.row, cell.client, cell.target)
}

/// What share of all pairs each component has.
struct Shares {
    side: Side,
    counts: HashMap<u32, usize>,
    all: usize,
}

impl Shares {
    fn new(cells: &Cells, side: Side) -> Self {
        let mut counts = HashMap::new();
        cells.cells.iter().for_each(|cell| *counts.entry(cell.of(side)).or_insert(0) += 1);
        Shares { side, counts, all: cells.cells.len() }
    }
}

/// The component with the least likely number of slow pairs, if chance does not explain it.
fn most_concentrated(open: &[Cell], shares: &[Shares; 2]) -> Option<(Side, u32)> {
    let components: usize = shares.iter().map(|it| it.counts.len()).sum();
    let mut best = (CONCENTRATION_ERROR / components.max(1) as f64, None);
    for share in shares.iter().filter(|it| it.counts.len() > 1) {
        let mut slow: HashMap<u32, u64> = HashMap::new();
        open.iter().for_each(|cell| *slow.entry(cell.of(share.side)).or_default() += 1);
        let mut slow: Vec<(u32, u64)> = slow.into_iter().collect();
        slow.sort_unstable();
        for (number, count) in slow {
            let expected = share.counts[&number] as f64 / share.all as f64;
            let p_value = binomial_at_least(count, open.len() as u64, expected);
            if p_value < best.0 {
                best = (p_value, Some((share.side, number)));
            }
        }
    }
    best.1
}

/// Components that were always together with one counterpart.
pub(super) struct Partners {
    of_target: HashMap<u32, HashSet<u32>>,
    of_client: HashMap<u32, HashSet<u32>>,
}

impl Partners {
    pub fn new(cells: &Cells) -> Self {
        let of = |side: Side| {
            let mut partners: HashMap<u32, HashSet<u32>> = HashMap::new();
            for cell in &cells.cells {
                partners.entry(cell.of(side)).or_default().insert(cell.of(side.other()));
            }
            partners
        };
        Partners { of_target: of(Side::Target), of_client: of(Side::Client) }
    }

    /// The counterpart with which it was always, and which was always with it.
    pub fn inseparable(&self, side: Side, number: u32) -> Option<u32> {
        let (own, theirs) = match side {
            Side::Target => (&self.of_target, &self.of_client),
            Side::Client => (&self.of_client, &self.of_target),
        };
        let only = |set: &HashSet<u32>| set.iter().next().copied().filter(|_| set.len() == 1);
        let partner = only(own.get(&number)?)?;
        (only(theirs.get(&partner)?)? == number).then_some(partner)
    }
}
