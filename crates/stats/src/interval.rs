//! Distribution-free confidence intervals of quantiles.

use crate::distribution::{binomial_at_least, binomial_at_most};
use crate::error::check_confidence;
use crate::{Sample, StatsError};

/// An interval between two observed values, and how sure it is.
///
/// Of independent observations, the number B below the true quantile is binomial
/// whatever their distribution; so the interval from the l-th to the u-th smallest
/// covers the quantile with probability P(l <= B < u) for a continuous
/// distribution, and at least that for any other. David & Nagaraja, "Order
/// Statistics" (2003), section 7.1. Correlated observations cover less: see
/// [`crate::effective`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuantileInterval {
    /// Number of values.
    pub n: usize,
    /// The quantile's probability; 0.5 for the median.
    pub probability: f64,
    /// The sample quantile (type 7).
    pub estimate: f64,
    /// Lower end, the `low_rank`-th smallest value.
    pub low: f64,
    /// Upper end, the `high_rank`-th smallest value.
    pub high: f64,
    /// Rank of the lower end, counted from 1.
    pub low_rank: usize,
    /// Rank of the upper end, counted from 1.
    pub high_rank: usize,
    /// The confidence asked for.
    pub requested: f64,
    /// The exact confidence of these ranks; not below the one asked for.
    pub coverage: f64,
}

/// Returns the interval of the median; see [`quantile_interval`].
///
/// # Errors
/// As [`quantile_interval`]. At 95 %, six values are the least.
pub fn median_interval(sample: &Sample, confidence: f64) -> Result<QuantileInterval, StatsError> {
    quantile_interval(sample, 0.5, confidence)
}

/// Returns the narrowest pair of ranks that leaves at most half of `1 - confidence` on
/// either side.
///
/// The sample median always lies inside. For other quantiles the estimate does at
/// any usual confidence, but not by construction.
///
/// # Errors
/// [`StatsError::OutOfRange`] unless probability and confidence lie strictly
/// between 0 and 1; [`StatsError::TooFewForConfidence`], with the number needed, if
/// even the smallest and largest value do not reach the confidence.
pub fn quantile_interval(
    sample: &Sample,
    probability: f64,
    confidence: f64,
) -> Result<QuantileInterval, StatsError> {
    check_confidence(confidence)?;
    check_probability(probability)?;
    let n = sample.n();
    // Room for the rounding of 1 - confidence, so that a confidence equal to an
    // attainable coverage is attained.
    let tail = (1.0 - confidence) / 2.0 * (1.0 + 1e-12);
    let too_few = || StatsError::TooFewForConfidence {
        probability,
        confidence,
        n,
        needed: least_n(probability, tail),
    };
    let low_rank = low_rank(n as u64, probability, tail).ok_or_else(too_few)?;
    let from_top = self::low_rank(n as u64, 1.0 - probability, tail).ok_or_else(too_few)?;
    let high_rank = n as u64 + 1 - from_top;
    let coverage = 1.0
        - binomial_at_most(low_rank - 1, n as u64, probability)
        - binomial_at_least(high_rank, n as u64, probability);
    Ok(QuantileInterval {
        n,
        probability,
        estimate: sample.quantile(probability)?,
        low: sample.values()[low_rank as usize - 1],
        high: sample.values()[high_rank as usize - 1],
        low_rank: low_rank as usize,
        high_rank: high_rank as usize,
        requested: confidence,
        coverage,
    })
}

/// Returns the least n for which a sample can bound the quantile at all.
fn least_n(probability: f64, tail: f64) -> usize {
    let larger = probability.max(1.0 - probability);
    (libm::log(tail) / libm::log(larger)).ceil() as usize
}

/// Returns the largest rank l >= 1 with P(B < l) <= tail, by bisection.
fn low_rank(n: u64, probability: f64, tail: f64) -> Option<u64> {
    let fits = |rank: u64| binomial_at_most(rank - 1, n, probability) <= tail;
    if !fits(1) {
        return None;
    }
    let (mut good, mut bad) = (1, n + 1);
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if fits(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Some(good)
}

fn check_probability(probability: f64) -> Result<(), StatsError> {
    if probability > 0.0 && probability < 1.0 {
        return Ok(());
    }
    Err(StatsError::OutOfRange {
        what: "quantile probability",
        value: probability,
        range: "between 0 and 1, both excluded",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_to(n: u32) -> Sample {
        Sample::new((1..=n).map(f64::from).collect()).unwrap()
    }

    #[test]
    fn five_values_cannot_give_95_percent_and_six_can() {
        assert_eq!(
            median_interval(&one_to(5), 0.95),
            Err(StatsError::TooFewForConfidence {
                probability: 0.5,
                confidence: 0.95,
                n: 5,
                needed: 6
            })
        );
        let six = median_interval(&one_to(6), 0.95).unwrap();
        assert_eq!((six.low_rank, six.high_rank), (1, 6));
        assert_eq!((six.low, six.estimate, six.high), (1.0, 3.5, 6.0));
        assert!((six.coverage - 0.96875).abs() < 1e-15);
    }

    #[test]
    fn an_attainable_coverage_is_attained() {
        assert!(median_interval(&one_to(6), 0.96875).is_ok());
        assert!(median_interval(&one_to(2), 0.5).is_ok());
    }

    #[test]
    fn the_number_needed_is_enough_and_no_more() {
        for probability in [0.01, 0.5, 0.9, 0.95] {
            let error = quantile_interval(&one_to(1), probability, 0.95).unwrap_err();
            let StatsError::TooFewForConfidence { needed, .. } = error else {
                panic!("{error}");
            };
            let at = |n| quantile_interval(&one_to(n), probability, 0.95);
            assert!(at(needed as u32).is_ok(), "{probability}");
            assert!(at(needed as u32 - 1).is_err(), "{probability}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for bad in [0.0, 1.0, -1.0, 2.0, f64::NAN] {
            assert!(median_interval(&one_to(9), bad).is_err());
            let said = quantile_interval(&one_to(9), bad, 0.9).unwrap_err().to_string();
            assert!(said.contains("quantile probability"), "{said}");
        }
    }

    #[test]
    fn ranks_at_ten_million() {
        // scipy.stats.binom.ppf(0.025, 10**7, 0.5) = 4996901.
        assert_eq!(low_rank(10_000_000, 0.5, 0.025), Some(4_996_901));
    }
}
