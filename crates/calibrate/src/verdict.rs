//! Whether a fixed cost and a cost per byte explain what was measured.

use plimsoll_stats::Sample;

use crate::fit::{Fit, single_cost};
use crate::rung::{Row, Rung};

/// A misfit below this share is of no consequence: Uselton and Wright's own model is about so
/// far from their measurements (figure 7), and a utilization is not needed more exactly.
pub const TOLERATED_MISFIT: f64 = 0.15;

/// Distinct sizes of transactions that test a model of two coefficients: one more than it can
/// always meet.
pub const SIZES_TESTED: usize = 3;

/// Transactions whose sizes differ by less than this factor are of one size: they hardly differ in
/// what the model says of them.
const SIZES_DISTINCT: f64 = 1.5;

/// Standard errors of a rung's median that repetitions explain. Of eleven rungs none is that
/// far away by chance in 97 of 100 ladders.
const ERRORS_EXPLAINED: f64 = 3.0;

/// The asymptotic standard error of a median over that of a mean, sqrt(pi / 2).
const MEDIAN_OVER_MEAN: f64 = 1.2533;

/// From the median of magnitudes to the standard deviation of a normal distribution.
const DEVIATIONS_PER_MAD: f64 = 1.4826;

/// The verdict of the residuals on the model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// No rung is further from the model than is tolerated.
    Fits,
    /// The target did transactions of so few distinct sizes that two coefficients go through all of
    /// them, whatever the target is.
    Untested {
        /// Distinct sizes, fewer than [`SIZES_TESTED`].
        sizes: usize,
    },
    /// This rung is, and the repetitions do not explain it.
    Misfit {
        /// Index of the rung that is furthest away.
        rung: usize,
        /// Its residual.
        residual: f64,
        /// What would explain the measures, if it can be told.
        cause: Cause,
    },
    /// Some rung is, but the repetitions differ so much among themselves that it means nothing.
    Noisy {
        /// Index of the rung that is furthest away.
        rung: usize,
        /// Its residual.
        residual: f64,
        /// What the repetitions explain; infinite when there is only one.
        explained: f64,
    },
}

/// Why a sum of two costs does not explain the measures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cause {
    /// The larger of two limits does: this is how a throttle behaves, and a bus behind a controller.
    TwoLimits {
        /// Operations per second, which rule small transactions.
        operations: f64,
        /// Bytes per second, which rule large ones.
        bytes: f64,
    },
    /// Not known.
    Unknown,
}

impl Verdict {
    /// Returns whether others may compute with the costs.
    pub(crate) fn is_usable(&self) -> bool {
        match self {
            Verdict::Fits | Verdict::Noisy { .. } => true,
            Verdict::Misfit { .. } | Verdict::Untested { .. } => false,
        }
    }

    /// Judges a fit by its residuals and by how much the repetitions of a rung differ.
    pub fn of(rungs: &[Rung], fit: &Fit) -> Self {
        let sizes = distinct_sizes(&fit.rows);
        if sizes < SIZES_TESTED {
            return Verdict::Untested { sizes };
        }
        let pooled = spread(rungs.iter().flat_map(deviations));
        let of_rung = rungs.iter().zip(&fit.residuals);
        let explained: Vec<f64> =
            of_rung.map(|(rung, residual)| explained(rung, *residual, pooled)).collect();
        let beyond = |index: &usize| fit.residuals[*index].abs() > TOLERATED_MISFIT;
        let margin = |index: usize| fit.residuals[index].abs() - explained[index];
        let beyond: Vec<usize> = (0..fit.residuals.len()).filter(beyond).collect();
        let worst = beyond.iter().copied().max_by(|a, b| margin(*a).total_cmp(&margin(*b)));
        let Some(rung) = worst else { return Verdict::Fits };
        let residual = fit.residuals[rung];
        if margin(rung) > 0.0 {
            Verdict::Misfit { rung, residual, cause: cause(fit) }
        } else {
            Verdict::Noisy { rung, residual, explained: explained[rung] }
        }
    }

    /// Returns its name in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Fits => "fits",
            Verdict::Untested { .. } => "not tested",
            Verdict::Misfit { .. } => "does not fit",
            Verdict::Noisy { .. } => "not decided",
        }
    }
}

/// Returns the sizes of transactions at the target that are not about the same.
fn distinct_sizes(rows: &[Row]) -> usize {
    let mut sizes: Vec<f64> = rows.iter().map(Row::transaction_size).collect();
    sizes.sort_by(f64::total_cmp);
    let mut last = 0.0;
    let is_new = |size: &&f64| {
        let is_new = **size >= last * SIZES_DISTINCT;
        last = if is_new { **size } else { last };
        is_new
    };
    sizes.iter().filter(is_new).count()
}

/// Relative deviations of a rung's repetitions from their median.
fn deviations(rung: &Rung) -> Vec<f64> {
    let Ok(sample) = rung.bandwidths() else { return Vec::new() };
    let correction = small_sample_correction(sample.n());
    sample.values().iter().map(|it| correction * (it / sample.median() - 1.0).abs()).collect()
}

/// Deviations from a small sample's own median are too small; by this factor (Croux and Rousseeuw,
/// "Time-efficient algorithms for two highly robust estimators of scale", 1992).
fn small_sample_correction(n: usize) -> f64 {
    const FACTORS: [f64; 10] = [1.0, 1.0, 1.196, 1.495, 1.363, 1.206, 1.200, 1.140, 1.129, 1.107];
    FACTORS.get(n).copied().unwrap_or(n as f64 / (n as f64 - 0.8))
}

/// Returns the standard deviation by the median of magnitudes, which one slow repetition does not move.
fn spread(magnitudes: impl Iterator<Item = f64>) -> f64 {
    Sample::new(magnitudes.collect()).map_or(0.0, |it| DEVIATIONS_PER_MAD * it.median())
}

/// Returns how far a rung's median may be from the model by chance: as far as the spread within all rungs
/// lets it (a rung's own, of a few repetitions, is hardly known), and as far as the repetition
/// that comes nearest to the model. One repetition alone says nothing about chance.
fn explained(rung: &Rung, residual: f64, pooled: f64) -> f64 {
    let n = rung.measures.len();
    let Some(sample) = rung.bandwidths().ok().filter(|_| n > 1) else { return f64::INFINITY };
    let by_spread = ERRORS_EXPLAINED * MEDIAN_OVER_MEAN * pooled / (n as f64).sqrt();
    // A residual is 1 - (1 - residual) * bandwidth / median for each single repetition.
    let nearest = if residual > 0.0 { sample.max() } else { sample.min() };
    let by_nearest = (1.0 - residual) * (nearest / sample.median() - 1.0).abs();
    by_spread.max(by_nearest)
}

/// Returns the cause. The larger of two limits explains the measures if it leaves less than half of the misfit.
fn cause(fit: &Fit) -> Cause {
    let mut rows = fit.rows.clone();
    rows.sort_by(|a, b| a.transaction_size().total_cmp(&b.transaction_size()));
    let limits = (1..rows.len()).map(|split| two_limits(&rows, split));
    let best = limits.min_by(|(_, a), (_, b)| a.total_cmp(b));
    match best {
        Some((cause, misfit)) if misfit < fit.max_residual() / 2.0 => cause,
        _ => Cause::Unknown,
    }
}

/// Operations rule the rows before `split` and bytes those from it on; and the largest misfit.
fn two_limits(rows: &[Row], split: usize) -> (Cause, f64) {
    let per_operation = single_cost(rows[..split].iter().map(|row| row.transactions));
    let per_byte = single_cost(rows[split..].iter().map(|row| row.bytes));
    let misfit = |row: &Row| 1.0 - (per_operation * row.transactions).max(per_byte * row.bytes);
    let largest = rows.iter().map(|row| misfit(row).abs()).fold(0.0, f64::max);
    (Cause::TwoLimits { operations: 1.0 / per_operation, bytes: 1.0 / per_byte }, largest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rung::tests::rung;

    const SIZES: [u64; 6] = [4096, 16_384, 65_536, 262_144, 1 << 20, 4 << 20];
    const QUIET: [f64; 6] = [0.99, 1.0, 1.01, 0.995, 1.005, 1.0];

    fn judge(noise: [f64; 6], seconds: impl Fn(f64) -> f64) -> Verdict {
        let ladder: Vec<Rung> = SIZES
            .iter()
            .map(|&size| rung(size, &noise.map(|factor| 100.0 * factor * seconds(size as f64))))
            .collect();
        Verdict::of(&ladder, &Fit::of(&ladder, 1).unwrap())
    }

    #[test]
    fn a_sum_of_two_costs_fits() {
        assert_eq!(judge(QUIET, |b| 1e-3 + 1e-9 * b), Verdict::Fits);
        assert_eq!(judge(QUIET, |b| 1e-8 * b), Verdict::Fits);
        assert_eq!(judge(QUIET, |_| 5e-3), Verdict::Fits);
    }

    #[test]
    fn two_sizes_test_nothing() {
        let judge = |sizes: &[u64]| {
            // A throttle, which no sum of two costs explains.
            let seconds = |size: u64| 100.0 * (size as f64 / 20e6).max(1.0 / 200.0);
            let ladder: Vec<Rung> =
                sizes.iter().map(|&size| rung(size, &[seconds(size); 3])).collect();
            Verdict::of(&ladder, &Fit::of(&ladder, 1).unwrap())
        };
        assert_eq!(judge(&[4096, 1 << 20]), Verdict::Untested { sizes: 2 });
        assert_eq!(judge(&[4096, 5120, 1 << 20]), Verdict::Untested { sizes: 2 });
        let verdict = judge(&[4096, 65_536, 1 << 20]);
        assert!(matches!(verdict, Verdict::Misfit { .. }), "{verdict:?}");
    }

    #[test]
    fn the_larger_of_two_limits_does_not_and_is_named() {
        let verdict = judge(QUIET, |b| (b / 20e6).max(1.0 / 200.0));
        let Verdict::Misfit { rung, residual, cause } = verdict else { panic!("{verdict:?}") };
        // The knee is at 100 kB; there the sum is too long.
        assert_eq!(SIZES[rung], 65_536);
        assert!(residual < -TOLERATED_MISFIT);
        let Cause::TwoLimits { operations, bytes } = cause else { panic!("{cause:?}") };
        assert!((operations / 200.0 - 1.0).abs() < 0.02 && (bytes / 20e6 - 1.0).abs() < 0.02);
    }

    #[test]
    fn a_cost_of_another_shape_is_not_given_a_cause() {
        // A cache: sizes in the middle are served from it.
        let verdict = judge(QUIET, |b| if b == 65_536.0 { 1e-5 } else { 1e-3 + 1e-9 * b });
        assert!(matches!(verdict, Verdict::Misfit { cause: Cause::Unknown, .. }), "{verdict:?}");
    }

    #[test]
    fn noise_is_not_taken_for_a_misfit() {
        let noisy = [0.4, 1.9, 1.0, 0.6, 1.6, 1.05];
        let verdict = judge(noisy, |b| 1e-3 + 1e-9 * b * if b == 65_536.0 { 9.0 } else { 1.0 });
        assert!(matches!(verdict, Verdict::Noisy { .. }), "{verdict:?}");
    }

    #[test]
    fn one_repetition_that_agrees_with_the_model_is_reason_to_doubt() {
        // Two of three repetitions were disturbed at one size.
        let seconds = |size: u64| 0.1 + 1e-7 * size as f64;
        let mut ladder: Vec<Rung> =
            SIZES.iter().map(|&size| rung(size, &[seconds(size); 3])).collect();
        ladder[3] = rung(SIZES[3], &[seconds(SIZES[3]), 0.4, 0.41]);
        let verdict = Verdict::of(&ladder, &Fit::of(&ladder, 1).unwrap());
        assert!(matches!(verdict, Verdict::Noisy { rung: 3, .. }), "{verdict:?}");
        let once: Vec<Rung> = ladder
            .iter()
            .map(|it| Rung { measures: it.measures[2..].to_vec(), ..it.clone() })
            .collect();
        let verdict = Verdict::of(&once, &Fit::of(&once, 1).unwrap());
        assert!(matches!(verdict, Verdict::Noisy { .. }), "{verdict:?}");
    }
}
