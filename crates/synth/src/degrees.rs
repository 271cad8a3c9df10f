//! How many targets do about as much as each other, by the model: no formula has it, so it is drawn.

use plimsoll_stats::Random;

use crate::Plan;
use crate::level::draw;
use crate::plan::{JOB_MINUTES, LEVEL_SHAPE};
use crate::shares::Shares;

/// Shares that are drawn: as many as make the truth several times surer than what 90 days of 24 targets tell.
const SHARES: usize = 4_000_000;
const MINUTES_MOST: usize = 250_000;

/// The mean number of targets of a cluster.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Degrees {
    /// In all minutes.
    pub mean: f64,
    /// In those of the upper quarter.
    pub mean_when_high: f64,
}

/// Returns it for reads (0) or writes, from minutes that are drawn apart.
pub fn degrees(plan: &Plan, direction: usize) -> Degrees {
    let count = (SHARES / plan.targets.max(1) as usize).clamp(1000, MINUTES_MOST);
    let mut random = Random::for_stream(plan.seed, u64::MAX - direction as u64);
    let mut shares = Shares::new(plan, &mut random);
    let scale = plan.bytes()[direction];
    let job = if direction == 0 { plan.job_level() } else { 0.0 };
    let mut bytes = Vec::new();
    let mut minutes: Vec<(f64, usize, usize)> = Vec::with_capacity(count);
    for _ in 0..count {
        let level = draw(LEVEL_SHAPE, &mut random);
        let is_job = random.unit() * 1440.0 < JOB_MINUTES as f64;
        let job = if is_job { job } else { 0.0 };
        let on_top = job * scale / f64::from(plan.targets);
        shares.anew(&mut random, level * scale, on_top, &mut bytes);
        bytes.retain(|it| *it > 0);
        bytes.sort_unstable();
        minutes.push((level + job, bytes.len(), clusters(&bytes)));
    }
    minutes.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mean = |some: &[(f64, usize, usize)]| {
        let active: usize = some.iter().map(|it| it.1).sum();
        active as f64 / some.iter().map(|it| it.2).sum::<usize>().max(1) as f64
    };
    Degrees { mean: mean(&minutes), mean_when_high: mean(&minutes[count * 3 / 4..]) }
}

/// Returns how many clusters sorted targets form: one ends before the first that does 5 % or more above its least (Patel, section 6).
fn clusters(sorted: &[u64]) -> usize {
    let (mut count, mut least) = (0, None);
    for value in sorted {
        if least.is_none_or(|least: u64| u128::from(*value) * 100 >= u128::from(least) * 105) {
            (count, least) = (count + 1, Some(*value));
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_ends_at_five_percent_above_its_least() {
        assert_eq!(clusters(&[100, 104, 105, 109, 110, 111]), 3);
        assert_eq!((clusters(&[]), clusters(&[7; 9])), (0, 1));
    }
}
