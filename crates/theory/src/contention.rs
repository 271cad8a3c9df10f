//! Jobs that each choose targets at random (Wright, chapter 6).

use crate::TheoryError;
use crate::error::{Quantity, count};

/// Most jobs that are supported: a hundred for each process of today's largest machines.
pub const JOBS_MAX: u64 = 100_000_000;

/// Most targets that are supported.
pub const TARGETS_MAX: u64 = 1_000_000_000;

/// How many targets each job requests: `r_j` of equation 6.1, equal ones together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requests {
    /// (targets requested, number of jobs that request that many), by size.
    groups: Vec<(u64, u64)>,
}

impl Requests {
    /// `jobs` jobs that each request `per_job` targets.
    pub fn equal(per_job: u64, jobs: u64) -> Result<Self, TheoryError> {
        count(Quantity::TargetsPerJob, per_job, 1, TARGETS_MAX)?;
        count(Quantity::Jobs, jobs, 0, JOBS_MAX)?;
        Ok(Requests { groups: if jobs == 0 { vec![] } else { vec![(per_job, jobs)] } })
    }

    /// One job for each entry.
    pub fn each(per_job: &[u64]) -> Result<Self, TheoryError> {
        count(Quantity::Jobs, per_job.len() as u64, 0, JOBS_MAX)?;
        let mut sorted = per_job.to_vec();
        sorted.sort_unstable();
        let mut groups: Vec<(u64, u64)> = Vec::new();
        for request in sorted {
            count(Quantity::TargetsPerJob, request, 1, TARGETS_MAX)?;
            match groups.last_mut() {
                Some((size, jobs)) if *size == request => *jobs += 1,
                _ => groups.push((request, 1)),
            }
        }
        Ok(Requests { groups })
    }

    /// (targets requested, jobs that request that many), smallest request first.
    pub fn groups(&self) -> &[(u64, u64)] {
        &self.groups
    }

    /// Returns the number of jobs, n.
    pub fn jobs(&self) -> u64 {
        self.groups.iter().map(|(_, jobs)| jobs).sum()
    }

    /// D_req: targets requested by all jobs together (equation 6.3). Fits, because of
    /// [`JOBS_MAX`] and [`TARGETS_MAX`].
    pub fn total(&self) -> u64 {
        self.groups.iter().map(|(size, jobs)| size * jobs).sum()
    }

    /// Returns the largest request; 0 without jobs.
    pub fn largest(&self) -> u64 {
        self.groups.last().map_or(0, |(size, _)| *size)
    }
}

/// Jobs on a file system of this many targets, each choosing distinct targets at random,
/// independently of the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contention {
    targets: u64,
    requests: Requests,
}

impl Contention {
    /// No job may request more targets than there are.
    pub fn new(targets: u64, requests: Requests) -> Result<Self, TheoryError> {
        count(Quantity::Targets, targets, 1, TARGETS_MAX)?;
        if requests.largest() > targets {
            return Err(TheoryError::TooFewTargets { requested: requests.largest(), targets });
        }
        Ok(Contention { targets, requests })
    }

    /// D_total.
    pub fn targets(&self) -> u64 {
        self.targets
    }

    /// Returns what the jobs request.
    pub fn requests(&self) -> &Requests {
        &self.requests
    }

    /// Expected D_inuse: targets used by at least one job (equations 6.1, 6.2 and 6.5).
    ///
    /// The recursion of equation 6.1 multiplies the unused share by (1 - r_j/D) for each
    /// job; the product is taken as a sum of logarithms, so that neither few nor very
    /// many jobs lose digits.
    pub fn in_use(&self) -> f64 {
        in_use(self.targets, self.requests.groups())
    }

    /// D_load: requested over expected in use (equations 6.4 and 6.6), a ratio of
    /// expectations. `None` without jobs.
    pub fn load(&self) -> Option<f64> {
        let requested = self.requests.total();
        (requested > 0).then(|| requested as f64 / self.in_use())
    }
}

pub(crate) fn in_use(targets: u64, groups: &[(u64, u64)]) -> f64 {
    let total = targets as f64;
    let log_unused: f64 =
        groups.iter().map(|&(size, jobs)| jobs as f64 * (-(size as f64) / total).ln_1p()).sum();
    -total * log_unused.exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn equal(targets: u64, per_job: u64, jobs: u64) -> Contention {
        Contention::new(targets, Requests::equal(per_job, jobs).unwrap()).unwrap()
    }

    #[test]
    fn no_job_uses_nothing_and_has_no_load() {
        let none = equal(480, 160, 0);
        assert_eq!((none.in_use(), none.load()), (0.0, None));
    }

    #[test]
    fn jobs_that_request_the_same_are_counted_together() {
        let mixed = Requests::each(&[3, 1, 3]).unwrap();
        assert_eq!(mixed.groups(), [(1, 1), (3, 2)]);
        assert_eq!((mixed.jobs(), mixed.total(), mixed.largest()), (3, 7, 3));
        assert_eq!(Requests::each(&[2; 5]), Requests::equal(2, 5));
        assert_eq!(Requests::each(&[]), Requests::equal(2, 0));
    }

    #[test]
    fn one_job_uses_what_it_requests() {
        let one = equal(480, 160, 1);
        assert!((one.in_use() - 160.0).abs() < 1e-9);
        assert_eq!(equal(480, 480, 7).in_use(), 480.0, "a job on all targets uses all");
    }

    #[test]
    fn a_hundred_million_jobs_fill_everything() {
        let full = equal(1000, 1, JOBS_MAX);
        assert_eq!(full.in_use(), 1000.0);
        assert_eq!(full.load(), Some(1e5));
    }

    #[test]
    fn impossible_questions_are_refused() {
        assert!(Requests::equal(0, 1).is_err());
        assert!(Requests::equal(1, 1_000_000_000_000).is_err());
        assert!(Contention::new(0, Requests::equal(1, 1).unwrap()).is_err());
        assert!(Contention::new(2, Requests::equal(3, 1).unwrap()).is_err());
        assert!(Requests::each(&[1, 0]).is_err());
    }

    proptest! {
        /// Equation 6.1, literally, against the product.
        #[test]
        fn product_equals_the_recursion(
            targets in 1u64..2000,
            shares in proptest::collection::vec(0.0f64..1.0, 0..40),
        ) {
            let sizes: Vec<u64> =
                shares.iter().map(|share| 1 + (share * (targets - 1) as f64) as u64).collect();
            let mut in_use = 0.0;
            for &size in &sizes {
                in_use += size as f64 - in_use / targets as f64 * size as f64;
            }
            let contention = Contention::new(targets, Requests::each(&sizes).unwrap()).unwrap();
            prop_assert!((contention.in_use() - in_use).abs() <= 1e-9 * targets as f64);
        }
    }
}
