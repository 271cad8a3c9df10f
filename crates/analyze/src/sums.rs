//! What correlations are worked out from: sums of pairs in whole numbers, which can be added and taken away exactly.

/// Sums over pairs of values, both of them known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PairSums {
    /// Pairs.
    pub pairs: u64,
    /// Of the first value, the second one, their squares and their product.
    sums: [u128; 5],
}

plimsoll_stored::stored! { PairSums { pairs, sums } }

/// Pairs below which a correlation says nothing: two points always lie on a line.
const LEAST_PAIRS: u64 = 3;

impl PairSums {
    /// Adds a pair.
    pub fn add(&mut self, x: u64, y: u64) {
        let (x, y) = (u128::from(x), u128::from(y));
        self.pairs += 1;
        for (sum, value) in self.sums.iter_mut().zip([x, y, x * x, y * y, x * y]) {
            *sum = sum.wrapping_add(value);
        }
    }

    /// Adds the pairs of one series with another that many steps later.
    pub fn add_lagged(&mut self, x: &Known<'_>, y: &Known<'_>, lag: usize) {
        let length = x.values.len().min(y.values.len());
        let Some(pairs) = length.checked_sub(lag) else { return };
        let (first, second) = (&x.values[..pairs], &y.values[lag..lag + pairs]);
        if let (Some(x_sums), Some(y_sums)) = (x.sums, y.sums) {
            // All are known: only products depend on the lag, and what is cut off at the ends.
            let (x_sum, x_squares) = less(x_sums, &x.values[pairs..]);
            let (y_sum, y_squares) = less(less(y_sums, &y.values[..lag]), &y.values[lag + pairs..]);
            let mut product = 0u128;
            for (x, y) in first.iter().zip(second) {
                product = product.wrapping_add(u128::from(*x) * u128::from(*y));
            }
            let more = PairSums {
                pairs: pairs as u64,
                sums: [x_sum, y_sum, x_squares, y_squares, product],
            };
            return self.plus(&more);
        }
        let are_known = x.known[..pairs].iter().zip(&y.known[lag..lag + pairs]);
        for ((x, y), (x_known, y_known)) in first.iter().zip(second).zip(are_known) {
            if *x_known && *y_known {
                self.add(*x, *y);
            }
        }
    }

    /// Adds what another one has.
    pub fn plus(&mut self, other: &PairSums) {
        self.pairs = self.pairs.wrapping_add(other.pairs);
        self.sums.iter_mut().zip(other.sums).for_each(|(sum, it)| *sum = sum.wrapping_add(it));
    }

    /// Takes away what another one has.
    pub fn minus(&mut self, other: &PairSums) {
        self.pairs = self.pairs.wrapping_sub(other.pairs);
        self.sums.iter_mut().zip(other.sums).for_each(|(sum, it)| *sum = sum.wrapping_sub(it));
    }

    /// Returns Pearson's coefficient; nothing for fewer than three pairs, or where one side does not vary.
    pub fn correlation(&self) -> Option<f64> {
        if self.pairs < LEAST_PAIRS {
            return None;
        }
        let [x, y, xx, yy, xy] = self.sums;
        let product = self.centred(x, y, xy);
        let (x_square, y_square) = (self.centred(x, x, xx), self.centred(y, y, yy));
        let is_varied = x_square > 0.0 && y_square > 0.0;
        is_varied.then(|| (product / (x_square.sqrt() * y_square.sqrt())).clamp(-1.0, 1.0))
    }

    /// Returns the sum of products of deviations from the means.
    ///
    /// The means are taken off as whole numbers, in which nothing is lost (what goes beyond 128 bits on the way comes back), and what they lack of
    /// the true ones afterwards.
    fn centred(&self, x: u128, y: u128, xy: u128) -> f64 {
        let n = u128::from(self.pairs);
        let (x_mean, y_mean) = (x / n, y / n);
        let centred = xy
            .wrapping_sub(x_mean.wrapping_mul(y))
            .wrapping_sub(y_mean.wrapping_mul(x))
            .wrapping_add(n.wrapping_mul(x_mean).wrapping_mul(y_mean))
            .cast_signed();
        let left = |sum: u128, mean: u128| (sum - n * mean) as f64 / n as f64;
        centred as f64 - n as f64 * left(x, x_mean) * left(y, y_mean)
    }
}

/// Returns a sum and a sum of squares without these values.
fn less((sum, squares): (u128, u128), without: &[u64]) -> (u128, u128) {
    let (cut, cut_squares) = sums_of(without);
    (sum.wrapping_sub(cut), squares.wrapping_sub(cut_squares))
}

fn sums_of(values: &[u64]) -> (u128, u128) {
    values.iter().fold((0, 0), |(sum, squares): (u128, u128), value| {
        let value = u128::from(*value);
        (sum.wrapping_add(value), squares.wrapping_add(value * value))
    })
}

/// Values at equal steps, of which some may not be known.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    values: &'a [u64],
    known: &'a [bool],
    /// Sum and sum of squares, where all are known.
    sums: Option<(u128, u128)>,
}

impl<'a> Known<'a> {
    /// Adds up values that are all known.
    pub fn of(values: &'a [u64], known: &'a [bool]) -> Self {
        let sums = known.iter().all(|it| *it).then(|| sums_of(values));
        Known { values, known, sums }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_stats::correlation::cross_correlation;
    use proptest::prelude::*;

    fn lagged(x: &[Option<u64>], y: &[Option<u64>], lag: usize) -> PairSums {
        let split = |of: &[Option<u64>]| -> (Vec<u64>, Vec<bool>) {
            of.iter().map(|it| (it.unwrap_or(0), it.is_some())).unzip()
        };
        let ((x, x_known), (y, y_known)) = (split(x), split(y));
        let mut sums = PairSums::default();
        sums.add_lagged(&Known::of(&x, &x_known), &Known::of(&y, &y_known), lag);
        sums
    }

    fn maybe() -> impl Strategy<Value = Option<u64>> {
        prop_oneof![1 => Just(None), 9 => (0u64..1 << 50).prop_map(Some)]
    }

    proptest! {
        #[test]
        fn correlations_are_those_of_stats(
            pairs in proptest::collection::vec((maybe(), maybe()), 0..200), lag in 0usize..6,
        ) {
            let (x, y): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
            let numbers = |of: &[Option<u64>]| -> Vec<Option<f64>> {
                of.iter().map(|it| it.map(|it| it as f64)).collect()
            };
            let expected = cross_correlation(&numbers(&x), &numbers(&y), lag as isize).unwrap();
            let got = lagged(&x, &y, lag);
            prop_assert_eq!(got.pairs, expected.pairs as u64);
            match (got.correlation(), expected.r) {
                (Some(one), Some(other)) => prop_assert!((one - other).abs() < 1e-12),
                (one, other) => prop_assert_eq!(one.is_some(), other.is_some()),
            }
        }

        #[test]
        fn what_was_added_can_be_taken_away(
            x in proptest::collection::vec(maybe(), 1..50), y in proptest::collection::vec(maybe(), 1..50),
        ) {
            let (one, other) = (lagged(&x, &x, 1), lagged(&y, &y, 1));
            let mut both = one;
            both.plus(&other);
            both.minus(&other);
            prop_assert_eq!(both, one);
        }
    }

    /// Values that are nearly equal and large: a difference of rounded sums would be noise.
    #[test]
    fn small_differences_of_large_values_are_seen() {
        let x: Vec<Option<u64>> = (0..1000).map(|it| Some((1 << 49) + it % 7)).collect();
        let r = lagged(&x, &x, 7).correlation().unwrap();
        assert!((r - 1.0).abs() < 1e-12, "{r}");
        assert_eq!(lagged(&[Some(5); 9], &x[..9], 0).correlation(), None, "it does not vary");
    }
}
