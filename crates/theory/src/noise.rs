//! Re-routing away from targets under noise (Huang, section 3.4).
//!
//! Each of M targets has data D to write at rate B; noise streams share some of them.
//! Times are in units of D/B: the time of an undisturbed target.

use crate::TheoryError;
use crate::error::{Quantity, count, not_negative};

/// Noise on some targets of a file system.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    targets: u64,
    noisy: u64,
    /// r: noise streams for each stream of the application on a noisy target.
    ratio: f64,
}

impl Noise {
    /// `streams` noise streams in all, spread evenly over `noisy` of `targets` targets, on
    /// each of which the application has `own_streams` streams (the paper has one).
    pub fn new(
        targets: u64,
        noisy: u64,
        streams: u64,
        own_streams: u64,
    ) -> Result<Self, TheoryError> {
        const MOST: u64 = 1_000_000_000;
        count(Quantity::Targets, targets, 1, MOST)?;
        count(Quantity::NoisyTargets, noisy, 0, targets)?;
        count(Quantity::NoiseStreams, streams, 0, MOST)?;
        count(Quantity::OwnStreams, own_streams, 1, MOST)?;
        if noisy == 0 && streams > 0 {
            return Err(TheoryError::NoiseWithoutTarget { streams });
        }
        let ratio =
            if noisy == 0 { 0.0 } else { streams as f64 / (noisy as f64 * own_streams as f64) };
        Ok(Noise { targets, noisy, ratio })
    }

    /// k: quiet targets for each noisy one. `None` when no target is noisy.
    fn quiet_per_noisy(&self) -> Option<f64> {
        (self.noisy > 0).then(|| (self.targets - self.noisy) as f64 / self.noisy as f64)
    }

    /// TF of equation 1: data moved to each quiet target over the data it had, at which
    /// all targets finish together. 0 when there is no noise, or nowhere to move to.
    pub fn throttling_factor(&self) -> f64 {
        match self.quiet_per_noisy() {
            Some(quiet) if quiet > 0.0 => self.ratio / ((self.ratio + 1.0) * quiet + 1.0),
            _ => 0.0,
        }
    }

    /// Returns the time when every process writes to its own target: the noisy ones finish last.
    pub fn static_time(&self) -> f64 {
        self.ratio + 1.0
    }

    /// Returns the least time that any placement can reach: all data over all bandwidth left.
    pub fn fluid_bound(&self) -> f64 {
        let (all, noisy) = (self.targets as f64, self.noisy as f64);
        all / (all - noisy + noisy / (self.ratio + 1.0))
    }

    /// Write time when each quiet target takes in `allowance` times its own data.
    ///
    /// An allowance beyond [`throttling_factor`](Self::throttling_factor) is counted as
    /// used in full, so the time rises again: it is the price of a throttle set too wide.
    pub fn write_time(&self, allowance: f64) -> Result<f64, TheoryError> {
        let moved_out = self.uncapped_moved_out(not_negative(Quantity::Allowance, allowance)?);
        let static_time = self.static_time();
        Ok((1.0 + allowance).max(static_time * (1.0 - moved_out)).min(static_time))
    }

    /// Reading everything back when the noise is gone: the fullest target finishes last.
    pub fn read_time(&self, allowance: f64) -> Result<f64, TheoryError> {
        let allowance = not_negative(Quantity::Allowance, allowance)?;
        Ok(1.0 + if self.can_move() { allowance } else { 0.0 })
    }

    /// Returns the data moved away from each noisy target over the data it had; at most all of it.
    pub fn moved_out(&self, allowance: f64) -> Result<f64, TheoryError> {
        let moved = self.uncapped_moved_out(not_negative(Quantity::Allowance, allowance)?).min(1.0);
        Ok(if self.can_move() { moved } else { 0.0 })
    }

    /// Returns the data moved to each quiet target over the data it had: what the noisy ones give.
    pub fn moved_in(&self, allowance: f64) -> Result<f64, TheoryError> {
        let moved_out = self.moved_out(allowance)?;
        Ok(self
            .quiet_per_noisy()
            .filter(|quiet| *quiet > 0.0)
            .map_or(0.0, |quiet| moved_out / quiet))
    }

    /// Returns false if there is no noise, or no quiet target to move to.
    pub fn can_move(&self) -> bool {
        self.ratio > 0.0 && self.noisy < self.targets
    }

    fn uncapped_moved_out(&self, allowance: f64) -> f64 {
        self.quiet_per_noisy().unwrap_or(0.0) * allowance
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_papers_heavy_and_light_noise() {
        let heavy = Noise::new(16, 4, 64, 1).unwrap();
        assert_eq!(format!("{:.2}", heavy.throttling_factor()), "0.31");
        let light = Noise::new(16, 1, 16, 1).unwrap();
        assert_eq!(format!("{:.2}", light.throttling_factor()), "0.06");
        // Section 5: 290 s static against 125 s at TF 0.2 was measured (2.3 times).
        assert_eq!(heavy.static_time(), 17.0);
        let speedup = heavy.static_time() / heavy.write_time(0.2).unwrap();
        assert!((speedup - 2.5).abs() < 1e-12, "{speedup}");
    }

    #[test]
    fn without_noise_or_without_quiet_targets_nothing_moves() {
        let quiet = Noise::new(16, 0, 0, 1).unwrap();
        assert_eq!((quiet.throttling_factor(), quiet.fluid_bound()), (0.0, 1.0));
        let all_noisy = Noise::new(4, 4, 8, 1).unwrap();
        assert_eq!((all_noisy.throttling_factor(), all_noisy.fluid_bound()), (0.0, 3.0));
        assert_eq!(all_noisy.write_time(0.5), Ok(3.0));
        for nowhere in [quiet, all_noisy, Noise::new(16, 4, 0, 1).unwrap()] {
            assert_eq!((nowhere.moved_in(0.5), nowhere.moved_out(0.5)), (Ok(0.0), Ok(0.0)));
            assert_eq!(nowhere.read_time(0.5), Ok(1.0));
        }
    }

    #[test]
    fn no_more_moves_than_there_is() {
        let heavy = Noise::new(16, 4, 64, 1).unwrap();
        assert_eq!(heavy.moved_out(1e300), Ok(1.0));
        assert_eq!(heavy.moved_in(1e300), Ok(1.0 / 3.0));
        assert!((heavy.moved_in(0.2).unwrap() - 0.2).abs() < 1e-12);
        assert_eq!(heavy.read_time(0.25), Ok(1.25), "quiet targets hold a quarter more");
    }

    #[test]
    fn impossible_noise_is_refused() {
        assert!(Noise::new(0, 0, 0, 1).is_err());
        assert!(Noise::new(4, 5, 1, 1).is_err());
        assert!(Noise::new(4, 0, 1, 1).is_err());
        assert!(Noise::new(4, 1, 1, 0).is_err());
        assert!(Noise::new(4, 1, 1, 1).unwrap().write_time(-0.1).is_err());
        assert!(Noise::new(4, 1, 1, 1).unwrap().write_time(f64::NAN).is_err());
    }

    proptest! {
        #[test]
        fn the_factor_reaches_the_fluid_bound(
            targets in 2u64..200, share in 0.01f64..0.99, streams in 1u64..500, own in 1u64..20,
        ) {
            let noisy = ((targets as f64 * share) as u64).clamp(1, targets - 1);
            let noise = Noise::new(targets, noisy, streams, own).unwrap();
            let best = noise.throttling_factor();
            let bound = noise.fluid_bound();
            prop_assert!((noise.write_time(best).unwrap() - bound).abs() < 1e-9 * bound);
            prop_assert!((1.0 + best - bound).abs() < 1e-9 * bound);
            for other in [best * 0.5, best * 0.9, best * 1.1, best * 3.0] {
                prop_assert!(noise.write_time(other).unwrap() >= bound - 1e-9);
            }
        }
    }
}
