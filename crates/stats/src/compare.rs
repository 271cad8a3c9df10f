//! Everything about the difference of two samples, in one place.

use crate::bootstrap::{BootstrapInterval, Resampling, ratio_of_medians};
use crate::rank::{BrunnerMunzel, CliffsDelta, brunner_munzel, cliffs_delta, superiority};
use crate::shift::hodges_lehmann;
use crate::{Sample, StatsError};

/// How b differs from a. Every sign and ratio is that of b against a.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Values in a.
    pub n_a: usize,
    /// Values in b.
    pub n_b: usize,
    /// Median of a.
    pub median_a: f64,
    /// Median of b.
    pub median_b: f64,
    /// Median of b over median of a, with a 95 % percentile bootstrap interval; an error
    /// where a median of a may be zero or negative, or a sample has only one value.
    pub ratio: Result<BootstrapInterval, StatsError>,
    /// Hodges-Lehmann shift of b against a, in the unit of the values.
    pub shift: f64,
    /// P(a < b) + P(a = b) / 2.
    pub superiority: f64,
    /// Cliff's delta: how far the samples are apart, from -1 to 1.
    pub delta: CliffsDelta,
    /// Brunner-Munzel test of no tendency; an error if a sample has only one value.
    pub test: Result<BrunnerMunzel, StatsError>,
}

/// Compares b against a; the seed fixes the bootstrap.
///
/// Nothing here supposes a shape of distribution, equal variances or a single mode. It does
/// suppose independent values; for a series in time see [`crate::effective`].
pub fn compare(a: &Sample, b: &Sample, seed: u64) -> Comparison {
    Comparison {
        n_a: a.n(),
        n_b: b.n(),
        median_a: a.median(),
        median_b: b.median(),
        ratio: ratio_of_medians(b, a, &Resampling::with_seed(seed)),
        shift: hodges_lehmann(a, b),
        superiority: superiority(a, b),
        delta: cliffs_delta(a, b),
        test: brunner_munzel(a, b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::EffectClass;

    fn sample(values: &[f64]) -> Sample {
        Sample::try_from(values).unwrap()
    }

    #[test]
    fn all_parts_point_the_same_way() {
        let a = sample(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        let b = sample(&[3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        let comparison = compare(&a, &b, 1);
        assert_eq!((comparison.n_a, comparison.n_b), (5, 6));
        assert!(comparison.ratio.unwrap().estimate > 1.0);
        assert_eq!(comparison.shift, 2.5);
        assert!(comparison.superiority > 0.5 && comparison.delta.delta > 0.0);
        assert_eq!(comparison.delta.class, EffectClass::Large);
        assert!(comparison.test.unwrap().statistic.unwrap() > 0.0);
    }

    #[test]
    fn what_is_undefined_says_so_and_the_rest_remains() {
        let comparison = compare(&sample(&[0.0]), &sample(&[1.0, 2.0]), 1);
        assert!(comparison.ratio.is_err() && comparison.test.is_err());
        assert_eq!((comparison.shift, comparison.delta.delta), (1.5, 1.0));
    }
}
