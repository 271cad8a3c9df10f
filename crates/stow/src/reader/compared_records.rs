//! Which records of a reader were compared with their checksums.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

/// Records by their numbers in the reader, a bit for each.
#[derive(Debug, Default)]
pub struct ComparedRecords {
    words: RwLock<BTreeMap<u32, u64>>,
}

impl ComparedRecords {
    /// Returns whether a record was compared.
    pub fn has(&self, number: u32) -> bool {
        let words = self.words.read().unwrap_or_else(PoisonError::into_inner);
        words.get(&(number / u64::BITS)).is_some_and(|it| it >> (number % u64::BITS) & 1 == 1)
    }

    /// A record was compared.
    pub fn add(&self, number: u32) {
        let mut words = self.words.write().unwrap_or_else(PoisonError::into_inner);
        *words.entry(number / u64::BITS).or_default() |= 1 << (number % u64::BITS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_there_and_nothing_else() {
        let records = ComparedRecords::default();
        let added = [0, 1, 63, 64, 200, u32::MAX];
        added.into_iter().for_each(|it| records.add(it));
        for number in (0..300).chain(u32::MAX - 300..=u32::MAX) {
            assert_eq!(records.has(number), added.contains(&number), "{number}");
        }
    }
}
