//! How long something lasts, drawn at random.

use plimsoll_domain::Nanos;
use plimsoll_stats::Random;
use serde::{Deserialize, Serialize};

/// A distribution of durations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Durations {
    /// The mean.
    pub mean: Nanos,
    /// Its shape.
    #[serde(default)]
    pub distribution: Distribution,
    /// For `lognormal`: the standard deviation of the logarithm.
    #[serde(default = "unit")]
    pub spread: f64,
}

fn unit() -> f64 {
    1.0
}

/// The shape of a distribution of durations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// Always the mean.
    Fixed,
    /// Without memory.
    #[default]
    Exponential,
    /// Many short ones and a few very long ones, as Xie's figure 25 has.
    Lognormal,
}

impl Durations {
    /// The mean in nanoseconds.
    pub fn mean_ns(&self) -> f64 {
        self.mean.get() as f64
    }

    /// One duration.
    pub fn draw_ns(&self, random: &mut Random) -> u64 {
        let share = match self.distribution {
            Distribution::Fixed => 1.0,
            Distribution::Exponential => exponential(random),
            Distribution::Lognormal => {
                let sigma = self.spread;
                libm::exp(sigma * random.normal() - 0.5 * sigma * sigma)
            }
        };
        (self.mean_ns() * share) as u64
    }

    /// What is left of the duration that a moment chosen at random falls into.
    pub fn draw_rest_ns(&self, random: &mut Random) -> u64 {
        let share = match self.distribution {
            Distribution::Fixed => random.unit(),
            Distribution::Exponential => exponential(random),
            // The duration around a random moment is drawn with its length as weight, which
            // moves the mean of the logarithm up by its variance.
            Distribution::Lognormal => {
                let sigma = self.spread;
                libm::exp(sigma * random.normal() + 0.5 * sigma * sigma) * random.unit()
            }
        };
        (self.mean_ns() * share) as u64
    }
}

fn exponential(random: &mut Random) -> f64 {
    -libm::log(1.0 - random.unit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_their_mean() {
        for (distribution, spread) in [
            (Distribution::Fixed, 1.0),
            (Distribution::Exponential, 1.0),
            (Distribution::Lognormal, 0.8),
        ] {
            let durations = Durations { mean: Nanos::new(1_000_000), distribution, spread };
            let mut random = Random::new(5);
            let n = 40_000;
            let mean: f64 =
                (0..n).map(|_| durations.draw_ns(&mut random) as f64).sum::<f64>() / f64::from(n);
            assert!((mean / 1e6 - 1.0).abs() < 0.03, "{distribution:?} {mean}");
        }
    }

    /// The mean of squares over twice the mean: a moment falls into long ones more often.
    #[test]
    fn what_is_left_at_a_random_moment_has_its_mean() {
        for (distribution, spread, expected) in [
            (Distribution::Fixed, 1.0, 0.5),
            (Distribution::Exponential, 1.0, 1.0),
            (Distribution::Lognormal, 0.7, 0.5 * 0.49f64.exp()),
        ] {
            let durations = Durations { mean: Nanos::new(1_000_000), distribution, spread };
            let mut random = Random::new(6);
            let n = 40_000;
            let rests = (0..n).map(|_| durations.draw_rest_ns(&mut random) as f64);
            let mean = rests.sum::<f64>() / f64::from(n) / 1e6;
            assert!((mean / expected - 1.0).abs() < 0.03, "{distribution:?} {mean} {expected}");
        }
    }

    /// Xie, section 5.4: 70 % of low sequences end within 1 min, 82 % within 2 min.
    #[test]
    fn the_lognormal_of_the_scenarios_has_xies_quantiles() {
        let durations = Durations {
            mean: Nanos::new(114_000_000_000),
            distribution: Distribution::Lognormal,
            spread: 1.773,
        };
        let mut random = Random::new(8);
        let n = 40_000;
        let drawn: Vec<f64> = (0..n).map(|_| durations.draw_ns(&mut random) as f64 / 1e9).collect();
        let within =
            |seconds: f64| drawn.iter().filter(|d| **d < seconds).count() as f64 / f64::from(n);
        assert!((within(60.0) - 0.70).abs() < 0.02, "{}", within(60.0));
        assert!((within(120.0) - 0.82).abs() < 0.02, "{}", within(120.0));
    }
}
