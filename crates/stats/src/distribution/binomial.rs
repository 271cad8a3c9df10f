//! Tails of the binomial distribution.

use super::beta::regularised;

/// P(B <= k) for B binomial with n trials of probability p.
pub fn binomial_at_most(k: u64, n: u64, p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        f64::NAN
    } else if k >= n {
        1.0
    } else {
        regularised((n - k) as f64, k as f64 + 1.0, 1.0 - p, p)
    }
}

/// P(B >= k) for B binomial with n trials of probability p.
pub fn binomial_at_least(k: u64, n: u64, p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        f64::NAN
    } else if k == 0 {
        1.0
    } else if k > n {
        0.0
    } else {
        regularised(k as f64, (n - k) as f64 + 1.0, p, 1.0 - p)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_tosses() {
        assert!((binomial_at_most(0, 6, 0.5) - 1.0 / 64.0).abs() < 1e-16);
        assert!((binomial_at_most(2, 6, 0.5) - 22.0 / 64.0).abs() < 1e-15);
        assert!((binomial_at_least(6, 6, 0.5) - 1.0 / 64.0).abs() < 1e-16);
        assert_eq!(binomial_at_most(6, 6, 0.5), 1.0);
        assert_eq!(binomial_at_least(7, 6, 0.5), 0.0);
    }

    #[test]
    fn certain_and_impossible_trials() {
        assert_eq!(binomial_at_most(0, 5, 0.0), 1.0);
        assert_eq!(binomial_at_most(4, 5, 1.0), 0.0);
        assert!(binomial_at_most(1, 2, f64::NAN).is_nan());
    }

    #[test]
    fn tails_add_up_at_large_n() {
        let n = 10_000_000;
        let sum = binomial_at_most(4_999_000, n, 0.5) + binomial_at_least(4_999_001, n, 0.5);
        assert!((sum - 1.0).abs() < 1e-13, "{sum}");
    }
}
