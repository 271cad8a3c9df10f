//! What an operation costs and what a byte costs, from tests of several sizes.

use crate::StatsError;
use crate::moments::{max_abs, sum};
use crate::regression::least_squares;

/// One test: its operations, the bytes that they moved, and the time that this took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CostTest {
    /// Operations, N; positive.
    pub operations: f64,
    /// Bytes moved by all operations together; not negative.
    pub bytes: f64,
    /// Time, T, in seconds; positive.
    pub seconds: f64,
}

/// The fitted costs and how well they explain the tests.
#[derive(Debug, Clone, PartialEq)]
pub struct CostFit {
    /// Number of tests.
    pub n: usize,
    /// Seconds for each operation, w0. Negative if the model does not hold.
    pub per_operation: f64,
    /// Seconds for each byte, w1. Negative if the model does not hold.
    pub per_byte: f64,
    /// Standard errors of both; `None` with two tests, which any line fits.
    pub standard_errors: Option<[f64; 2]>,
    /// (measured - fitted) / measured time, for each test.
    pub residuals: Vec<f64>,
    /// Largest magnitude among the residuals.
    pub max_residual: f64,
    /// Root of the mean squared residual.
    pub rms_residual: f64,
    /// Condition hint of the fit; see [`crate::regression::LeastSquares::condition`].
    pub condition: f64,
}

/// Fits T = w0 N + w1 bytes so that relative errors count equally.
///
/// Each test is the row `[N/T, bytes/T] · [w0, w1] = 1`, equation 4 of Uselton &
/// Wright, "A File System Utilization Metric for I/O Characterization", Cray User Group
/// (2013). Plain least squares on T would let the longest tests decide alone.
///
/// # Errors
/// [`StatsError::TooFew`] with fewer than two tests; [`StatsError::OutOfRange`] for a
/// value out of its range; [`StatsError::RankDeficient`] if all tests use one
/// transfer size, since then the two costs cannot be told apart.
pub fn relative_cost_fit(tests: &[CostTest]) -> Result<CostFit, StatsError> {
    if tests.len() < 2 {
        return Err(StatsError::TooFew { what: "a relative cost fit", n: tests.len(), needed: 2 });
    }
    tests.iter().try_for_each(check)?;
    let operations: Vec<f64> = tests.iter().map(|t| t.operations / t.seconds).collect();
    let bytes: Vec<f64> = tests.iter().map(|t| t.bytes / t.seconds).collect();
    let fit = least_squares(&[&operations, &bytes], &vec![1.0; tests.len()])?;
    let squares = sum(fit.residuals.iter().map(|r| r * r));
    Ok(CostFit {
        n: tests.len(),
        per_operation: fit.coefficients[0],
        per_byte: fit.coefficients[1],
        standard_errors: fit.standard_errors.map(|e| [e[0], e[1]]),
        max_residual: max_abs(&fit.residuals),
        rms_residual: (squares / tests.len() as f64).sqrt(),
        residuals: fit.residuals,
        condition: fit.condition,
    })
}

fn check(test: &CostTest) -> Result<(), StatsError> {
    let checks = [
        ("operations", test.operations, test.operations > 0.0, "positive and finite"),
        ("bytes", test.bytes, test.bytes >= 0.0, "finite and not negative"),
        ("seconds", test.seconds, test.seconds > 0.0, "positive and finite"),
    ];
    for (what, value, in_range, range) in checks {
        if !(in_range && value.is_finite()) {
            return Err(StatsError::OutOfRange { what, value, range });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_of(operations: f64, size: f64, seconds: f64) -> CostTest {
        CostTest { operations, bytes: operations * size, seconds }
    }

    #[test]
    fn recovers_the_costs_it_was_given() {
        let (w0, w1) = (2e-4, 1e-9);
        let tests = [4096.0, 65_536.0, 1_048_576.0].map(|size| {
            let n = 1e9 / size;
            test_of(n, size, n * w0 + n * size * w1)
        });
        let fit = relative_cost_fit(&tests).unwrap();
        assert!((fit.per_operation / w0 - 1.0).abs() < 1e-12);
        assert!((fit.per_byte / w1 - 1.0).abs() < 1e-12);
        assert!(fit.max_residual < 1e-12 && fit.rms_residual <= fit.max_residual);
    }

    #[test]
    fn one_size_cannot_tell_operations_from_bytes() {
        let tests = [0.3, 0.7, 1.1].map(|t| test_of(1000.0 * t, 4096.0, t * 1.01));
        let error = relative_cost_fit(&tests).unwrap_err();
        assert_eq!(error, StatsError::RankDeficient { columns: 2, column: 1 });
    }

    #[test]
    fn bad_tests_are_refused() {
        let good = test_of(10.0, 4096.0, 1.0);
        assert!(relative_cost_fit(&[]).is_err());
        assert!(relative_cost_fit(&[good]).is_err());
        for bad in [
            test_of(0.0, 1.0, 1.0),
            test_of(1.0, -1.0, 1.0),
            test_of(1.0, 1.0, 0.0),
            test_of(1.0, f64::NAN, 1.0),
            test_of(1.0, 1.0, f64::INFINITY),
        ] {
            assert!(relative_cost_fit(&[good, bad]).is_err(), "{bad:?}");
        }
    }
}
