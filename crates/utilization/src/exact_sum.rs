//! Sums of numbers with fractions that are the same in any order.

use plimsoll_stored::stored;

/// Units of one: of numbers from 2^-8 on no bit is lost.
const UNITS: f64 = (1u64 << 60) as f64;

/// A sum of numbers that are not negative, in whole units: the same to the last bit in whatever order and groups they are added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExactSum {
    units: u128,
}

stored! { ExactSum { units } }

impl ExactSum {
    /// Adds a number.
    pub(crate) fn add(&mut self, value: f64) {
        // What is beyond all numbers is as much as there are.
        self.units = self.units.saturating_add((value * UNITS) as u128);
    }

    /// Adds another sum.
    pub(crate) fn plus(&mut self, other: ExactSum) {
        self.units = self.units.saturating_add(other.units);
    }

    /// Returns the sum.
    pub fn value(self) -> f64 {
        self.units as f64 / UNITS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_groups_do_not_matter() {
        let values: Vec<f64> = (1..1000).map(|it| 97.3 / f64::from(it)).collect();
        let sum = |values: &[f64]| {
            let mut sum = ExactSum::default();
            values.iter().for_each(|it| sum.add(*it));
            sum
        };
        let all = sum(&values);
        for cut in [1, 500, 998] {
            let mut parts = sum(&values[cut..]);
            parts.plus(sum(&values[..cut]));
            assert_eq!(parts, all);
        }
        assert!((all.value() - values.iter().sum::<f64>()).abs() < 1e-9);
        let mut most = sum(&[f64::MAX, f64::INFINITY]);
        most.plus(most);
        assert!(most.value() > 1e20);
    }
}
