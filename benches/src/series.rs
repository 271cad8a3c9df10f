//! Series of measures that never happened, whose median is known: for the coverage of intervals.

use plimsoll_stats::Random;
use plimsoll_stats::distribution::{normal_cdf, normal_quantile};

/// How the values of a series are distributed, and how they repeat each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    values: Values,
    repeating: Repeating,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Values {
    /// Log-normal, 30 %.
    LogNormal,
    /// Tails that fall like the square, both ways.
    Heavy,
    /// Slower by an exponential share, never faster.
    OneSided,
    /// At half speed with this probability, beside 3 % noise.
    Bimodal(f64),
    /// Times longer by a Pareto share of exponent 1.5.
    Pareto,
    /// At 100, 80 and 50 % with probabilities 0.5, 0.3 and 0.2, beside 3 % noise.
    ThreeModes,
    /// Log-normal, of 3 % while the number behind is positive and 30 % while it is not.
    Volatile,
}

/// How neighbours depend on each other; all but the last have normal values behind them.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Repeating {
    /// Autoregressive with this correlation.
    Autoregressive(f64),
    /// Autoregressive of second order: 0.6 and 0.2.
    SecondOrder,
    /// The mean of four.
    MovingAverage,
    /// A side of the median that is left with probability 1/5.
    TwoStates,
    /// Drawn anew with probability 1/4, otherwise as before.
    Sticky,
    /// A side of the median that is left with probability 1/10.
    LongStates,
}

/// What the intervals were designed with.
pub const USED: [Shape; 6] = [
    shape(Values::LogNormal, Repeating::Autoregressive(0.0)),
    shape(Values::Heavy, Repeating::Autoregressive(0.0)),
    shape(Values::OneSided, Repeating::Autoregressive(0.0)),
    shape(Values::Bimodal(0.1), Repeating::Autoregressive(0.0)),
    shape(Values::Bimodal(0.3), Repeating::Autoregressive(0.0)),
    shape(Values::Bimodal(0.45), Repeating::Autoregressive(0.0)),
];

/// What was chosen before the design, and looked at once it was done. The third was looked at, and
/// led to the rule that an interval must have stayed narrow before an experiment stops; the sixth and seventh were
/// chosen after that. The sixth led to the rule that what was visited seldom stays inside the interval; the last was chosen after
/// that.
pub const HELD_OUT: [Shape; 8] = [
    shape(Values::LogNormal, Repeating::MovingAverage),
    shape(Values::LogNormal, Repeating::SecondOrder),
    shape(Values::Bimodal(0.5), Repeating::TwoStates),
    shape(Values::OneSided, Repeating::Autoregressive(0.7)),
    shape(Values::Pareto, Repeating::Autoregressive(0.0)),
    shape(Values::ThreeModes, Repeating::Sticky),
    shape(Values::Volatile, Repeating::LongStates),
    shape(Values::Bimodal(0.4), Repeating::LongStates),
];

const fn shape(values: Values, repeating: Repeating) -> Shape {
    Shape { values, repeating }
}

impl Shape {
    /// The same values, autoregressive with this correlation.
    pub fn correlated(self, correlation: f64) -> Shape {
        Shape { repeating: Repeating::Autoregressive(correlation), ..self }
    }

    /// For a row of a table.
    pub fn name(self) -> String {
        let values = match self.values {
            Values::LogNormal => "log-normal, 30 %".into(),
            Values::Heavy => "heavy tails".into(),
            Values::OneSided => "one-sided".into(),
            Values::Bimodal(share) => format!("half speed in {:.0} %", share * 100.0),
            Values::Pareto => "Pareto".into(),
            Values::ThreeModes => "100, 80 and 50 %".into(),
            Values::Volatile => "noise of 3 or 30 %".into(),
        };
        match self.repeating {
            Repeating::Autoregressive(0.0) => values,
            Repeating::Autoregressive(rho) => format!("{values}, autoregressive {rho}"),
            Repeating::SecondOrder => format!("{values}, autoregressive 0.6, 0.2"),
            Repeating::MovingAverage => format!("{values}, mean of four"),
            Repeating::TwoStates => format!("{values}, for five measures at a time"),
            Repeating::Sticky => format!("{values}, for four measures at a time"),
            Repeating::LongStates => format!("{values}, for ten measures at a time"),
        }
    }

    /// The median of all that could be measured.
    pub fn median(self) -> f64 {
        self.value(match self.values {
            // The quantile of the upper mode with half of everything below it.
            Values::Bimodal(share) => {
                0.03 * normal_quantile((0.5 - share) / (1.0 - share)).max(-8.0)
            }
            // Half of everything is in the uppermost mode: the median lies between it and the next.
            Values::ThreeModes => 0.9_f64.ln(),
            _ => 0.0,
        })
    }

    /// So many values.
    pub fn series(self, n: usize, random: &mut Random) -> Vec<f64> {
        let behind = self.behind(n, random);
        let value = |normal: &f64| match self.values {
            Values::Bimodal(share) => {
                let low = *normal < normal_quantile(share);
                let speed: f64 = if low { 0.5 } else { 1.0 };
                self.value(speed.ln() + 0.03 * random.normal())
            }
            Values::ThreeModes => {
                let below = normal_cdf(*normal);
                let speed: f64 = if below < 0.2 {
                    0.5
                } else if below < 0.5 {
                    0.8
                } else {
                    1.0
                };
                self.value(speed.ln() + 0.03 * random.normal())
            }
            Values::Volatile => {
                let spread = if *normal < 0.0 { 0.3 } else { 0.03 };
                self.value(spread * random.normal())
            }
            _ => self.value(*normal),
        };
        behind.iter().map(value).collect()
    }

    /// The value of a normal number; of values with modes or changing noise, of a logarithm.
    fn value(self, normal: f64) -> f64 {
        let below = normal_cdf(normal).clamp(1e-12, 1.0 - 1e-12);
        100.0
            * match self.values {
                Values::LogNormal => (0.3 * normal).exp(),
                Values::Heavy if below < 0.5 => 1.0 / (1.0 + 0.1 * tail(below)),
                Values::Heavy => 1.0 + 0.1 * tail(1.0 - below),
                Values::OneSided => (0.3 * below.ln()).exp(),
                Values::Bimodal(_) | Values::ThreeModes | Values::Volatile => normal.exp(),
                Values::Pareto => 1.0 / (1.0 + 0.05 * (below.powf(-1.0 / 1.5) - 1.0)),
            }
    }

    fn behind(self, n: usize, random: &mut Random) -> Vec<f64> {
        // Long enough for any beginning to be forgotten.
        const BEFORE: usize = 100;
        let mut normals: Vec<f64> = (0..n + BEFORE).map(|_| random.normal()).collect();
        match self.repeating {
            Repeating::Autoregressive(rho) => {
                let own = (1.0 - rho * rho).sqrt();
                (1..normals.len())
                    .for_each(|i| normals[i] = rho * normals[i - 1] + own * normals[i]);
            }
            Repeating::SecondOrder => {
                // Variance 1 / ((1 + b) ((1 - b)² - a²) / (1 - b)) with a = 0.6, b = 0.2.
                let own = (1.2_f64 * (0.64 - 0.36) / 0.8).sqrt();
                for i in 2..normals.len() {
                    normals[i] = 0.6 * normals[i - 1] + 0.2 * normals[i - 2] + own * normals[i];
                }
            }
            Repeating::MovingAverage => {
                let means = normals.windows(4).map(|it| it.iter().sum::<f64>() / 2.0);
                normals = means.collect();
            }
            Repeating::TwoStates => alternate(&mut normals, 0.2, random),
            Repeating::LongStates => alternate(&mut normals, 0.1, random),
            Repeating::Sticky => {
                for i in 1..normals.len() {
                    if random.unit() >= 0.25 {
                        normals[i] = normals[i - 1];
                    }
                }
            }
        }
        normals.split_off(normals.len() - n)
    }
}

/// Lets the sign change with this probability only.
fn alternate(normals: &mut [f64], probability: f64, random: &mut Random) {
    for i in 1..normals.len() {
        let is_low = (normals[i - 1] < 0.0) != (random.unit() < probability);
        normals[i] = if is_low { -normals[i].abs() } else { normals[i].abs() };
    }
}

/// Quantiles of a tail that falls like the square.
fn tail(share: f64) -> f64 {
    (2.0 * share).powf(-0.5) - 1.0
}
