//! Re-routing between targets whose rates were measured: the general form of Huang's
//! equation 1, for targets that differ in rate and in data, and may change their rate once.

use crate::TheoryError;
use crate::error::{Quantity, not_negative, positive};

/// Targets with the data that belongs to each and the current rate of each.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredRates {
    targets: Vec<Share>,
    /// In order of time.
    changes: Vec<RateChange>,
}

/// A target whose rate changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateChange {
    /// Which target, by its place in the list.
    pub target: usize,
    /// From when on, in seconds.
    pub after_seconds: f64,
    /// Its rate then, bytes per second.
    pub rate: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Share {
    bytes: f64,
    rate: f64,
}

/// What one target writes when all finish together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TargetShare {
    /// Time to write its own data alone, in seconds.
    pub static_time: f64,
    /// TF_i = B_i T / D_i - 1: data moved in over its own data; negative is moved out.
    pub throttling_factor: f64,
}

impl MeasuredRates {
    /// Equal data of `bytes` on each target, at `rates` bytes per second.
    pub fn equal_data(bytes: f64, rates: &[f64]) -> Result<Self, TheoryError> {
        positive(Quantity::Data, bytes)?;
        Self::of(rates.iter().map(|&rate| (bytes, rate)))
    }

    /// Targets with the bytes that belong to each, which may be none, and its rate in bytes per second.
    pub fn of(targets: impl Iterator<Item = (f64, f64)>) -> Result<Self, TheoryError> {
        let share = |(bytes, rate)| {
            let bytes = not_negative(Quantity::Data, bytes)?;
            Ok(Share { bytes, rate: positive(Quantity::Rate, rate)? })
        };
        let targets = targets.map(share).collect::<Result<Vec<Share>, TheoryError>>()?;
        if targets.is_empty() {
            return Err(TheoryError::NoRates);
        }
        Ok(MeasuredRates { targets, changes: Vec::new() })
    }

    /// Returns the same with rates that change on the way. What is said about [`fluid_bound`],
    /// [`shares`] and [`throttling_factor`] takes them into account, nothing else does.
    ///
    /// [`fluid_bound`]: Self::fluid_bound
    /// [`shares`]: Self::shares
    /// [`throttling_factor`]: Self::throttling_factor
    #[must_use]
    pub fn changing(self, mut changes: Vec<RateChange>) -> Self {
        changes.sort_by(|a, b| a.after_seconds.total_cmp(&b.after_seconds));
        MeasuredRates { changes, ..self }
    }

    /// T = sum of data over sum of rates: the least time that any placement can reach. With rates
    /// that change, the time at which the integral of all rates reaches all data; infinite if it
    /// never does.
    pub fn fluid_bound(&self) -> f64 {
        let mut rates: Vec<f64> = self.targets.iter().map(|target| target.rate).collect();
        let (mut now, mut left) = (0.0, self.total());
        for change in &self.changes {
            let taken = rates.iter().sum::<f64>() * (change.after_seconds - now).max(0.0);
            if taken >= left {
                break;
            }
            left -= taken;
            now = change.after_seconds.max(now);
            if let Some(rate) = rates.get_mut(change.target) {
                *rate = change.rate;
            }
        }
        now + left / rates.iter().sum::<f64>()
    }

    /// Returns what a target can write by a time, in bytes.
    fn written_by(&self, time: f64, target: usize) -> f64 {
        let (mut now, mut rate, mut written) = (0.0, self.targets[target].rate, 0.0);
        let own = self.changes.iter().filter(|change| change.target == target);
        for change in own.take_while(|change| change.after_seconds < time) {
            written += rate * (change.after_seconds - now).max(0.0);
            (now, rate) = (change.after_seconds.max(now), change.rate);
        }
        written + rate * (time - now)
    }

    /// Returns the time when each target writes its own data; the slowest finishes last.
    pub fn static_time(&self) -> f64 {
        self.targets.iter().map(|target| target.bytes / target.rate).fold(0.0, f64::max)
    }

    /// Returns every target's part when all finish together.
    pub fn shares(&self) -> Vec<TargetShare> {
        let bound = self.fluid_bound();
        let share = |(place, target): (usize, &Share)| TargetShare {
            static_time: target.bytes / target.rate,
            throttling_factor: self.written_by(bound, place) / target.bytes - 1.0,
        };
        self.targets.iter().enumerate().map(share).collect()
    }

    /// Returns the largest throttling factor of any target: the allowance that reaches the bound.
    pub fn throttling_factor(&self) -> f64 {
        self.shares().iter().map(|share| share.throttling_factor).fold(0.0, f64::max)
    }

    /// Returns the least write time when no target takes in more than `allowance` times its own
    /// data: targets write side by side until full, the others go on.
    ///
    /// By T, target i has written min(B_i T, (1 + allowance) D_i). That sum grows with T;
    /// the answer is where it reaches all data.
    pub fn write_time(&self, allowance: f64) -> Result<f64, TheoryError> {
        let most = 1.0 + not_negative(Quantity::Allowance, allowance)?;
        let full_at = |target: &Share| most * target.bytes / target.rate;
        let mut by_fullness = self.targets.clone();
        by_fullness.sort_by(|a, b| full_at(a).total_cmp(&full_at(b)));
        let mut left = self.total();
        let mut rate: f64 = by_fullness.iter().map(|target| target.rate).sum();
        for target in &by_fullness {
            let time = left / rate;
            if time <= full_at(target) {
                return Ok(time);
            }
            left -= most * target.bytes;
            rate -= target.rate;
        }
        // Only rounding leads here: with allowance 0 the last target fills exactly.
        Ok(by_fullness.last().map_or(0.0, full_at))
    }

    /// Reading back on quiet targets that all give the best measured rate, after each took
    /// in at most `allowance` times its data: the fullest target finishes last.
    pub fn read_time(&self, allowance: f64) -> Result<f64, TheoryError> {
        let time = self.write_time(allowance)?;
        let best = self.targets.iter().map(|target| target.rate).fold(0.0, f64::max);
        let written = |target: &Share| (target.rate * time).min((1.0 + allowance) * target.bytes);
        Ok(self.targets.iter().map(written).fold(0.0, f64::max) / best)
    }

    fn total(&self) -> f64 {
        self.targets.iter().map(|target| target.bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Noise;
    use proptest::prelude::*;

    #[test]
    fn one_slow_target_of_four() {
        let rates = MeasuredRates::equal_data(100.0, &[100.0, 100.0, 100.0, 20.0]).unwrap();
        assert_eq!(rates.static_time(), 5.0);
        let alone: Vec<f64> = rates.shares().iter().map(|share| share.static_time).collect();
        assert_eq!(alone, [1.0, 1.0, 1.0, 5.0]);
        assert_eq!(rates.fluid_bound(), 1.25);
        assert_eq!(rates.write_time(0.0), Ok(5.0), "nothing may move");
        assert_eq!(rates.write_time(1.0), Ok(1.25));
        assert_eq!(rates.throttling_factor(), 0.25);
        assert_eq!(rates.read_time(0.25), Ok(1.25));
        assert_eq!(rates.read_time(0.1), Ok(1.1), "no target may hold more than its allowance");
    }

    #[test]
    fn a_rate_that_drops_and_one_that_drops_too_late() {
        let even = || MeasuredRates::equal_data(100.0, &[20.0; 4]).unwrap();
        let drop = |after_seconds, rate| vec![RateChange { target: 1, after_seconds, rate }];
        assert_eq!((even().fluid_bound(), even().throttling_factor()), (5.0, 0.0));
        // Two seconds with 80, then 240 at 60: 20 x 6 on each of the others.
        let stops = even().changing(drop(2.0, 0.0));
        assert_eq!(stops.fluid_bound(), 6.0);
        assert!((stops.throttling_factor() - 0.2).abs() < 1e-12);
        assert!((stops.shares()[1].throttling_factor + 0.6).abs() < 1e-12);
        assert_eq!(even().changing(drop(5.5, 0.0)).fluid_bound(), 5.0);
        // The one that is fast at first takes in no more than it can after its drop.
        let fast = MeasuredRates::equal_data(100.0, &[20.0, 80.0]).unwrap();
        let drops = fast.changing(drop(1.0, 5.0));
        assert_eq!(drops.fluid_bound(), 5.0);
        assert_eq!(drops.throttling_factor(), 0.0);
        let all_stop = MeasuredRates::equal_data(100.0, &[20.0]).unwrap();
        let change = RateChange { target: 0, after_seconds: 1.0, rate: 0.0 };
        assert_eq!(all_stop.changing(vec![change]).fluid_bound(), f64::INFINITY);
    }

    #[test]
    fn bad_rates_are_refused() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(MeasuredRates::equal_data(1.0, &[1.0, bad]).is_err());
        }
        assert!(MeasuredRates::equal_data(1.0, &[]).is_err());
        assert!(MeasuredRates::equal_data(0.0, &[1.0]).is_err());
    }

    proptest! {
        /// The paper's case is a special case, up to its optimum.
        #[test]
        fn agrees_with_the_paper(
            targets in 2u64..100, noisy_share in 0.01f64..0.99, streams in 1u64..300, part in 0.0f64..1.0,
        ) {
            let noisy = ((targets as f64 * noisy_share) as u64).clamp(1, targets - 1);
            let noise = Noise::new(targets, noisy, streams, 1).unwrap();
            let slow = 1.0 / (1.0 + streams as f64 / noisy as f64);
            let rates: Vec<f64> =
                (0..targets).map(|i| if i < noisy { slow } else { 1.0 }).collect();
            let general = MeasuredRates::equal_data(1.0, &rates).unwrap();
            let allowance = noise.throttling_factor() * part;
            let paper = noise.write_time(allowance).unwrap();
            prop_assert!((general.write_time(allowance).unwrap() - paper).abs() < 1e-9 * paper);
            prop_assert!((general.throttling_factor() - noise.throttling_factor()).abs() < 1e-9);
            prop_assert!((general.static_time() - noise.static_time()).abs() < 1e-9 * paper);
        }

        #[test]
        fn between_bound_and_static(rates in proptest::collection::vec(0.01f64..100.0, 1..20), allowance in 0.0f64..3.0) {
            let rates = MeasuredRates::equal_data(7.0, &rates).unwrap();
            let time = rates.write_time(allowance).unwrap();
            prop_assert!(time >= rates.fluid_bound() * (1.0 - 1e-12));
            prop_assert!(time <= rates.static_time() * (1.0 + 1e-12));
        }
    }
}
