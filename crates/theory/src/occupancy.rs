//! How many jobs share a target: the distribution behind the averages of equation 6.4.
//!
//! Each job takes a given target with probability r_j / D, independently of the other
//! jobs, so the number of jobs on a target is a sum of independent Bernoulli variables:
//! binomial when all requests are equal, Poisson binomial otherwise. Exact.

use crate::Contention;

/// Terms below this are dropped from the tails; far below anything that is printed.
const NEGLIGIBLE: f64 = 1e-20;

/// Probabilities of 0, 1, 2, … jobs on one target, and what follows from them.
#[derive(Debug, Clone, PartialEq)]
pub struct Occupancy {
    targets: u64,
    jobs: u64,
    requested: u64,
    /// Number of jobs of the first probability.
    first: u64,
    probabilities: Vec<f64>,
}

/// The expected number of jobs on the most crowded target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorstTarget {
    /// As if targets filled independently. Counts of different targets are negatively
    /// associated (their sum is fixed), so this is a lower bound: 11 % low for four targets,
    /// within 5 % from 16 targets on in our tests.
    pub at_least: f64,
    /// Upper bound, by the sum of the single targets' probabilities.
    pub at_most: f64,
}

impl Contention {
    /// Returns the distribution of the number of jobs on a target.
    pub fn occupancy(&self) -> Occupancy {
        let mut sum = Window { first: 0, terms: vec![1.0] };
        for &(size, jobs) in self.requests().groups() {
            let group = Window::binomial(jobs, size as f64 / self.targets() as f64);
            sum = sum.convolve(&group);
        }
        Occupancy {
            targets: self.targets(),
            jobs: self.requests().jobs(),
            requested: self.requests().total(),
            first: sum.first,
            probabilities: sum.terms,
        }
    }
}

impl Occupancy {
    /// (k, expected number of targets shared by exactly k jobs), k = 0 (unused) included,
    /// without the tails that hold less than `least` targets.
    pub fn shared_by(&self, least: f64) -> Vec<(u64, f64)> {
        let expected =
            self.probabilities.iter().zip(self.first..).map(|(p, k)| (k, p * self.targets as f64));
        let mut expected: Vec<_> = expected.skip_while(|(_, targets)| *targets < least).collect();
        while expected.last().is_some_and(|(_, targets)| *targets < least) {
            expected.pop();
        }
        expected
    }

    /// Returns the expected number of jobs on the most crowded target, with bounds.
    ///
    /// The expectation is the sum over m >= 0 of P(max > m).
    pub fn worst(&self) -> WorstTarget {
        let targets = self.targets as f64;
        // Some target has at least the mean, so P(max > m) = 1 below it.
        let certain = self.requested.div_ceil(self.targets).max(self.first);
        let mut worst = WorstTarget { at_least: certain as f64, at_most: certain as f64 };
        for (beyond, m) in self.tails().into_iter().zip(self.first..self.jobs) {
            if m >= certain {
                worst.at_least += -(targets * (-beyond.min(1.0)).ln_1p()).exp_m1();
                worst.at_most += (targets * beyond).min(1.0);
            }
        }
        worst
    }

    /// P(more than k jobs) for k = first, first + 1, …, summed from the small end.
    fn tails(&self) -> Vec<f64> {
        let mut tails = vec![0.0; self.probabilities.len()];
        for index in (0..tails.len().saturating_sub(1)).rev() {
            tails[index] = tails[index + 1] + self.probabilities[index + 1];
        }
        tails
    }
}

/// Probabilities of consecutive whole numbers from `first` on; the rest are negligible.
struct Window {
    first: u64,
    terms: Vec<f64>,
}

impl Window {
    /// Binomial(n, p) by the ratio of neighbours, outward from the mode, then scaled to a
    /// sum of one: no factorials, so no digits are lost at n = 10^8.
    fn binomial(n: u64, p: f64) -> Self {
        if p >= 1.0 {
            return Window { first: n, terms: vec![1.0] };
        }
        let odds = p / (1.0 - p);
        let mode = (((n + 1) as f64 * p) as u64).min(n);
        let mut below = Vec::new();
        let (mut k, mut term) = (mode, 1.0);
        while k > 0 && term > NEGLIGIBLE {
            term *= k as f64 / ((n - k + 1) as f64 * odds);
            below.push(term);
            k -= 1;
        }
        let first = k;
        below.reverse();
        let mut terms = below;
        terms.push(1.0);
        (k, term) = (mode, 1.0);
        while k < n && term > NEGLIGIBLE {
            term *= (n - k) as f64 * odds / (k + 1) as f64;
            terms.push(term);
            k += 1;
        }
        let sum: f64 = terms.iter().sum();
        terms.iter_mut().for_each(|term| *term /= sum);
        Window { first, terms }
    }

    fn convolve(&self, other: &Window) -> Window {
        let mut terms = vec![0.0; self.terms.len() + other.terms.len() - 1];
        for (i, a) in self.terms.iter().enumerate() {
            for (j, b) in other.terms.iter().enumerate() {
                terms[i + j] += a * b;
            }
        }
        Window { first: self.first + other.first, terms }.trimmed()
    }

    fn trimmed(mut self) -> Window {
        while self.terms.len() > 1 && self.terms.last().is_some_and(|term| *term < NEGLIGIBLE) {
            self.terms.pop();
        }
        let leading = self.terms.iter().take_while(|term| **term < NEGLIGIBLE).count();
        self.terms.drain(..leading.min(self.terms.len() - 1));
        self.first += leading as u64;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Requests;
    use proptest::prelude::*;

    fn occupancy(targets: u64, sizes: &[u64]) -> Occupancy {
        Contention::new(targets, Requests::each(sizes).unwrap()).unwrap().occupancy()
    }

    #[test]
    fn two_jobs_by_hand() {
        // 2 and 1 of 4 targets: both 1/2*1/4, neither 1/2*3/4.
        let shared = occupancy(4, &[2, 1]).shared_by(0.0);
        let expected = [(0, 1.5), (1, 2.0), (2, 0.5)];
        for ((k, targets), (k_expected, targets_expected)) in shared.iter().zip(expected) {
            assert_eq!(*k, k_expected);
            assert!((targets - targets_expected).abs() < 1e-12);
        }
    }

    #[test]
    fn small_tails_are_left_out_at_both_ends() {
        let shared = occupancy(4, &[2, 1]);
        let all = shared.shared_by(0.0);
        assert_eq!(shared.shared_by(0.6), all[..2]);
        assert_eq!(shared.shared_by(1.6), all[1..2]);
        assert_eq!(shared.shared_by(all[0].1), all[..2], "not less than that");
        assert_eq!(shared.shared_by(all[2].1), all);
        assert_eq!(shared.shared_by(5.0), []);
    }

    #[test]
    fn worst_of_two_jobs_by_hand() {
        // They meet on one of two targets half of the time: 1.5 on average. A target has both with
        // probability 1/4, so one of two independent ones would with 7/16.
        let worst = occupancy(2, &[1, 1]).worst();
        assert!((worst.at_most - 1.5).abs() < 1e-12, "{worst:?}");
        assert!((worst.at_least - 1.4375).abs() < 1e-12, "{worst:?}");
    }

    #[test]
    fn worst_of_one_job_and_of_full_jobs_is_certain() {
        assert_eq!(occupancy(480, &[160]).worst().at_least, 1.0);
        assert_eq!(occupancy(10, &[10, 10, 10]).worst().at_most, 3.0);
        assert_eq!(occupancy(480, &[]).worst().at_most, 0.0);
    }

    #[test]
    fn some_target_has_at_least_the_mean() {
        // Three jobs of one target on two targets: one of them has two or three.
        let worst = occupancy(2, &[1, 1, 1]).worst();
        assert!(worst.at_least >= 2.0, "{worst:?}");
        // Two jobs of two targets on three: one target at least has both.
        assert_eq!(occupancy(3, &[2, 2]).worst().at_least, 2.0);
    }

    #[test]
    fn a_hundred_million_jobs_are_quick_and_sum_to_all_targets() {
        let requests = Requests::equal(250, crate::JOBS_MAX).unwrap();
        let occupancy = Contention::new(1000, requests).unwrap().occupancy();
        let sum: f64 = occupancy.shared_by(0.0).iter().map(|(_, targets)| targets).sum();
        assert!((sum - 1000.0).abs() < 1e-6);
        let worst = occupancy.worst();
        assert!(worst.at_least > 25_000_000.0 && worst.at_least < worst.at_most);
    }

    /// Otherwise the work would grow with the square of the number of jobs.
    #[test]
    fn what_is_negligible_is_not_carried_along() {
        let sizes: Vec<u64> = (1..=400).collect();
        let few = occupancy(4000, &sizes).shared_by(0.0);
        assert!(few.len() < 100, "{}", few.len());
        let sizes: Vec<u64> = (3601..=4000).collect();
        let most = occupancy(4000, &sizes).shared_by(0.0);
        assert!(most.len() < 100 && most[0].0 > 300, "{:?}", most[0]);
    }

    proptest! {
        #[test]
        fn targets_and_requests_are_conserved(
            targets in 1u64..300,
            shares in proptest::collection::vec(0.0f64..1.0, 0..30),
        ) {
            let sizes: Vec<u64> =
                shares.iter().map(|share| 1 + (share * (targets - 1) as f64) as u64).collect();
            let contention = Contention::new(targets, Requests::each(&sizes).unwrap()).unwrap();
            let occupancy = contention.occupancy();
            let shared = occupancy.shared_by(0.0);
            let all: f64 = shared.iter().map(|(_, targets)| targets).sum();
            let requests: f64 = shared.iter().map(|(k, targets)| *k as f64 * targets).sum();
            let used: f64 = shared.iter().filter(|(k, _)| *k > 0).map(|(_, targets)| targets).sum();
            prop_assert!((all - targets as f64).abs() < 1e-8);
            prop_assert!((requests - sizes.iter().sum::<u64>() as f64).abs() < 1e-7);
            prop_assert!((used - contention.in_use()).abs() < 1e-8);
            let worst = occupancy.worst();
            prop_assert!(worst.at_least <= worst.at_most + 1e-9);
            prop_assert!(worst.at_most <= sizes.len() as f64 + 1e-9);
        }
    }
}
