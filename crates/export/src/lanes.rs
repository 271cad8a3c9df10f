//! Rows of the drawing of one thread. Viewers want calls of one row to lie side by side or
//! inside each other (Perfetto drops those that do not), so others get a row of their own.

/// Rows of a thread; calls that find no place in them are drawn as moments.
const LANES_MAX: usize = 64;

/// Deepest nesting: Perfetto draws 512.
const DEPTH_MAX: usize = 256;

/// The rows of a thread.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    lanes: Vec<Lane>,
}

#[derive(Debug, Default)]
struct Lane {
    latest_start: u64,
    /// Ends of the calls that last, the outermost first.
    ends: Vec<u64>,
}

impl Lanes {
    /// The first row that takes the call, or `None` when there is none. Calls come in the order
    /// of their starts, outer ones before inner ones; late ones go to a row of their own.
    pub fn place(&mut self, start: u64, end: u64) -> Option<usize> {
        if let Some(index) = self.lanes.iter_mut().position(|lane| lane.takes(start, end)) {
            return Some(index);
        }
        if self.lanes.len() == LANES_MAX {
            return None;
        }
        self.lanes.push(Lane { latest_start: start, ends: vec![end] });
        Some(self.lanes.len() - 1)
    }
}

impl Lane {
    fn takes(&mut self, start: u64, end: u64) -> bool {
        if start < self.latest_start {
            return false;
        }
        self.latest_start = start;
        while self.ends.last().is_some_and(|last| *last <= start) {
            self.ends.pop();
        }
        if self.ends.len() == DEPTH_MAX || self.ends.last().is_some_and(|last| *last < end) {
            return false;
        }
        self.ends.push(end);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_a_row_lie_side_by_side_or_inside_each_other() {
        let mut lanes = Lanes::default();
        for (start, end, lane) in [
            (0, 100, 0),  // an MPI call
            (10, 20, 0),  // and what is inside it
            (20, 100, 0), // up to its very end
            (100, 120, 0),
            (110, 130, 1), // overlaps
            (110, 110, 0),
            (120, 125, 0), // side by side again
            (90, 95, 2),   // late
            (130, 140, 0),
        ] {
            assert_eq!(lanes.place(start, end), Some(lane), "{start} to {end}");
        }
    }

    #[test]
    fn rows_and_depth_have_limits() {
        let mut lanes = Lanes::default();
        let places: Vec<_> = (0..100).map(|n| lanes.place(n, 1000 + n)).collect();
        assert_eq!(places[LANES_MAX - 1], Some(LANES_MAX - 1));
        assert_eq!(places[LANES_MAX], None);
        let mut lanes = Lanes::default();
        let places: Vec<_> = (0..300).map(|n| lanes.place(n, 1000 - n)).collect();
        assert_eq!((places[DEPTH_MAX - 1], places[DEPTH_MAX]), (Some(0), Some(1)));
    }
}
