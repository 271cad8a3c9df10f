//! A random order of any number of things that needs no memory for it.

use plimsoll_stats::random::mix;

/// An order of the numbers below `count`: each of them once, in an order that the seed gives.
///
/// A Feistel network permutes the numbers of `bits` bits, whatever its round function is; a
/// result that is not below `count` is permuted again until one is (cycle walking: Black and
/// Rogaway, "Ciphers with arbitrary finite domains", 2002). As 2^bits is less than twice
/// `count`, that takes less than two turns on average.
#[derive(Debug, Clone, Copy)]
pub struct Permutation {
    count: u64,
    left_bits: u32,
    right_bits: u32,
    keys: [u64; ROUNDS],
}

/// Even, so that the halves, which change places in each round, end where they began. Four make
/// a good network of large halves; more are for the small ones of short bursts.
const ROUNDS: usize = 6;

impl Permutation {
    /// Returns an order of `count` numbers.
    pub fn new(count: u64, seed: u64) -> Self {
        let bits = (u64::BITS - count.saturating_sub(1).leading_zeros()).max(2);
        let keys = std::array::from_fn(|round| mix(seed ^ mix(round as u64 + 1)));
        Self { count, left_bits: bits / 2, right_bits: bits - bits / 2, keys }
    }

    /// Returns the number at a place of the order, which has to be below the count.
    pub fn at(&self, place: u64) -> u64 {
        debug_assert!(place < self.count, "place {place} of {}", self.count);
        let mut number = self.permuted(place);
        while number >= self.count {
            number = self.permuted(number);
        }
        number
    }

    fn permuted(&self, number: u64) -> u64 {
        let (mut left_bits, mut right_bits) = (self.left_bits, self.right_bits);
        let (mut left, mut right) = (number >> right_bits, number & mask(right_bits));
        for key in self.keys {
            let turned = left ^ (mix(right ^ key) & mask(left_bits));
            (left, right) = (right, turned);
            (left_bits, right_bits) = (right_bits, left_bits);
        }
        (left << right_bits) | right
    }
}

fn mask(bits: u32) -> u64 {
    (1u64 << bits) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_number_comes_once(count in 1u64..5000, seed: u64) {
            let order = Permutation::new(count, seed);
            let mut numbers: Vec<u64> = (0..count).map(|place| order.at(place)).collect();
            numbers.sort_unstable();
            prop_assert!(numbers.into_iter().eq(0..count));
        }

        #[test]
        fn numbers_of_large_orders_are_in_range_and_distinct(count in 1u64..=1 << 51, seed: u64) {
            let order = Permutation::new(count, seed);
            let places: std::collections::BTreeSet<u64> = (0..64).map(|it| it * (count / 64)).collect();
            let numbers: std::collections::BTreeSet<u64> = places.iter().map(|it| order.at(*it)).collect();
            prop_assert_eq!(numbers.len(), places.len());
            prop_assert!(numbers.iter().all(|number| *number < count));
        }
    }

    #[test]
    fn small_orders_reach_every_arrangement() {
        for count in 1..=4u64 {
            let arrangements: std::collections::BTreeSet<Vec<u64>> = (0..500)
                .map(|seed| (0..count).map(|it| Permutation::new(count, seed).at(it)).collect())
                .collect();
            assert_eq!(arrangements.len() as u64, (1..=count).product::<u64>(), "of {count}");
        }
    }

    #[test]
    fn neighbours_in_the_order_are_not_neighbours_in_place() {
        const COUNT: u64 = 100_000;
        let order = Permutation::new(COUNT, 7);
        let jumps = (1..COUNT).map(|it| order.at(it).abs_diff(order.at(it - 1)));
        let (mut near, mut sum) = (0, 0.0);
        for jump in jumps {
            near += u64::from(jump <= 1);
            sum += jump as f64;
        }
        // Independent places are a third of the range apart on average, and one in 50,000 pairs
        // are neighbours.
        let mean = sum / (COUNT - 1) as f64 / COUNT as f64;
        assert!((mean - 1.0 / 3.0).abs() < 0.01, "{mean}");
        assert!(near < 20, "{near}");
    }
}
