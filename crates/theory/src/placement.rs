//! Simulated random placement: the same question as [`Contention`], answered by a
//! seeded simulation, with the spread that a formula for the mean does not show.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};

use plimsoll_stats::Random;

use crate::error::{Quantity, count};
use crate::{Contention, TheoryError};

/// Most targets drawn in one simulation: about a minute on one core.
pub const DRAWS_MAX: u64 = 10_000_000_000;

/// Most targets of a simulated file system: the counts of each are kept.
const SIMULATED_TARGETS_MAX: u64 = 10_000_000;

const TRIALS_MAX: u64 = 10_000_000;

/// Most jobs of a simulation: outcomes are kept for every number of jobs on a target.
const SIMULATED_JOBS_MAX: u64 = 1_000_000;

/// How often to simulate it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlacementRuns {
    /// Number of trials.
    pub trials: u64,
    /// The number of placements of which each trial is the mean, like a paper's table of five runs.
    pub mean_of: u64,
    /// Equal seeds give equal results, for any number of threads.
    pub seed: u64,
}

/// A measure over the trials.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Mean over the trials.
    pub mean: f64,
    /// Standard deviation over the trials (n - 1); `None` for one trial.
    pub deviation: Option<f64>,
    /// 99 of 100 trials lie from here …
    pub low: f64,
    /// … to here (quantiles 0.005 and 0.995 by the nearest rank, as memory holds counts of
    /// outcomes and not the trials; the least and the greatest of few trials).
    pub high: f64,
}

/// The results of the trials.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacementBand {
    /// Targets used by at least one job.
    pub in_use: Spread,
    /// Requested over in use, trial by trial: its mean is slightly larger than the ratio
    /// of the means, [`Contention::load`].
    pub load: Spread,
    /// Jobs on the most crowded target.
    pub worst: Spread,
    /// (k, targets shared by exactly k jobs), k = 0 included.
    pub shared_by: Vec<(u64, Spread)>,
}

/// Simulates the placement. `done` counts finished trials, for a progress bar.
pub fn simulate_placement(
    contention: &Contention,
    runs: PlacementRuns,
    done: &AtomicU64,
) -> Result<PlacementBand, TheoryError> {
    check(contention, runs)?;
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get) as u64;
    let threads = threads.min(runs.trials).max(1);
    let mut tally = Tally::default();
    std::thread::scope(|scope| {
        let parts: Vec<_> = (0..threads)
            .map(|part| scope.spawn(move || play(contention, runs, part, threads, done)))
            .collect();
        for part in parts {
            // A panic in a thread is a bug of ours: pass it on as what it is.
            tally.merge(part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
    });
    Ok(tally.bands(contention, runs))
}

fn check(contention: &Contention, runs: PlacementRuns) -> Result<(), TheoryError> {
    count(Quantity::Trials, runs.trials, 1, TRIALS_MAX)?;
    count(Quantity::PlacementsPerTrial, runs.mean_of, 1, 1_000_000)?;
    count(Quantity::SimulatedTargets, contention.targets(), 1, SIMULATED_TARGETS_MAX)?;
    count(Quantity::SimulatedJobs, contention.requests().jobs(), 0, SIMULATED_JOBS_MAX)?;
    let per_placement = u128::from(contention.requests().total() + contention.targets());
    let draws = per_placement * u128::from(runs.trials) * u128::from(runs.mean_of);
    if draws <= u128::from(DRAWS_MAX) {
        Ok(())
    } else {
        Err(TheoryError::TooManyDraws {
            trials: runs.trials,
            placements: runs.mean_of,
            draws,
            draws_max: DRAWS_MAX,
        })
    }
}

/// Trials `part`, `part + parts`, …; each has a random stream of its own.
fn play(
    contention: &Contention,
    runs: PlacementRuns,
    part: u64,
    parts: u64,
    done: &AtomicU64,
) -> Tally {
    let mut tally = Tally::default();
    let mut order: Vec<u32> = Vec::new();
    let mut jobs_on = vec![0u32; contention.targets() as usize];
    for trial in (part..runs.trials).step_by(parts as usize) {
        // A fresh order makes a trial depend on its number only, not on its thread.
        order.clear();
        order.extend(0..contention.targets() as u32);
        let mut random = Random::for_stream(runs.seed, trial);
        let mut trial_sum = Trial::default();
        for _ in 0..runs.mean_of {
            place(contention, &mut random, &mut order, &mut jobs_on);
            trial_sum.add(&jobs_on, contention.requests().total());
        }
        tally.add(trial_sum);
        done.fetch_add(1, Ordering::Relaxed);
    }
    tally
}

/// Every job draws distinct targets; `jobs_on` becomes the number of jobs on each.
fn place(contention: &Contention, random: &mut Random, order: &mut [u32], jobs_on: &mut [u32]) {
    jobs_on.fill(0);
    for &(size, jobs) in contention.requests().groups() {
        for _ in 0..jobs {
            for target in random.choose_distinct(order, size as usize) {
                jobs_on[*target as usize] += 1;
            }
        }
    }
}

/// Sums over the placements of one trial.
#[derive(Default)]
struct Trial {
    shared_by: Vec<u64>,
    worst: u64,
    load: f64,
}

impl Trial {
    fn add(&mut self, jobs_on: &[u32], requested: u64) {
        let worst = jobs_on.iter().copied().max().unwrap_or(0) as usize;
        if self.shared_by.len() <= worst {
            self.shared_by.resize(worst + 1, 0);
        }
        let unused_before = self.shared_by[0];
        for &jobs in jobs_on {
            self.shared_by[jobs as usize] += 1;
        }
        let in_use = jobs_on.len() as u64 - (self.shared_by[0] - unused_before);
        self.worst += worst as u64;
        self.load += requested as f64 / in_use as f64;
    }
}

/// How often each sum occurred over the trials: memory grows with the number of distinct
/// outcomes, not with the number of trials.
#[derive(Default)]
struct Tally {
    shared_by: Vec<BTreeMap<u64, u64>>,
    worst: BTreeMap<u64, u64>,
    /// By bits: loads are positive, so their bits sort like their values.
    load: BTreeMap<u64, u64>,
    trials: u64,
}

impl Tally {
    fn add(&mut self, trial: Trial) {
        self.grow(trial.shared_by.len());
        // A k that a trial does not have is a zero of it, added once at the end.
        let present = trial.shared_by.iter().enumerate().filter(|(_, targets)| **targets > 0);
        for (k, targets) in present {
            *self.shared_by[k].entry(*targets).or_default() += 1;
        }
        *self.worst.entry(trial.worst).or_default() += 1;
        *self.load.entry(trial.load.to_bits()).or_default() += 1;
        self.trials += 1;
    }

    fn grow(&mut self, length: usize) {
        while self.shared_by.len() < length {
            self.shared_by.push(BTreeMap::new());
        }
    }

    fn merge(&mut self, other: Tally) {
        self.grow(other.shared_by.len());
        for (mine, theirs) in self.shared_by.iter_mut().zip(other.shared_by) {
            add_counts(mine, theirs);
        }
        add_counts(&mut self.worst, other.worst);
        add_counts(&mut self.load, other.load);
        self.trials += other.trials;
    }

    fn bands(mut self, contention: &Contention, runs: PlacementRuns) -> PlacementBand {
        let scale = 1.0 / runs.mean_of as f64;
        // A k that no placement of a trial had is a zero of that trial.
        for counts in &mut self.shared_by {
            let seen: u64 = counts.values().sum();
            if seen < self.trials {
                *counts.entry(0).or_default() += self.trials - seen;
            }
        }
        let all = contention.targets() * runs.mean_of;
        let none = BTreeMap::new();
        let unused = self.shared_by.first().unwrap_or(&none);
        let used: BTreeMap<u64, u64> = unused.iter().map(|(sum, n)| (all - sum, *n)).collect();
        PlacementBand {
            in_use: spread(&used, |sum| sum as f64 * scale),
            load: spread(&self.load, |bits| f64::from_bits(bits) * scale),
            worst: spread(&self.worst, |sum| sum as f64 * scale),
            shared_by: self
                .shared_by
                .iter()
                .zip(0..)
                .map(|(counts, k)| (k, spread(counts, |sum| sum as f64 * scale)))
                .collect(),
        }
    }
}

fn add_counts(mine: &mut BTreeMap<u64, u64>, theirs: BTreeMap<u64, u64>) {
    for (value, count) in theirs {
        *mine.entry(value).or_default() += count;
    }
}

fn spread(counts: &BTreeMap<u64, u64>, value: impl Fn(u64) -> f64) -> Spread {
    let n: u64 = counts.values().sum();
    let weighted = |f: &dyn Fn(f64) -> f64| -> f64 {
        counts.iter().map(|(key, count)| f(value(*key)) * *count as f64).sum()
    };
    let mean = weighted(&|x| x) / n as f64;
    let squares = weighted(&|x| (x - mean) * (x - mean));
    let at = |share: f64| {
        let mut left = (share * (n - 1) as f64).round() as u64;
        let found = counts.iter().find(|(_, count)| {
            if left < **count {
                true
            } else {
                left -= **count;
                false
            }
        });
        found.map_or(f64::NAN, |(key, _)| value(*key))
    };
    Spread {
        mean,
        deviation: (n > 1).then(|| (squares / (n - 1) as f64).sqrt()),
        low: at(0.005),
        high: at(0.995),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Requests;

    fn run(targets: u64, sizes: &[u64], trials: u64, seed: u64) -> PlacementBand {
        let contention = Contention::new(targets, Requests::each(sizes).unwrap()).unwrap();
        let runs = PlacementRuns { trials, mean_of: 1, seed };
        simulate_placement(&contention, runs, &AtomicU64::new(0)).unwrap()
    }

    #[test]
    fn agrees_with_the_formulas() {
        let sizes = [160, 64, 64, 7];
        let contention = Contention::new(480, Requests::each(&sizes).unwrap()).unwrap();
        let band = run(480, &sizes, 4000, 1);
        let error = |spread: &Spread| 5.0 * spread.deviation.unwrap() / 4000f64.sqrt() + 1e-9;
        assert!((band.in_use.mean - contention.in_use()).abs() < error(&band.in_use));
        for (k, expected) in contention.occupancy().shared_by(0.0) {
            let spread = band.shared_by.iter().find(|(at, _)| *at == k).unwrap().1;
            assert!((spread.mean - expected).abs() < error(&spread), "k = {k}");
        }
        let requested = contention.requests().total() as f64;
        assert!(band.load.mean > requested / band.in_use.mean, "a mean of ratios (Jensen)");
    }

    #[test]
    fn expected_worst_target_lies_between_its_bounds() {
        for (targets, size, jobs) in [(480, 2, 512), (480, 160, 10), (16, 1, 16), (100, 30, 3)] {
            let sizes = vec![size; jobs];
            let contention = Contention::new(targets, Requests::each(&sizes).unwrap()).unwrap();
            let worst = contention.occupancy().worst();
            let band = run(targets, &sizes, 2000, 3).worst;
            let error = 5.0 * band.deviation.unwrap() / 2000f64.sqrt() + 1e-9;
            assert!(band.mean >= worst.at_least - error, "{targets} {size} {jobs}");
            assert!(band.mean <= worst.at_most + error, "{targets} {size} {jobs}");
            assert!((band.mean / worst.at_least - 1.0).abs() < 0.05, "{band:?} {worst:?}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_result() {
        assert_eq!(run(48, &[16, 6], 37, 7), run(48, &[16, 6], 37, 7));
        assert_ne!(run(48, &[16, 6], 37, 7), run(48, &[16, 6], 37, 8));
    }

    #[test]
    fn a_spread_by_hand() {
        let counts = BTreeMap::from([(2, 1), (4, 1)]);
        let spread = spread(&counts, |key| key as f64);
        assert_eq!((spread.mean, spread.low, spread.high), (3.0, 2.0, 4.0));
        assert_eq!(spread.deviation, Some(2f64.sqrt()), "of a sample of two");
    }

    #[test]
    fn one_trial_has_no_deviation_and_no_jobs_no_use() {
        let one = run(10, &[3], 1, 1);
        assert_eq!((one.in_use.mean, one.in_use.deviation), (3.0, None));
        assert_eq!(run(10, &[], 3, 1).in_use.mean, 0.0);
    }

    #[test]
    fn the_band_leaves_the_extremes_out() {
        let in_use = run(480, &[160, 160], 3000, 5).in_use;
        let deviation = in_use.deviation.unwrap();
        // 99 % of a bell curve lie within 2.58 deviations; all of 3000 do not.
        assert!(((in_use.high - in_use.mean) / deviation - 2.58).abs() < 0.35, "{in_use:?}");
        assert!(((in_use.mean - in_use.low) / deviation - 2.58).abs() < 0.35, "{in_use:?}");
    }

    #[test]
    fn work_is_bounded() {
        let contention = Contention::new(1000, Requests::equal(1000, 1_000_000).unwrap()).unwrap();
        let runs = PlacementRuns { trials: 1000, mean_of: 1, seed: 1 };
        assert!(simulate_placement(&contention, runs, &AtomicU64::new(0)).is_err());
        // A placement takes ten draws: one for each target that is asked for, one for each to look at.
        let small = Contention::new(5, Requests::equal(5, 1).unwrap()).unwrap();
        let bounded = |trials, mean_of| check(&small, PlacementRuns { trials, mean_of, seed: 1 });
        assert_eq!(bounded(1_000_000, 1000), Ok(()));
        assert!(bounded(1_000_001, 1000).is_err() && bounded(1_000_000, 1001).is_err());
    }

    #[test]
    fn jobs_on_all_targets_leave_nothing_to_chance() {
        let contention = Contention::new(10, Requests::equal(10, 3).unwrap()).unwrap();
        for mean_of in [1, 4] {
            let runs = PlacementRuns { trials: 6, mean_of, seed: 1 };
            let done = AtomicU64::new(0);
            let band = simulate_placement(&contention, runs, &done).unwrap();
            let always =
                |value| Spread { mean: value, deviation: Some(0.0), low: value, high: value };
            assert_eq!(band.in_use, always(10.0));
            assert_eq!((band.load, band.worst), (always(3.0), always(3.0)));
            let shared: Vec<f64> = band.shared_by.iter().map(|(_, targets)| targets.mean).collect();
            assert_eq!(shared, [0.0, 0.0, 0.0, 10.0]);
            assert_eq!(done.into_inner(), 6);
        }
    }

    #[test]
    fn a_mean_of_many_placements_varies_less() {
        let contention = Contention::new(48, Requests::each(&[16, 16]).unwrap()).unwrap();
        let in_use = |mean_of| {
            let runs = PlacementRuns { trials: 1000, mean_of, seed: 2 };
            simulate_placement(&contention, runs, &AtomicU64::new(0)).unwrap().in_use
        };
        let (one, many) = (in_use(1), in_use(25));
        assert!((many.mean - contention.in_use()).abs() < 0.2, "{many:?}");
        let ratio = one.deviation.unwrap() / many.deviation.unwrap();
        assert!((ratio / 5.0 - 1.0).abs() < 0.2, "{one:?} {many:?}");
    }
}
