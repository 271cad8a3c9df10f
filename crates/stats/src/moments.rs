//! Sums that neither cancel, overflow nor underflow, for the other modules.

/// Returns the sum with running compensation of the rounding error (Neumaier, ZAMM 54, 1974).
pub(crate) fn sum(values: impl Iterator<Item = f64>) -> f64 {
    let mut total = 0.0_f64;
    let mut lost = 0.0_f64;
    for value in values {
        let next = total + value;
        lost += if total.abs() >= value.abs() {
            (total - next) + value
        } else {
            (value - next) + total
        };
        total = next;
    }
    total + lost
}

/// Returns the arithmetic mean of finite values; NaN if there are none.
pub(crate) fn mean(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let total = sum(values.iter().copied());
    if total.is_finite() { total / n } else { sum(values.iter().map(|v| v / n)) }
}

/// Returns a power of two that brings values of this size where squares are safe.
///
/// Multiplying by a power of two is exact, so scaling costs no precision.
pub(crate) fn safe_scale(max_abs: f64) -> f64 {
    const TWO_TO_600: f64 = f64::from_bits((1023 + 600) << 52);
    if max_abs > 1e140 {
        1.0 / TWO_TO_600
    } else if max_abs < 1e-140 {
        TWO_TO_600
    } else {
        1.0
    }
}

/// Returns the largest magnitude among the values, 0 if there are none.
pub(crate) fn max_abs(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, v| v.abs().max(most))
}

/// Returns the difference of finite values, held at the largest double where it overflows.
///
/// Monotone in both arguments, which selection by order relies on.
pub(crate) fn saturating_difference(a: f64, b: f64) -> f64 {
    (a - b).clamp(-f64::MAX, f64::MAX)
}

/// Sorts by value; NaN, if any, last or first by its sign.
pub(crate) fn sort(values: &mut [f64]) {
    values.sort_unstable_by(f64::total_cmp);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compensation_recovers_what_naive_summation_loses() {
        assert_eq!(sum([1.0, 1e100, 1.0, -1e100].into_iter()), 2.0);
    }

    #[test]
    fn mean_survives_the_largest_doubles() {
        assert_eq!(mean(&[f64::MAX, f64::MAX]), f64::MAX);
        assert_eq!(mean(&[f64::MAX, -f64::MAX]), 0.0);
    }

    #[test]
    fn difference_saturates() {
        assert_eq!(saturating_difference(f64::MAX, -f64::MAX), f64::MAX);
    }
}
