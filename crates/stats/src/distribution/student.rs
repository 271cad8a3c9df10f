//! Student's t distribution.

use std::f64::consts::FRAC_1_SQRT_2;

use super::beta::regularised;

/// P(|T| >= |t|) for T Student-distributed with `df` degrees of freedom.
pub fn student_two_sided(t: f64, df: f64) -> f64 {
    if t.is_nan() || df.is_nan() || df <= 0.0 {
        return f64::NAN;
    }
    if df > ASYMPTOTIC_FROM {
        return libm::erfc(equivalent_normal(t, df) * FRAC_1_SQRT_2);
    }
    let ratio = t / df.sqrt() * (t / df.sqrt());
    let (x, y) = (1.0 / (1.0 + ratio), 1.0 / (1.0 + 1.0 / ratio));
    regularised(df / 2.0, 0.5, x, y)
}

/// Degrees of freedom from which the expansion is exact to double precision, while the
/// continued fraction of the beta function begins to cancel.
const ASYMPTOTIC_FROM: f64 = 1e4;

/// Returns the magnitude of the normal deviate with the same tail.
///
/// G. W. Hill, "Algorithm 395: Student's t-distribution", CACM 13 (1970).
fn equivalent_normal(t: f64, df: f64) -> f64 {
    if df.is_infinite() {
        return t.abs();
    }
    let a = df - 0.5;
    let b = 48.0 * a * a;
    let y = a * (t * (t / df)).ln_1p();
    let correction = (((-0.4 * y - 3.3) * y - 24.0) * y - 85.5) / (0.8 * y * y + 100.0 + b);
    let z = y.sqrt() * ((correction + y + 3.0) / b + 1.0);
    if z.is_nan() { f64::INFINITY } else { z }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    #[test]
    fn cauchy_is_one_degree_of_freedom() {
        for t in [0.1_f64, 1.0, 5.0, 1e3, 1e8] {
            let expected = 2.0 / PI * (1.0 / t).atan();
            assert!((student_two_sided(t, 1.0) / expected - 1.0).abs() < 1e-13, "{t}");
        }
    }

    #[test]
    fn both_methods_agree_where_they_meet() {
        for t in [0.1, 1.0, 2.0, 5.0, 10.0] {
            let below = student_two_sided(t, ASYMPTOTIC_FROM);
            let above = student_two_sided(t, ASYMPTOTIC_FROM * (1.0 + 1e-15));
            assert!((below / above - 1.0).abs() < 1e-12, "{t} {below} {above}");
        }
    }

    #[test]
    fn limits_and_domain() {
        assert_eq!(student_two_sided(0.0, 5.0), 1.0);
        assert_eq!(student_two_sided(f64::INFINITY, 5.0), 0.0);
        assert_eq!(student_two_sided(-2.0, 3.0), student_two_sided(2.0, 3.0));
        assert!(student_two_sided(1.0, 0.0).is_nan());
        assert_eq!(student_two_sided(f64::INFINITY, 1e6), 0.0);
        assert_eq!(student_two_sided(f64::MAX, 1e300), 0.0);
        assert!((student_two_sided(1.0, f64::INFINITY) - 0.317_310_507_862_914_1).abs() < 1e-15);
    }
}
