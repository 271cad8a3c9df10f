//! How many independent observations would say as much as a correlated series.

use crate::StatsError;
use crate::dependence::product_at;
use crate::error::check_finite;
use crate::moments::{max_abs, mean, safe_scale};

/// Lags beyond which the search for the end of the correlation is given up.
pub const MAX_LAG: usize = 10_000;

/// The effective size of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EffectiveSample {
    /// Number of observations.
    pub n: usize,
    /// Integrated autocorrelation time τ = 1 + 2 Σ ρ(k), in steps; at least 1.
    pub autocorrelation_time: f64,
    /// n / τ: the independent observations that would fix the mean as well.
    pub effective_n: f64,
    /// Lags summed.
    pub lags: usize,
    /// Whether the sum still grew when it reached [`MAX_LAG`] or the end of the series.
    /// The effective size is then an upper bound, and the series most likely drifts.
    pub truncated: bool,
}

/// Effective sample size by the initial positive sequence.
///
/// Geyer, "Practical Markov Chain Monte Carlo", Statistical Science 7 (1992): the
/// autocorrelations (divisor n for all lags) are summed in adjacent pairs for as long
/// as the pairs are positive. A series that alternates would give τ < 1; it is held
/// at 1, so that the effective size never exceeds n.
///
/// Takes time in proportion to n times the lags summed.
///
/// # Errors
/// [`StatsError::TooFew`] below four observations, [`StatsError::NotFinite`], and
/// [`StatsError::NoVariation`] for a constant series, whose correlation is undefined.
pub fn effective_sample_size(series: &[f64]) -> Result<EffectiveSample, StatsError> {
    let n = series.len();
    if n < 4 {
        return Err(StatsError::TooFew { what: "an effective sample size", n, needed: 4 });
    }
    check_finite(series)?;
    let deviations =
        deviations(series).ok_or(StatsError::NoVariation { what: "an effective sample size" })?;
    let variance = product_at(&deviations, 0);
    let last_pair = n.min(MAX_LAG) / 2;
    let mut time = -1.0;
    let mut lags = 0;
    while lags < 2 * last_pair {
        let pair = product_at(&deviations, lags) + product_at(&deviations, lags + 1);
        if pair <= 0.0 {
            break;
        }
        time += 2.0 * (pair / variance);
        lags += 2;
    }
    let time = time.max(1.0);
    Ok(EffectiveSample {
        n,
        autocorrelation_time: time,
        effective_n: n as f64 / time,
        lags,
        truncated: lags == 2 * last_pair,
    })
}

/// Deviations from the mean, the largest brought to 1; `None` for a constant series.
fn deviations(series: &[f64]) -> Option<Vec<f64>> {
    if series.iter().all(|v| *v == series[0]) {
        return None;
    }
    let scale = safe_scale(max_abs(series));
    let centre = mean(series) * scale;
    let mut deviations: Vec<f64> = series.iter().map(|v| v * scale - centre).collect();
    let largest = max_abs(&deviations);
    deviations.iter_mut().for_each(|d| *d /= largest);
    Some(deviations)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn autoregressive(n: usize, phi: f64, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        let mut value = 0.0;
        (0..n)
            .map(|_| {
                value = phi * value + random.normal();
                value
            })
            .collect()
    }

    #[test]
    fn independent_observations_count_in_full() {
        let ess = effective_sample_size(&autoregressive(20_000, 0.0, 1)).unwrap();
        assert!(ess.effective_n > 18_000.0 && ess.effective_n <= 20_000.0, "{ess:?}");
    }

    #[test]
    fn autoregression_has_its_known_time() {
        // τ = (1 + φ) / (1 - φ) for an AR(1) process.
        let ess = effective_sample_size(&autoregressive(50_000, 0.8, 2)).unwrap();
        assert!((ess.autocorrelation_time / 9.0 - 1.0).abs() < 0.15, "{ess:?}");
        assert!(!ess.truncated);
    }

    #[test]
    fn alternation_is_not_worth_more_than_n() {
        let series: Vec<f64> = (0..100).map(|i| f64::from(i % 2)).collect();
        assert_eq!(effective_sample_size(&series).unwrap().effective_n, 100.0);
    }

    #[test]
    fn undefined_is_an_error() {
        assert!(effective_sample_size(&[1.0, 2.0, 3.0]).is_err());
        assert!(effective_sample_size(&[0.1; 10]).is_err());
        assert!(effective_sample_size(&[1.0, 2.0, f64::NAN, 3.0]).is_err());
        assert!(effective_sample_size(&[f64::MAX, -f64::MAX, 0.0, 1.0]).is_ok());
    }
}
