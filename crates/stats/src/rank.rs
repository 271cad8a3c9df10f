//! Comparison of two samples by the order of their values alone.

use crate::distribution::student_two_sided;
use crate::{Sample, StatsError};

/// Returns how likely a value of b exceeds one of a: P(a < b) + P(a = b) / 2.
///
/// 0.5 if neither tends to be larger. The "relative effect" of Brunner & Munzel, the
/// common-language effect size, and U / (n_a n_b) of Mann & Whitney.
pub fn superiority(a: &Sample, b: &Sample) -> f64 {
    let wins: u128 = doubled_placements(b, a).map(u128::from).sum();
    wins as f64 / (2.0 * a.n() as f64 * b.n() as f64)
}

/// Cliff's delta, P(b > a) - P(b < a), and its verbal class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CliffsDelta {
    /// Values in a.
    pub n_a: usize,
    /// Values in b.
    pub n_b: usize,
    /// From -1 (all of b below all of a) to 1.
    pub delta: f64,
    /// The magnitude in a word.
    pub class: EffectClass,
}

/// Magnitude of an effect in a word.
///
/// Thresholds of |delta| at 0.147, 0.33 and 0.474: Romano et al., "Appropriate statistics
/// for ordinal level data", Florida Association of Institutional Research (2006). They
/// translate Cohen's conventions, made for psychology; they say nothing about what
/// matters on a storage system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EffectClass {
    /// Below 0.147.
    Negligible,
    /// From 0.147, below 0.33.
    Small,
    /// From 0.33, below 0.474.
    Medium,
    /// From 0.474.
    Large,
}

impl EffectClass {
    /// Returns the class of a delta of either sign.
    pub fn of(delta: f64) -> Self {
        match delta.abs() {
            d if d < 0.147 => Self::Negligible,
            d if d < 0.33 => Self::Small,
            d if d < 0.474 => Self::Medium,
            _ => Self::Large,
        }
    }

    /// Returns the class as a lowercase word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Negligible => "negligible",
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
        }
    }
}

impl std::fmt::Display for EffectClass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Cliff's delta of b against a.
///
/// N. Cliff, "Dominance statistics", Psychological Bulletin 114 (1993). Linear in the
/// number of values, which are sorted already.
pub fn cliffs_delta(a: &Sample, b: &Sample) -> CliffsDelta {
    let pairs = a.n() as i128 * b.n() as i128;
    let wins: i128 = doubled_placements(b, a).map(i128::from).sum();
    let delta = (wins - pairs) as f64 / pairs as f64;
    CliffsDelta { n_a: a.n(), n_b: b.n(), delta, class: EffectClass::of(delta) }
}

/// Result of the Brunner-Munzel test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BrunnerMunzel {
    /// Values in a.
    pub n_a: usize,
    /// Values in b.
    pub n_b: usize,
    /// The statistic, positive if b tends to be larger; `None` if its variance vanishes.
    pub statistic: Option<f64>,
    /// Degrees of freedom of the t approximation; `None` if that was not used.
    pub degrees_of_freedom: Option<f64>,
    /// Two-sided p value.
    pub p_value: f64,
}

/// Tests whether P(a < b) + P(a = b)/2 = 1/2, without assuming equal shapes or variances.
/// The t approximation is good from ten values in each sample on; with fewer it rejects
/// somewhat too often.
///
/// Brunner & Munzel, "The Nonparametric Behrens-Fisher Problem", Biometrical Journal 42
/// (2000), with their t approximation.
///
/// If the samples do not overlap, the estimated variance is zero and the statistic
/// infinite. The p value is then that of the permutation test, 2 / C(n_a + n_b, n_a),
/// the least that samples of this size can give. If all values of both are equal it is 1.
///
/// # Errors
/// [`StatsError::TooFew`] unless each sample has two values.
pub fn brunner_munzel(a: &Sample, b: &Sample) -> Result<BrunnerMunzel, StatsError> {
    let least = a.n().min(b.n());
    if least < 2 {
        return Err(StatsError::TooFew { what: "a brunner-munzel test", n: least, needed: 2 });
    }
    let (n_a, n_b) = (a.n() as f64, b.n() as f64);
    let effect = cliffs_delta(a, b).delta / 2.0;
    let (spread_a, spread_b) = (n_a * placement_variance(a, b), n_b * placement_variance(b, a));
    let spread = spread_a + spread_b;
    let mut result = BrunnerMunzel {
        n_a: a.n(),
        n_b: b.n(),
        statistic: None,
        degrees_of_freedom: None,
        p_value: 1.0,
    };
    if spread > 0.0 {
        let statistic = n_a * n_b * effect / spread.sqrt();
        // Shares, whose squares cannot overflow.
        let (share_a, share_b) = (spread_a / spread, spread_b / spread);
        let df = 1.0 / (share_a * share_a / (n_a - 1.0) + share_b * share_b / (n_b - 1.0));
        result.statistic = Some(statistic);
        result.degrees_of_freedom = Some(df);
        result.p_value = student_two_sided(statistic, df);
    } else if effect != 0.0 {
        result.p_value = least_permutation_p(a.n(), b.n());
    }
    Ok(result)
}

/// Sample variance of the placements of `of` among `others`.
fn placement_variance(of: &Sample, others: &Sample) -> f64 {
    let n = of.n() as f64;
    let total: u128 = doubled_placements(of, others).map(u128::from).sum();
    let mean = total as f64 / n;
    let squares: f64 =
        doubled_placements(of, others).map(|placement| (placement as f64 - mean).powi(2)).sum();
    squares / (n - 1.0) / 4.0
}

/// For each value of `of`, in ascending order, twice the number of `others` below it plus
/// the number equal to it.
fn doubled_placements<'a>(of: &'a Sample, others: &'a Sample) -> impl Iterator<Item = u64> + 'a {
    let others = others.values();
    let (mut below, mut at_most) = (0, 0);
    of.values().iter().map(move |value| {
        while below < others.len() && others[below] < *value {
            below += 1;
        }
        while at_most < others.len() && others[at_most] <= *value {
            at_most += 1;
        }
        (below + at_most) as u64
    })
}

/// 2 / C(a + b, a); 0 where that is below the smallest double.
fn least_permutation_p(a: usize, b: usize) -> f64 {
    let (smaller, larger) = (a.min(b), a.max(b));
    let mut p = 2.0;
    for i in 1..=smaller {
        p *= i as f64 / (larger + i) as f64;
        if p == 0.0 {
            break;
        }
    }
    p
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(values: &[f64]) -> Sample {
        Sample::try_from(values).unwrap()
    }

    #[test]
    fn delta_of_small_cases() {
        let (low, high) = (sample(&[1.0, 2.0]), sample(&[3.0, 4.0, 5.0]));
        assert_eq!(cliffs_delta(&low, &high).delta, 1.0);
        assert_eq!(cliffs_delta(&high, &low).delta, -1.0);
        assert_eq!(cliffs_delta(&low, &low).delta, 0.0);
        assert_eq!(superiority(&low, &high), 1.0);
        assert_eq!(cliffs_delta(&sample(&[1.0, 2.0]), &sample(&[2.0])).delta, 0.5);
    }

    #[test]
    fn classes_begin_at_their_threshold() {
        let classes = [0.0, 0.1469, -0.147, 0.3299, 0.33, -0.4739, 0.474, 1.0].map(EffectClass::of);
        use EffectClass::{Large, Medium, Negligible, Small};
        let expected = [Negligible, Negligible, Small, Small, Medium, Medium, Large, Large];
        assert_eq!(classes, expected);
        assert_eq!(Medium.to_string(), "medium");
    }

    #[test]
    fn separated_samples_get_the_least_p_their_size_allows() {
        let test = brunner_munzel(&sample(&[1.0, 2.0, 3.0]), &sample(&[4.0, 5.0, 6.0])).unwrap();
        assert_eq!(test.statistic, None);
        assert!((test.p_value - 0.1).abs() < 1e-15);
        let many: Vec<f64> = (0..2000).map(f64::from).collect();
        let above: Vec<f64> = many.iter().map(|v| v + 1e6).collect();
        assert_eq!(brunner_munzel(&sample(&many), &sample(&above)).unwrap().p_value, 0.0);
    }

    #[test]
    fn constants_are_not_different() {
        let equal = sample(&[1.0; 4]);
        assert_eq!(brunner_munzel(&equal, &equal).unwrap().p_value, 1.0);
    }

    #[test]
    fn one_value_cannot_be_tested() {
        assert!(brunner_munzel(&sample(&[1.0]), &sample(&[1.0, 2.0])).is_err());
    }
}
