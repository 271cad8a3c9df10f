//! The inverse of equation 6.4: what keeps the load at or below a given value.

use crate::contention::{TARGETS_MAX, in_use};
use crate::error::{Quantity, count, real};
use crate::{Contention, JOBS_MAX, Requests, TheoryError};

impl Contention {
    /// Returns the fewest targets on which these requests have a load of at most `load`.
    ///
    /// The load falls as targets are added, so the answer is found by halving.
    pub fn targets_for_load(requests: &Requests, load: f64) -> Result<u64, TheoryError> {
        check_load(load)?;
        let requested = requests.total() as f64;
        let enough = |targets: u64| {
            requested <= load * in_use(targets, requests.groups()) * (1.0 + ROUNDING)
        };
        let fewest = requests.largest().max(1);
        first_true(fewest, TARGETS_MAX, enough).ok_or_else(|| {
            TheoryError::NoAnswer(format!(
                "not even {TARGETS_MAX} targets bring the load of these jobs down to {load}"
            ))
        })
    }

    /// Returns the most targets that each of `jobs` equal jobs may request on `targets` targets for
    /// a load of at most `load`.
    pub fn requests_for_load(targets: u64, jobs: u64, load: f64) -> Result<u64, TheoryError> {
        check_load(load)?;
        count(Quantity::Targets, targets, 1, TARGETS_MAX)?;
        count(Quantity::Jobs, jobs, 1, JOBS_MAX)?;
        let too_many = |size: u64| {
            (size * jobs) as f64 > load * in_use(targets, &[(size, jobs)]) * (1.0 + ROUNDING)
        };
        match first_true(1, targets, too_many) {
            None => Ok(targets),
            Some(1) => Err(TheoryError::NoAnswer(format!(
                "{jobs} jobs on {targets} targets exceed a load of {load} even with one target each"
            ))),
            Some(size) => Ok(size - 1),
        }
    }
}

/// Requested and in use are equal for a single job; rounding must not tell them apart.
const ROUNDING: f64 = 1e-12;

fn check_load(load: f64) -> Result<(), TheoryError> {
    let is_possible = load.is_finite() && load >= 1.0;
    real(Quantity::Load, load, is_possible, "at least 1 (one job on every target in use)")?;
    Ok(())
}

/// Returns the first value from `low` to `high` where the condition holds, given that it holds
/// for all later ones too.
fn first_true(mut low: u64, high: u64, holds: impl Fn(u64) -> bool) -> Option<u64> {
    if low > high || !holds(high) {
        return None;
    }
    let mut known = high;
    while low < known {
        let middle = low + (known - low) / 2;
        if holds(middle) {
            known = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_single_job_fits_on_what_it_requests() {
        let one = Requests::equal(160, 1).unwrap();
        assert_eq!(Contention::targets_for_load(&one, 1.001), Ok(160));
        for size in 1..200 {
            let one = Requests::equal(size, 1).unwrap();
            assert_eq!(Contention::targets_for_load(&one, 1.0), Ok(size));
        }
        assert_eq!(Contention::requests_for_load(480, 1, 1.0), Ok(480));
    }

    #[test]
    fn impossible_loads_are_refused() {
        let two = Requests::equal(160, 2).unwrap();
        assert!(Contention::targets_for_load(&two, 0.9).is_err());
        assert!(Contention::targets_for_load(&two, f64::NAN).is_err());
        assert!(Contention::targets_for_load(&two, f64::INFINITY).is_err());
        assert!(Contention::targets_for_load(&two, 1.0).is_err());
        assert!(
            Contention::requests_for_load(1, 2, 1.5).is_err(),
            "two jobs share a single target"
        );
        assert!(Contention::requests_for_load(2, 100, 1.5).is_err());
    }

    proptest! {
        #[test]
        fn answers_are_tight(size in 1u64..200, jobs in 2u64..50, load in 1.05f64..8.0) {
            let requests = Requests::equal(size, jobs).unwrap();
            let targets = Contention::targets_for_load(&requests, load).unwrap();
            let at = |targets| Contention::new(targets, requests.clone()).unwrap().load().unwrap();
            prop_assert!(at(targets) <= load * (1.0 + 1e-9));
            prop_assert!(targets == size || at(targets - 1) > load);

            if let Ok(most) = Contention::requests_for_load(480, jobs, load) {
                let at = |size| {
                    let requests = Requests::equal(size, jobs).unwrap();
                    Contention::new(480, requests).unwrap().load().unwrap()
                };
                prop_assert!(at(most) <= load * (1.0 + 1e-9));
                prop_assert!(most == 480 || at(most + 1) > load);
            }
        }
    }
}
