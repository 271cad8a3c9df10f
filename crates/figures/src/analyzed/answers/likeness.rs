//! Words for correlations: the same number gets the same word wherever it stands.

use plimsoll_analyze::Estimate;

/// Correlations from which on things are said to be alike a little, somewhat, and much.
const A_LITTLE: f64 = 0.15;
const SOMEWHAT: f64 = 0.3;
const MUCH: f64 = 0.6;

/// How much two things go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Likeness {
    /// One is high where the other one is low.
    Opposite,
    /// Not beyond chance.
    Not,
    Hardly,
    ALittle,
    Somewhat,
    Much,
}

impl Likeness {
    /// Tells a correlation's.
    pub fn of(r: &Estimate) -> Self {
        let is_chance = r.interval.is_some_and(|it| it.low <= 0.0 && 0.0 <= it.high);
        match r.value {
            _ if is_chance => Likeness::Not,
            it if it <= -SOMEWHAT => Likeness::Opposite,
            it if it < A_LITTLE => Likeness::Hardly,
            it if it < SOMEWHAT => Likeness::ALittle,
            it if it < MUCH => Likeness::Somewhat,
            _ => Likeness::Much,
        }
    }

    /// Tells the lesser one's of two correlations.
    pub fn of_both(one: &Estimate, other: &Estimate) -> Self {
        Likeness::of(if one.value < other.value { one } else { other })
    }

    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Likeness::Opposite => "the less",
            Likeness::Not => "not visibly",
            Likeness::Hardly => "hardly",
            Likeness::ALittle => "a little",
            Likeness::Somewhat => "somewhat",
            Likeness::Much => "much",
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_analyze::Interval;

    use super::*;

    #[test]
    fn a_correlation_has_one_word() {
        let of = |value: f64| {
            let interval = Some(Interval { low: value - 0.01, high: value + 0.01 });
            Likeness::of(&Estimate { value, interval })
        };
        let all = [-0.5, -0.2, 0.005, 0.14, 0.29, 0.3, 0.59, 0.6].map(of);
        use Likeness::{ALittle, Hardly, Much, Not, Opposite, Somewhat};
        assert_eq!(all, [Opposite, Hardly, Not, Hardly, ALittle, Somewhat, Somewhat, Much]);
    }
}
