//! By how much one sample is shifted against another.

use crate::Sample;
use crate::moments::saturating_difference;

/// Hodges-Lehmann estimate: the median of all differences of a value of b and one of a.
///
/// Hodges & Lehmann, "Estimates of Location Based on Rank Tests", Annals of Mathematical
/// Statistics 34 (1963). Exact for any size in constant memory: the n_a n_b differences are
/// never formed. Since they ascend along the rows and columns of an implied matrix, one
/// linear pass counts those up to a bound, and at most 64 bisections over the doubles
/// find the bound that splits them in half.
pub fn hodges_lehmann(a: &Sample, b: &Sample) -> f64 {
    let differences = Differences { a: a.values(), b: b.values() };
    let pairs = a.n() as u128 * b.n() as u128;
    let lower = differences.smallest_reaching(pairs.div_ceil(2));
    let upper = differences.next_reaching(lower, pairs / 2 + 1);
    lower.midpoint(upper)
}

/// All b_j - a_i, of ascending a and b.
struct Differences<'a> {
    a: &'a [f64],
    b: &'a [f64],
}

impl Differences<'_> {
    /// For each a_i, the number of b_j with b_j - a_i <= bound.
    fn counts(&self, bound: f64) -> impl Iterator<Item = (f64, usize)> {
        let mut reached = 0;
        self.a.iter().map(move |&a| {
            while reached < self.b.len() && saturating_difference(self.b[reached], a) <= bound {
                reached += 1;
            }
            (a, reached)
        })
    }

    /// Returns the number of differences up to the bound.
    fn at_most(&self, bound: f64) -> u128 {
        self.counts(bound).map(|(_, count)| count as u128).sum()
    }

    /// Returns the smallest difference with at least `rank` differences up to it.
    fn smallest_reaching(&self, rank: u128) -> f64 {
        let (first_a, last_a) = (self.a[0], self.a[self.a.len() - 1]);
        let (first_b, last_b) = (self.b[0], self.b[self.b.len() - 1]);
        let mut low = to_ordered(saturating_difference(first_b, last_a));
        let mut high = to_ordered(saturating_difference(last_b, first_a));
        while low < high {
            let middle = low + (high - low) / 2;
            if self.at_most(from_ordered(middle)) >= rank {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        // The bisection may end on -0, which as a bound equals 0.
        from_ordered(low) + 0.0
    }

    /// Returns the difference of the given rank, known to be `found` or the next above it.
    fn next_reaching(&self, found: f64, rank: u128) -> f64 {
        if self.at_most(found) >= rank {
            return found;
        }
        self.counts(found)
            .filter(|&(_, count)| count < self.b.len())
            .map(|(a, count)| saturating_difference(self.b[count], a))
            .fold(f64::INFINITY, f64::min)
    }
}

const SIGN: u64 = 1 << 63;

/// Integers in the order of the doubles they stand for.
fn to_ordered(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

fn from_ordered(ordered: u64) -> f64 {
    f64::from_bits(if ordered & SIGN == 0 { !ordered } else { ordered & !SIGN })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(values: &[f64]) -> Sample {
        Sample::try_from(values).unwrap()
    }

    #[test]
    fn finds_a_pure_shift() {
        let a = sample(&[1.0, 5.0, 9.0, 2.0]);
        let b = sample(&[4.0, 8.0, 12.0, 5.0]);
        assert_eq!(hodges_lehmann(&a, &b), 3.0);
        assert_eq!(hodges_lehmann(&b, &a), -3.0);
        assert_eq!(hodges_lehmann(&a, &a), 0.0);
        assert!(hodges_lehmann(&a, &a).is_sign_positive());
    }

    #[test]
    fn even_number_of_pairs_takes_the_midpoint() {
        assert_eq!(hodges_lehmann(&sample(&[0.0]), &sample(&[1.0, 4.0])), 2.5);
    }

    #[test]
    fn order_of_doubles_is_kept() {
        let ascending = [-f64::MAX, -1.0, -1e-310, 0.0, 1e-310, 1.0, f64::MAX];
        assert!(ascending.windows(2).all(|w| to_ordered(w[0]) < to_ordered(w[1])));
        assert!(ascending.iter().all(|&v| from_ordered(to_ordered(v)) == v));
    }

    #[test]
    fn extremes_saturate() {
        let wide = sample(&[-f64::MAX, f64::MAX]);
        assert!(hodges_lehmann(&wide, &wide).is_finite());
        assert_eq!(hodges_lehmann(&sample(&[-f64::MAX]), &sample(&[f64::MAX])), f64::MAX);
    }

    #[test]
    fn large_samples_need_no_matrix() {
        let a: Vec<f64> = (0..100_000).map(f64::from).collect();
        let b: Vec<f64> = a.iter().map(|v| v + 0.25).collect();
        assert_eq!(hodges_lehmann(&sample(&a), &sample(&b)), 0.25);
    }
}
