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

#[cfg(test)]
mod tests {
    use super::super::cells::Cell;
    use super::*;

    #[test]
    fn inseparable_are_two_that_were_always_with_each_other() {
        let cell = |(client, target)| Cell { row: 0, client, target, log: 0.0 };
        // 5 and 6 have only each other; 1 has 2 only, which has 3 as well; 3 and 4 have two each.
        let pairs = [(5, 6), (5, 6), (1, 2), (3, 2), (3, 7), (4, 7), (4, 8)];
        let partners = Partners::new(&Cells { cells: pairs.map(cell).to_vec(), rows: Vec::new() });
        let of = |side: Side, all: [u32; 4]| all.map(|it| partners.inseparable(side, it));
        assert_eq!(of(Side::Client, [5, 1, 3, 4]), [Some(6), None, None, None]);
        assert_eq!(of(Side::Target, [6, 2, 7, 8]), [Some(5), None, None, None]);
        assert_eq!(partners.inseparable(Side::Target, 5), None, "it was never seen");
    }
}
