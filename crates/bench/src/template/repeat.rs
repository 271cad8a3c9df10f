//! How often a template repeats its rounds, from what a person says of it.

use super::TemplateOptions;
use crate::plan::Repeat;

/// What a template does when nothing is said.
pub(super) struct Usual {
    /// Least repetitions of each round.
    pub rounds: u32,
    /// Most repetitions for so many at least.
    pub most: fn(u32) -> u32,
    /// When to stop before.
    pub precision: Option<f64>,
}

/// The least that bound a median at 95 % where measures may repeat each other
/// ([`plimsoll_stats::series::LEAST_AT_95`]).
const ROUNDS: u32 = plimsoll_stats::series::LEAST_AT_95 as u32;
/// What turns out noisy is measured so much longer.
const MOST_OVER_LEAST: u32 = 3;
const PRECISION: f64 = 0.1;

impl Usual {
    /// What all templates do that measure bandwidths.
    pub const BANDWIDTH: Usual = Usual {
        rounds: ROUNDS,
        most: |least| least.saturating_mul(MOST_OVER_LEAST),
        precision: Some(PRECISION),
    };

    /// `rounds` alone is exactly so many. With `rounds_max` or `precision` it is the least, and the precision
    /// ends the rounds before the most.
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
