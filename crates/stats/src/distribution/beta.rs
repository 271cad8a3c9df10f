//! The regularised incomplete beta function, from which binomial and Student tails
//! follow.
//!
//! The continued fraction is the common one (DLMF 8.17.22, evaluated by Lentz's
//! method). Its factor in front is the delicate part: computed from log-gamma
//! functions it loses eight digits at n = 10^7. It is computed here by Loader's
//! saddle-point expansion, which never subtracts large logarithms: C. Loader, "Fast
//! and Accurate Computation of Binomial Probabilities" (2000).

use std::f64::consts::PI;

/// Returns the probability that a beta variable with both shapes equal is at most `x`.
pub fn symmetric_beta_at_most(x: f64, shape: f64) -> f64 {
    regularised(shape, shape, x, 1.0 - x)
}

/// I_x(a, b) for positive a and b, where `x + y = 1`.
///
/// Both x and y are taken because the caller knows the small one to full
/// precision, and 1 - x would not.
pub(super) fn regularised(a: f64, b: f64, x: f64, y: f64) -> f64 {
    if !(a > 0.0 && b > 0.0 && x >= 0.0 && y >= 0.0) {
        return f64::NAN;
    }
    if x == 0.0 {
        return 0.0;
    }
    if y == 0.0 {
        return 1.0;
    }
    // Left of the mean the fraction converges fast, and gives the smaller part.
    if x < (a + 1.0) / (a + b + 2.0) { left(a, b, x, y) } else { 1.0 - left(b, a, y, x) }
        .clamp(0.0, 1.0)
}

/// I_x(a, b) for x left of the mean.
fn left(a: f64, b: f64, x: f64, y: f64) -> f64 {
    density_term(a, b, x, y) * (b / (a + b)) * continued_fraction(a, b, x)
}

/// Lentz's evaluation; takes some multiples of sqrt(max(a, b)) rounds.
fn continued_fraction(a: f64, b: f64, x: f64) -> f64 {
    const MAX_ROUNDS: u32 = 10_000_000;
    const TINY: f64 = 1e-300;
    let away_from_zero = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for round in 1..MAX_ROUNDS {
        let m = f64::from(round);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for term in [even, odd] {
            d = 1.0 / away_from_zero(1.0 + term * d);
            c = away_from_zero(1.0 + term / c);
            change *= c * d;
        }
        value *= change;
        if (change - 1.0).abs() <= 2.0 * f64::EPSILON {
            break;
        }
    }
    value
}

/// Γ(a+b+1) / (Γ(a+1) Γ(b+1)) x^a y^b: the binomial probability, for real a and b.
fn density_term(a: f64, b: f64, x: f64, y: f64) -> f64 {
    let n = a + b;
    let log = stirling_error(n)
        - stirling_error(a)
        - stirling_error(b)
        - deviance(a, n * x)
        - deviance(b, n * y);
    log.exp() * (n / (2.0 * PI * a * b)).sqrt()
}

/// ln Γ(x+1) - (x + 1/2) ln x + x - ln(2π)/2, the error of Stirling's formula.
fn stirling_error(x: f64) -> f64 {
    const SERIES_FROM: f64 = 16.0;
    let mut shifted = x;
    let mut sum = 0.0;
    while shifted < SERIES_FROM {
        sum += (shifted + 0.5) * (1.0 / shifted).ln_1p() - 1.0;
        shifted += 1.0;
    }
    let s = 1.0 / (shifted * shifted);
    let series = 1.0 / 12.0
        - s * (1.0 / 360.0 - s * (1.0 / 1260.0 - s * (1.0 / 1680.0 - s * (1.0 / 1188.0))));
    sum + series / shifted
}

/// x ln(x/m) + m - x, without cancellation where x is close to m.
fn deviance(x: f64, m: f64) -> f64 {
    let difference = x - m;
    if difference.abs() >= 0.1 * (x + m) {
        return x * (x / m).ln() - difference;
    }
    let v = difference / (x + m);
    let mut sum = difference * v;
    let mut power = 2.0 * x * v;
    for j in 1..1000 {
        power *= v * v;
        let next = sum + power / f64::from(2 * j + 1);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_forms() {
        for x in [0.01, 0.3, 0.5, 0.77, 0.999] {
            let y = 1.0 - x;
            let cases = [
                (regularised(1.0, 1.0, x, y), x),
                (regularised(3.0, 1.0, x, y), x.powi(3)),
                (regularised(1.0, 4.0, x, y), 1.0 - y.powi(4)),
                (regularised(0.5, 0.5, x, y), 2.0 / PI * x.sqrt().asin()),
            ];
            for (got, expected) in cases {
                assert!((got - expected).abs() < 1e-14, "{x}: {got} {expected}");
            }
        }
    }

    #[test]
    fn arguments_outside_the_domain_are_nan() {
        assert!(regularised(0.0, 1.0, 0.5, 0.5).is_nan());
        assert!(regularised(1.0, 1.0, -0.5, 1.5).is_nan());
        assert!(regularised(f64::NAN, 1.0, 0.5, 0.5).is_nan());
    }
}
