//! Maps from numbers, with a hash that costs little.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use plimsoll_stats::random::mix;

/// A map from numbers of files.
pub(crate) type NumberMap = HashMap<u32, u32, BuildHasherDefault<NumberHasher>>;

#[derive(Debug, Default)]
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
