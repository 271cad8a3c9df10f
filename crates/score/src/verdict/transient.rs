//! The test for transience: are there more low measures, or lower ones, than noise explains?

use plimsoll_stats::distribution::binomial_at_least;

use super::noise::Noise;
use super::{Component, Kind, Test, Verdict, holm};
use crate::dependence::Dependence;

/// One low measure is an accident.
const LEAST_LOW: usize = 2;

/// Tests those that have no verdict yet.
pub(super) fn decide(
    components: &[Component],
    tested: &[usize],
    test: &Test,
    noise: &Noise,
    dependence: &Dependence,
    verdicts: &mut [Verdict],
) {
    let open: Vec<usize> =
        tested.iter().copied().filter(|index| verdicts[*index].kind.is_none()).collect();
    let outcomes: Vec<Outcome> = open
        .iter()
        .map(|index| outcome(&components[*index], test.limit(), noise, dependence))
        .collect();
    let raw: Vec<f64> = outcomes.iter().map(|it| it.p_value).collect();
    for ((index, outcome), p_value) in open.iter().zip(&outcomes).zip(holm(&raw)) {
        let verdict = &mut verdicts[*index];
        verdict.p_transient = Some(p_value);
        verdict.expected = outcome.expected;
        if p_value <= test.transient_error {
            verdict.kind = Some(Kind::Transient);
        }
    }
}

struct Outcome {
    p_value: f64,
    /// Measures that noise would bring as low as the k lowest, for the k that decided.
    expected: Option<f64>,
}

/// For the k lowest measures: how likely noise brings k of n so low. The smallest p value over several
/// k, times their number (Bonferroni), as few deep measures and many shallow ones both count.
fn outcome(component: &Component, limit: f64, noise: &Noise, dependence: &Dependence) -> Outcome {
    let mut logs: Vec<f64> = component.measures.iter().map(|it| it.log_ratio).collect();
    logs.sort_unstable_by(f64::total_cmp);
    let centre = noise.centre(&logs, limit);
    let tosses = dependence.effective(logs.len()).floor() as u64;
    let counts = counts(logs.len());
    let mut best = Outcome { p_value: 1.0, expected: None };
    for count in counts.iter().copied().filter(|count| logs[count - 1] < limit) {
        let tail = noise.tail(centre - logs[count - 1]);
        let worth = (count as f64 / dependence.time + 1e-9).floor() as u64;
        let p_value = binomial_at_least(worth.max(1), tosses, tail) * counts.len() as f64;
        if p_value < best.p_value {
            best = Outcome { p_value, expected: Some(tail * logs.len() as f64) };
        }
    }
    best
}

/// Which k are looked at, by the number of measures alone: 2, 3, 4, 6, 8, 12, 16, … up to a half.
fn counts(n: usize) -> Vec<usize> {
    let most = (n / 2).max(LEAST_LOW);
    let doubled = (1..usize::BITS).map(|power| 1usize << power);
    let steps = doubled.take_while(|it| *it <= most).flat_map(|it| [it, it + it / 2]);
    steps.filter(|it| *it <= most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_depend_on_the_number_alone() {
        assert_eq!(counts(4), [2]);
        assert_eq!(counts(10), [2, 3, 4]);
        assert_eq!(counts(40), [2, 3, 4, 6, 8, 12, 16]);
    }
}
