//! Bootstrap intervals of any statistic, reproducible from their seed.
//!
//! Efron & Tibshirani, "An Introduction to the Bootstrap" (1993). Resampling
//! supposes independent observations, and from fewer than about ten of them the
//! intervals are too narrow; for a quantile of one sample
//! [`crate::interval`] makes no such compromise.

mod median;

use crate::StatsError;
use crate::distribution::{normal_cdf, normal_quantile};
use crate::error::{check_confidence, check_finite};
use crate::moments::{mean, sort, sum};
use crate::random::Random;
use crate::sample::quantile_sorted;

pub use median::{median, ratio_of_medians};

/// How to resample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resampling {
    /// Number of resamples, from 100 to 10 million.
    pub resamples: usize,
    /// Confidence, strictly between 0 and 1.
    pub confidence: f64,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Resampling {
    /// 10 000 resamples at 95 % confidence.
    pub fn with_seed(seed: u64) -> Self {
        Self { resamples: 10_000, confidence: 0.95, seed }
    }

    fn check(&self) -> Result<(), StatsError> {
        check_confidence(self.confidence)?;
        if (100..=10_000_000).contains(&self.resamples) {
            return Ok(());
        }
        Err(StatsError::OutOfRange {
            what: "number of resamples",
            value: self.resamples as f64,
            range: "between 100 and 10000000",
        })
    }

    /// Probabilities of the two ends of an equal-tailed interval.
    fn tails(&self) -> [f64; 2] {
        let tail = (1.0 - self.confidence) / 2.0;
        [tail, 1.0 - tail]
    }
}

/// An estimate with its bootstrap interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BootstrapInterval {
    /// Number of values; of two samples, the smaller.
    pub n: usize,
    /// The statistic of the data themselves.
    pub estimate: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Nominal confidence.
    pub confidence: f64,
    /// Number of resamples behind the interval.
    pub resamples: usize,
}

/// Percentile interval: the quantiles (type 7) of the statistic over resamples.
///
/// The statistic gets a scratch copy it may reorder, and must not depend on the
/// order of its values.
///
/// # Errors
/// If the values are fewer than two or not finite, if the settings are out of
/// range, or if the statistic is not finite on some resample.
pub fn percentile(
    values: &[f64],
    mut statistic: impl FnMut(&mut [f64]) -> f64,
    settings: &Resampling,
) -> Result<BootstrapInterval, StatsError> {
    let (estimate, replicates) = resample(values, &mut statistic, settings)?;
    interval(values.len(), estimate, replicates, settings, settings.tails())
}

/// Bias-corrected and accelerated (BCa) interval.
///
/// Efron, "Better Bootstrap Confidence Intervals", JASA 82 (1987). The acceleration
/// comes from the jackknife, which calls the statistic once more for each value and
/// supposes a smooth statistic: for medians and other quantiles it is inconsistent,
/// and [`percentile`] or [`median`] is the choice.
///
/// # Errors
/// As [`percentile`]; also [`StatsError::BiasUndefined`].
pub fn bca(
    values: &[f64],
    mut statistic: impl FnMut(&mut [f64]) -> f64,
    settings: &Resampling,
) -> Result<BootstrapInterval, StatsError> {
    let (estimate, replicates) = resample(values, &mut statistic, settings)?;
    let bias = bias(&replicates, estimate)?;
    let acceleration = acceleration(&jackknife(values, &mut statistic))?;
    let ends = settings.tails().map(|tail| {
        let shifted = bias + normal_quantile(tail);
        normal_cdf(bias + shifted / (1.0 - acceleration * shifted))
    });
    interval(values.len(), estimate, replicates, settings, ends)
}

/// Returns the statistic of the values themselves, and on each resample.
fn resample(
    values: &[f64],
    statistic: &mut impl FnMut(&mut [f64]) -> f64,
    settings: &Resampling,
) -> Result<(f64, Vec<f64>), StatsError> {
    check_values(values)?;
    settings.check()?;
    let estimate = statistic(&mut values.to_vec());
    let mut random = Random::new(settings.seed);
    let mut drawn = vec![0.0; values.len()];
    let replicates = (0..settings.resamples).map(|_| {
        drawn.fill_with(|| values[random.index(values.len())]);
        statistic(&mut drawn)
    });
    Ok((estimate, replicates.collect()))
}

/// Returns the statistic with each value left out in turn.
fn jackknife(values: &[f64], statistic: &mut impl FnMut(&mut [f64]) -> f64) -> Vec<f64> {
    let mut rest = vec![0.0; values.len() - 1];
    (0..values.len())
        .map(|left_out| {
            let (before, after) = values.split_at(left_out);
            rest[..left_out].copy_from_slice(before);
            rest[left_out..].copy_from_slice(&after[1..]);
            statistic(&mut rest)
        })
        .collect()
}

/// Returns the normal quantile of the share of replicates below the estimate, half of those
/// equal to it counted in.
fn bias(replicates: &[f64], estimate: f64) -> Result<f64, StatsError> {
    let below = replicates.iter().filter(|&&r| r < estimate).count() as f64;
    let equal = replicates.iter().filter(|&&r| r == estimate).count() as f64;
    let bias = normal_quantile((below + equal / 2.0) / replicates.len() as f64);
    if bias.is_finite() { Ok(bias) } else { Err(StatsError::BiasUndefined) }
}

/// Returns a sixth of the skewness of the jackknife values; 0 if they are all equal.
fn acceleration(jackknife: &[f64]) -> Result<f64, StatsError> {
    let centre = mean(jackknife);
    let moment = |power| sum(jackknife.iter().map(|v| (centre - v).powi(power)));
    let squares = moment(2);
    if squares == 0.0 {
        return Ok(0.0);
    }
    let acceleration = moment(3) / (6.0 * squares.powf(1.5));
    if acceleration.is_finite() {
        Ok(acceleration)
    } else {
        Err(StatsError::Overflow { what: "bootstrap acceleration" })
    }
}

/// Reads the interval off the replicates, none of which may be undefined.
fn interval(
    n: usize,
    estimate: f64,
    mut replicates: Vec<f64>,
    settings: &Resampling,
    ends: [f64; 2],
) -> Result<BootstrapInterval, StatsError> {
    let undefined = replicates.iter().filter(|r| !r.is_finite()).count();
    if undefined > 0 || !estimate.is_finite() {
        return Err(StatsError::StatisticUndefined { undefined, resamples: settings.resamples });
    }
    sort(&mut replicates);
    let [low, high] = ends.map(|p| quantile_sorted(&replicates, p));
    let (Some(low), Some(high)) = (low, high) else {
        return Err(StatsError::BiasUndefined);
    };
    Ok(BootstrapInterval {
        n,
        estimate,
        low,
        high,
        confidence: settings.confidence,
        resamples: settings.resamples,
    })
}

fn check_values(values: &[f64]) -> Result<(), StatsError> {
    if values.len() < 2 {
        return Err(StatsError::TooFew {
            what: "a bootstrap interval",
            n: values.len(),
            needed: 2,
        });
    }
    check_finite(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sample;

    const VALUES: [f64; 12] = [1.2, 0.7, 3.4, 2.2, 9.1, 4.4, 2.9, 1.1, 0.3, 5.0, 2.0, 7.7];

    fn sample(values: &[f64]) -> Sample {
        Sample::try_from(values).unwrap()
    }

    fn mean_of(values: &mut [f64]) -> f64 {
        mean(values)
    }

    #[test]
    fn a_seed_fixes_the_interval() {
        let settings = Resampling::with_seed(1);
        let first = bca(&VALUES, mean_of, &settings).unwrap();
        assert_eq!(bca(&VALUES, mean_of, &settings).unwrap(), first);
        let other = bca(&VALUES, mean_of, &Resampling::with_seed(2)).unwrap();
        assert_ne!(first.low, other.low);
        assert!(first.low < first.estimate && first.estimate < first.high);
    }

    #[test]
    fn equal_values_give_a_point() {
        let settings = Resampling::with_seed(1);
        for interval in [
            percentile(&[2.0; 5], mean_of, &settings).unwrap(),
            bca(&[2.0; 5], mean_of, &settings).unwrap(),
            median(&sample(&[2.0; 5]), &settings).unwrap(),
        ] {
            assert_eq!((interval.low, interval.high), (2.0, 2.0));
        }
    }

    #[test]
    fn what_cannot_be_resampled_is_an_error() {
        let settings = Resampling::with_seed(1);
        assert!(percentile(&[], mean_of, &settings).is_err());
        assert!(percentile(&[1.0], mean_of, &settings).is_err());
        assert!(percentile(&[1.0, f64::NAN], mean_of, &settings).is_err());
        assert!(bca(&VALUES, |_| f64::NAN, &settings).is_err());
        let all = |settings: &Resampling| {
            [
                percentile(&VALUES, mean_of, settings),
                bca(&VALUES, mean_of, settings),
                median(&sample(&VALUES), settings),
                ratio_of_medians(&sample(&VALUES), &sample(&VALUES), settings),
            ]
        };
        for resamples in [0, 99, 10_000_001] {
            let settings = Resampling { resamples, ..settings };
            assert!(all(&settings).iter().all(Result::is_err), "{resamples}");
        }
        for confidence in [0.0, 1.0, -0.5, f64::NAN] {
            let settings = Resampling { confidence, ..settings };
            assert!(all(&settings).iter().all(Result::is_err), "{confidence}");
        }
        let least = Resampling { resamples: 100, ..settings };
        assert!(all(&least).iter().all(Result::is_ok));
    }
}
