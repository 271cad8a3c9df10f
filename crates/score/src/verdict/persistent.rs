//! The test for persistence: is the median itself low, and in every part of the time?

use plimsoll_stats::distribution::binomial_at_least;

use super::{Component, Kind, Test, Verdict, holm};
use crate::distribution::median_of;

/// Parts of the time in each of which a persistent straggler is low.
pub(super) const PARTS: usize = 3;

/// Sign test of "the median of the ratio is not under the limit", over the tested components.
pub(super) fn decide(
    components: &[Component],
    tested: &[usize],
    test: &Test,
    verdicts: &mut [Verdict],
) {
    let raw: Vec<f64> = tested.iter().map(|index| sign_test(&verdicts[*index])).collect();
    for (index, p_value) in tested.iter().zip(holm(&raw)) {
        verdicts[*index].p_persistent = Some(p_value);
        if p_value > test.persistent_error {
            continue;
        }
        let throughout = low_in_every_part(&components[*index], test.limit());
        let kind = if throughout { Kind::Persistent } else { Kind::Transient };
        verdicts[*index].kind = Some(kind);
    }
}

/// If the median were at the limit, each measure would be low like the toss of a coin.
fn sign_test(verdict: &Verdict) -> f64 {
    let worth = verdict.effective_n / verdict.n.max(1) as f64;
    let tosses = verdict.effective_n.floor() as u64;
    // Rounded down: in doubt for the accused. The margin is for products like 0.7 * 10.
    let low = (verdict.low as f64 * worth + 1e-9).floor() as u64;
    binomial_at_least(low.min(tosses), tosses, 0.5)
}

fn low_in_every_part(component: &Component, limit: f64) -> bool {
    let measures = &component.measures;
    (0..PARTS).all(|part| {
        let from = part * measures.len() / PARTS;
        let to = (part + 1) * measures.len() / PARTS;
        let mut logs: Vec<f64> = measures[from..to].iter().map(|it| it.log_ratio).collect();
        median_of(&mut logs).is_some_and(|median| median < limit)
    })
}
