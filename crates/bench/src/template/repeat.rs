//! How often a template repeats its rounds, given the options.

use super::TemplateOptions;
use crate::plan::Repeat;

/// What a template does without options.
pub(super) struct Usual {
    /// Least repetitions of each round.
    pub rounds: u32,
    /// The maximum number of repetitions, given the minimum.
    pub most: fn(u32) -> u32,
    /// The precision at which to stop earlier.
    pub precision: Option<f64>,
}

/// The fewest measures that bound a median at 95 % where they may be correlated
/// ([`plimsoll_stats::series::LEAST_AT_95`]).
const ROUNDS: u32 = plimsoll_stats::series::LEAST_AT_95 as u32;
/// The factor by which noisy settings are measured longer.
const MOST_OVER_LEAST: u32 = 3;
const PRECISION: f64 = 0.1;

impl Usual {
    /// The defaults of all templates that measure bandwidths.
    pub const BANDWIDTH: Usual = Usual {
        rounds: ROUNDS,
        most: |least| least.saturating_mul(MOST_OVER_LEAST),
        precision: Some(PRECISION),
    };

    /// Applies the options. `rounds` alone is the exact number. With `rounds_max` or `precision` it is the
    /// minimum, and reaching the precision ends the rounds before the maximum.
    pub fn with(&self, options: &TemplateOptions) -> Repeat {
        let cap = options.rounds_max.unwrap_or(u32::MAX);
        let rounds = options.rounds.unwrap_or(self.rounds.min(cap));
        let exactly =
            options.rounds.is_some() && options.rounds_max.is_none() && options.precision.is_none();
        let most = if exactly { rounds } else { options.rounds_max.unwrap_or((self.most)(rounds)) };
        Repeat {
            runs: options.runs.unwrap_or(1),
            rounds,
            rounds_max: (most != rounds).then_some(most),
            precision: options.precision.or(self.precision.filter(|_| most > rounds)),
            confidence: 0.95,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Least, most and precision of what was said.
    fn said(
        rounds: Option<u32>,
        rounds_max: Option<u32>,
        precision: Option<f64>,
    ) -> (u32, u32, Option<f64>) {
        let options = TemplateOptions { rounds, rounds_max, precision, ..Default::default() };
        let repeat = Usual::BANDWIDTH.with(&options);
        (repeat.rounds, repeat.rounds_most(), repeat.precision)
    }

    #[test]
    fn what_is_said_of_rounds_means_one_thing() {
        assert_eq!(said(None, None, None), (20, 60, Some(0.1)));
        assert_eq!(said(Some(20), None, None), (20, 20, None), "exactly");
        assert_eq!(said(Some(6), Some(200), None), (6, 200, Some(0.1)), "at least and at most");
        assert_eq!(said(Some(8), Some(8), None), (8, 8, None));
        assert_eq!(said(None, Some(50), None), (20, 50, Some(0.1)));
        assert_eq!(said(None, Some(3), None), (3, 3, None), "not more than the most");
        assert_eq!(said(None, None, Some(0.02)), (20, 60, Some(0.02)));
        assert_eq!(said(Some(40), None, Some(0.02)), (40, 120, Some(0.02)), "at least");
        assert_eq!(said(Some(9), Some(9), Some(0.02)), (9, 9, Some(0.02)));
    }
}
