//! Components that were always together.

use std::collections::{HashMap, HashSet};

use super::cells::Cells;
use super::side::Side;

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
