//! When a client cache hides output bursts from the program (Xie, section 2.1).
//!
//! A program computes for C seconds, then writes a burst of W bytes into a cache of M
//! bytes that drains at S bytes per second. The printed case 2 is the special case
//! M >= S C of the form used here, and M = 0 gives the synchronous write.

use crate::TheoryError;
use crate::error::{Quantity, not_negative, positive, real};

/// An iterating program and the cache that absorbs its output.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Absorption {
    compute: f64,
    burst: f64,
    cache: f64,
    drain: f64,
}

impl Absorption {
    /// Creates it from seconds of compute, bytes per burst, bytes of cache and bytes per second of drain.
    pub fn new(compute: f64, burst: f64, cache: f64, drain: f64) -> Result<Self, TheoryError> {
        Ok(Absorption {
            compute: not_negative(Quantity::Compute, compute)?,
            burst: not_negative(Quantity::Burst, burst)?,
            cache: not_negative(Quantity::Cache, cache)?,
            drain: positive(Quantity::Drain, drain)?,
        })
    }

    /// Returns the same with another compute time.
    pub fn with_compute(&self, compute: f64) -> Result<Self, TheoryError> {
        Ok(Absorption { compute: not_negative(Quantity::Compute, compute)?, ..*self })
    }

    /// Returns C: the seconds of compute.
    pub fn compute(&self) -> f64 {
        self.compute
    }

    /// Returns S: the bytes per second that drain from the cache.
    pub fn drain(&self) -> f64 {
        self.drain
    }

    /// Returns the seconds that the program waits in each iteration, once steady:
    /// max(0, W - min(M, S C)) / S.
    pub fn stall(&self) -> f64 {
        (self.burst - self.cache.min(self.drain * self.compute)).max(0.0) / self.drain
    }

    /// Returns the same for a cache that takes in only so many bytes per second, R: max(W / R, stall). A cache that fills
    /// while it drains is full when R has brought what S has not taken away, and lets the rest in as it drains: the rate at which it
    /// filled drops out. Fails if the rate is not positive.
    pub fn stall_with_intake(&self, intake: f64) -> Result<f64, TheoryError> {
        Ok(self.stall().max(self.burst / positive(Quantity::Intake, intake)?))
    }

    /// Returns the stall without a cache: W / S.
    pub fn stall_synchronous(&self) -> f64 {
        self.burst / self.drain
    }

    /// Returns the share of time spent computing, C / (C + stall). `None` for no compute and no stall.
    pub fn efficiency(&self) -> Option<f64> {
        share(self.compute, self.stall())
    }

    /// Returns the efficiency without a cache: s / (s + 1) with s = S C / W.
    pub fn efficiency_synchronous(&self) -> Option<f64> {
        share(self.compute, self.stall_synchronous())
    }

    /// "How often may I write?": the least compute time between bursts that keeps the
    /// efficiency. `None` when no interval does, because the burst exceeds the cache and
    /// the efficiency asked for is 1.
    pub fn compute_for(&self, efficiency: f64) -> Result<Option<f64>, TheoryError> {
        check_efficiency(efficiency)?;
        // While the cache drains all through the compute time, efficiency is S C / W.
        if efficiency * self.burst <= self.cache {
            return Ok(Some(efficiency * self.burst / self.drain));
        }
        // Beyond, each burst finds M bytes free and stalls for the rest.
        let stall = (self.burst - self.cache) / self.drain;
        Ok((efficiency < 1.0).then(|| efficiency / (1.0 - efficiency) * stall))
    }

    /// "How much may I write?": the largest burst that keeps the efficiency at this
    /// compute time.
    pub fn burst_for(&self, efficiency: f64) -> Result<f64, TheoryError> {
        check_efficiency(efficiency)?;
        let absorbed = self.cache.min(self.drain * self.compute);
        Ok(absorbed + self.drain * self.compute * (1.0 - efficiency) / efficiency)
    }
}

fn share(compute: f64, stall: f64) -> Option<f64> {
    (compute + stall > 0.0).then(|| compute / (compute + stall))
}

fn check_efficiency(efficiency: f64) -> Result<(), TheoryError> {
    let is_share = efficiency > 0.0 && efficiency <= 1.0;
    real(Quantity::Efficiency, efficiency, is_share, "greater than 0 and at most 1 (or 100%)")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_cache_takes_time_to_fill() {
        let cache = Absorption::new(10.0, 50.0, 30.0, 10.0).unwrap();
        assert_eq!(cache.stall_with_intake(1e9), Ok(2.0));
        assert_eq!(cache.stall_with_intake(20.0), Ok(2.5), "it never gets full");
        assert!(cache.stall_with_intake(0.0).is_err());
    }

    #[test]
    fn the_papers_two_cases() {
        // Case 1: W/C <= S; a burst that fits does not stall, else (W - M)/S.
        assert_eq!(Absorption::new(10.0, 50.0, 60.0, 10.0).unwrap().stall(), 0.0);
        assert_eq!(Absorption::new(10.0, 50.0, 30.0, 10.0).unwrap().stall(), 2.0);
        // Case 2: W/C > S; (W - S C)/S and x = s.
        let case2 = Absorption::new(10.0, 200.0, 150.0, 10.0).unwrap();
        assert_eq!(case2.stall(), 10.0);
        assert_eq!(case2.efficiency(), Some(0.5));
        // Synchronous: s/(s + 1).
        assert_eq!(case2.efficiency_synchronous(), Some(1.0 / 3.0));
    }

    #[test]
    fn nothing_to_do_has_no_efficiency() {
        let idle = Absorption::new(0.0, 0.0, 0.0, 1.0).unwrap();
        assert_eq!((idle.stall(), idle.efficiency()), (0.0, None));
        let hidden = Absorption::new(10.0, 50.0, 60.0, 10.0).unwrap();
        assert_eq!(hidden.efficiency(), Some(1.0), "a burst that never stalls");
        let only_writes = Absorption::new(0.0, 50.0, 60.0, 10.0).unwrap();
        assert_eq!(only_writes.efficiency(), Some(0.0));
        assert!(Absorption::new(1.0, 1.0, 1.0, 0.0).is_err());
        assert!(Absorption::new(f64::NAN, 1.0, 1.0, 1.0).is_err());
    }

    #[test]
    fn full_efficiency_needs_a_cache_for_the_burst() {
        let fits = Absorption::new(1.0, 50.0, 50.0, 10.0).unwrap();
        assert_eq!(fits.compute_for(1.0), Ok(Some(5.0)));
        let exceeds = Absorption::new(1.0, 50.0, 49.0, 10.0).unwrap();
        assert_eq!(exceeds.compute_for(1.0), Ok(None));
        assert!(fits.compute_for(1.1).is_err() && fits.compute_for(0.0).is_err());
    }

    proptest! {
        #[test]
        fn inverses_are_tight(
            burst in 0.1f64..1e3, cache in 0.0f64..2e3, drain in 0.1f64..1e2, efficiency in 0.01f64..0.999,
            compute in 0.01f64..100.0,
        ) {
            let at = |compute, burst| {
                Absorption::new(compute, burst, cache, drain).unwrap().efficiency().unwrap()
            };
            let model = Absorption::new(compute, burst, cache, drain).unwrap();
            let interval = model.compute_for(efficiency).unwrap().unwrap();
            prop_assert!(at(interval, burst) >= efficiency - 1e-9);
            prop_assert!(at(interval * 0.999, burst) < efficiency);
            let most = model.burst_for(efficiency).unwrap();
            prop_assert!((at(compute, most) - efficiency).abs() < 1e-9);
        }
    }
}
