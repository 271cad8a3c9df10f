//! What a target gives in all when several streams write to it.

use thiserror::Error;

/// Total rate of a target for each number of streams, as a share of its rate with one.
#[derive(Debug, Clone, PartialEq)]
pub struct ServiceCurve {
    /// `shares[n - 1]` with n streams; more streams than there are entries get the last one.
    shares: Vec<f64>,
}

/// Why shares are not a service curve.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum CurveError {
    /// None at all.
    #[error("is empty")]
    Empty,
    /// One that no target has.
    #[error("has a share of {0}")]
    Share(f64),
}

/// MB/s for each of n tasks that write to one target of a Lustre file system (Wright,
/// Table F.2), n = 1 to 16.
const WRIGHT_F2: [f64; 16] = [
    211.265, 90.777, 84.758, 54.092, 42.952, 36.591, 29.626, 25.393, 21.458, 17.964, 16.608,
    15.939, 14.231, 13.299, 12.768, 10.048,
];

/// Shares that make sense. With less a target as good as stands still, and a run goes on for years.
const SHARES: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

impl ServiceCurve {
    /// The same total for any number of streams.
    pub fn flat() -> Self {
        ServiceCurve { shares: vec![1.0] }
    }

    /// The measured curve of a disk-backed target: 24 % of the total is lost at 16 tasks.
    /// Nothing was measured beyond, so the last value holds.
    pub fn wright() -> Self {
        let total = |(per_task, n): (&f64, usize)| per_task * n as f64 / WRIGHT_F2[0];
        ServiceCurve { shares: WRIGHT_F2.iter().zip(1..).map(total).collect() }
    }

    /// Shares for 1, 2, 3, … streams.
    ///
    /// # Errors
    /// Fails if there are none, or one is out of reason.
    pub fn from_shares(shares: &[f64]) -> Result<Self, CurveError> {
        let bad = shares.iter().find(|share| !SHARES.contains(*share));
        match (shares.first(), bad) {
            (None, _) => Err(CurveError::Empty),
            (_, Some(bad)) => Err(CurveError::Share(*bad)),
            _ => Ok(ServiceCurve { shares: shares.to_vec() }),
        }
    }

    /// Share of the single-stream rate that `streams` streams get in all.
    pub fn share(&self, streams: u64) -> f64 {
        match streams {
            0 => 0.0,
            n => self.shares[(n as usize).min(self.shares.len()) - 1],
        }
    }

    /// The largest share for any number of streams: no placement gets more.
    pub fn best_share(&self) -> f64 {
        self.shares.iter().copied().fold(0.0, f64::max)
    }

    /// The smallest share for any number of streams.
    pub fn worst_share(&self) -> f64 {
        self.shares.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrights_target_loses_a_quarter_at_sixteen_tasks() {
        let curve = ServiceCurve::wright();
        assert_eq!(curve.share(1), 1.0);
        assert_eq!(format!("{:.2}", 1.0 - curve.share(16)), "0.24");
        assert_eq!(curve.share(1000), curve.share(16), "nothing was measured beyond");
        assert_eq!(format!("{:.2}", curve.best_share()), "1.20", "three tasks got the most");
    }

    #[test]
    fn shares_must_be_possible() {
        for bad in [&[][..], &[0.0], &[1e-12], &[1.0, f64::NAN], &[-1.0], &[f64::INFINITY]] {
            assert!(ServiceCurve::from_shares(bad).is_err(), "{bad:?}");
        }
        assert_eq!(ServiceCurve::from_shares(&[1.0, 0.5]).unwrap().share(2), 0.5);
        assert_eq!(ServiceCurve::flat().share(0), 0.0);
    }
}
