//! The load of reads and of writes, which have something to do with each other.

use plimsoll_stats::Random;

use crate::level::draw;
use crate::plan::{LEVEL_MINUTES, LEVEL_SHAPE, SAME};

/// Reads and writes of all targets together. Both are drawn anew at the same time, and with some probability get the same: this is their correlation, and each alone is a
/// [`crate::level::Level`].
#[derive(Debug, Clone)]
pub struct Pair {
    values: [f64; 2],
}

impl Pair {
    /// Draws the first values.
    pub fn new(random: &mut Random) -> Self {
        let reads = draw(LEVEL_SHAPE, random);
        let is_same = random.unit() < SAME;
        let writes = if is_same { reads } else { draw(LEVEL_SHAPE, random) };
        Pair { values: [reads, writes] }
    }

    /// Goes on by a minute and returns the values.
    pub fn step(&mut self, random: &mut Random) -> [f64; 2] {
        if random.unit() * LEVEL_MINUTES < 1.0 {
            *self = Pair::new(random);
        }
        self.values
    }
}
