//! Bootstrap of medians, at a cost that does not grow with the sample.

use super::{BootstrapInterval, Resampling, check_values, interval};
use crate::random::Random;
use crate::{Sample, StatsError};

/// Percentile interval of a median, in time independent of the sample's size.
///
/// # Errors
/// If there are fewer than two values, or settings are out of range.
pub fn median(sample: &Sample, settings: &Resampling) -> Result<BootstrapInterval, StatsError> {
    check_values(sample.values())?;
    settings.check()?;
    let mut random = Random::new(settings.seed);
    let replicates =
        (0..settings.resamples).map(|_| resampled_median(sample, &mut random)).collect();
    interval(sample.n(), sample.median(), replicates, settings, settings.tails())
}

/// Percentile interval of the ratio of two medians, the samples resampled
/// independently.
///
/// # Errors
/// If either sample has fewer than two values, if settings are out of range, or
/// ([`StatsError::StatisticUndefined`]) if the denominator's median is not positive
/// on some resample: the ratio has no bounded interval then.
pub fn ratio_of_medians(
    numerator: &Sample,
    denominator: &Sample,
    settings: &Resampling,
) -> Result<BootstrapInterval, StatsError> {
    check_values(numerator.values())?;
    check_values(denominator.values())?;
    settings.check()?;
    let mut above = Random::for_stream(settings.seed, 0);
    let mut below = Random::for_stream(settings.seed, 1);
    let replicates = (0..settings.resamples)
        .map(|_| {
            ratio(
                resampled_median(numerator, &mut above),
                resampled_median(denominator, &mut below),
            )
        })
        .collect();
    let estimate = ratio(numerator.median(), denominator.median());
    let n = numerator.n().min(denominator.n());
    interval(n, estimate, replicates, settings, settings.tails())
}

fn ratio(numerator: f64, denominator: f64) -> f64 {
    if denominator > 0.0 { numerator / denominator } else { f64::NAN }
}

/// Returns the median of a resample, without drawing the resample.
///
/// The k-th smallest of n uniform numbers has the distribution Beta(k, n - k + 1), and
/// the next one above it is the smallest of n - k uniform numbers over what remains.
/// Read as positions in the sorted sample they are the order statistics of a
/// resample, exactly.
fn resampled_median(sample: &Sample, random: &mut Random) -> f64 {
    let n = sample.n();
    let value_at = |u: f64| sample.values()[((u * n as f64) as usize).min(n - 1)];
    let k = n.div_ceil(2);
    let rest = n - k;
    let below = random.gamma(k as f64);
    let above = random.gamma(rest as f64 + 1.0);
    let lower = below / (below + above);
    if n % 2 == 1 {
        return value_at(lower);
    }
    let upper = 1.0 - (1.0 - lower) * libm::pow(1.0 - random.unit(), 1.0 / rest as f64);
    value_at(lower).midpoint(value_at(upper))
}

#[cfg(test)]
mod tests {
    use super::super::resample;
    use super::*;
    use crate::moments::sort;
    use crate::sample::interpolate;

    const VALUES: [f64; 12] = [1.2, 0.7, 3.4, 2.2, 9.1, 4.4, 2.9, 1.1, 0.3, 5.0, 2.0, 7.7];

    fn sample(values: &[f64]) -> Sample {
        Sample::try_from(values).unwrap()
    }

    fn median_of(values: &mut [f64]) -> f64 {
        sort(values);
        interpolate(values, 0.5)
    }

    #[test]
    fn short_cut_to_medians_has_the_distribution_of_the_long_way() {
        for values in [&VALUES[..], &VALUES[..11], &VALUES[..2], &VALUES[..3]] {
            let settings = Resampling { resamples: 40_000, ..Resampling::with_seed(9) };
            let sorted = sample(values);
            let mut random = Random::new(4);
            let mut short: Vec<f64> =
                (0..settings.resamples).map(|_| resampled_median(&sorted, &mut random)).collect();
            let (_, mut long) = resample(values, &mut median_of, &settings).unwrap();
            sort(&mut short);
            sort(&mut long);
            for threshold in long.iter().step_by(1000) {
                let share = |of: &[f64]| {
                    of.partition_point(|v| v <= threshold) as f64 / settings.resamples as f64
                };
                // Five standard errors of the difference of two shares.
                assert!((share(&short) - share(&long)).abs() < 0.018, "{threshold}");
            }
        }
    }

    #[test]
    fn ratio_needs_a_positive_denominator() {
        let settings = Resampling::with_seed(1);
        let (a, zero) = (sample(&VALUES), sample(&[0.0, 0.0, 1.0]));
        assert!(matches!(
            ratio_of_medians(&a, &zero, &settings),
            Err(StatsError::StatisticUndefined { .. })
        ));
        let doubled = sample(&VALUES.map(|v| 2.0 * v));
        let ratio = ratio_of_medians(&doubled, &a, &settings).unwrap();
        assert_eq!(ratio.estimate, 2.0);
        assert!(ratio.low < 2.0 && ratio.high > 2.0);
    }
}
