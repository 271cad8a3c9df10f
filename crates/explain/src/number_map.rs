//! Maps from numbers, with a hash that costs little.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

use plimsoll_stats::random::mix;

/// A map from numbers of files.
pub(crate) type NumberMap = HashMap<u32, u32, NumberState>;

/// Where a hash begins, which differs for each map: whoever made a recording could otherwise have chosen numbers that all meet.
#[derive(Debug, Clone)]
pub(crate) struct NumberState(u64);

impl Default for NumberState {
    fn default() -> Self {
        NumberState(RandomState::new().hash_one(0))
    }
}

impl BuildHasher for NumberState {
    type Hasher = NumberHasher;

    fn build_hasher(&self) -> NumberHasher {
        NumberHasher(self.0)
    }
}

#[derive(Debug)]
pub(crate) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = mix(self.0 ^ u64::from(*byte)));
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.0 = mix(self.0 ^ u64::from(number));
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.0 = mix(self.0 ^ number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_meet_in_one_map_do_not_meet_in_another() {
        let maps: [NumberState; 2] = Default::default();
        let is_low = |map: usize, number: u64| maps[map].hash_one(number).is_multiple_of(1024);
        let chosen: Vec<u64> = (0..200_000).filter(|it| is_low(0, *it)).collect();
        assert!(chosen.len() > 100);
        assert!(chosen.iter().filter(|it| is_low(1, **it)).count() < 10);
    }
}
