//! What removing stragglers would give (Xie, fig. 21).

use plimsoll_stats::Sample;

use crate::Columns;
use crate::columns::{InstanceRow, PairRow};

/// Gains of one way of removing, over all instances that it applies to.
#[derive(Debug, Clone, PartialEq)]
pub struct Gains {
    /// What is removed.
    pub removed: Removed,
    /// Time to the last completion over the time to the last one that stays, per instance. The
    /// bytes of those that are removed still count: they are taken to have kept up.
    pub gains: Sample,
}

impl Gains {
    /// The gain that a share of the instances exceeds.
    pub fn exceeded_by(&self, share: f64) -> Option<f64> {
        self.gains.quantile(1.0 - share).ok()
    }
}

/// Which pairs of an instance are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removed {
    /// The slowest.
    Slowest,
    /// The two slowest; needs three pairs.
    TwoSlowest,
    /// All but the fastest.
    All,
}

impl Removed {
    /// In the order of the figure.
    pub const EACH: [Removed; 3] = [Removed::Slowest, Removed::TwoSlowest, Removed::All];

    /// A word for tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Removed::Slowest => "slowest",
            Removed::TwoSlowest => "two slowest",
            Removed::All => "all stragglers",
        }
    }

    /// The gain of one instance; `None` if no pair would stay.
    pub fn gain(self, pairs: &[PairRow]) -> Option<f64> {
        let mut seconds: Vec<f64> = pairs.iter().map(|pair| pair.seconds).collect();
        seconds.sort_unstable_by(|a, b| b.total_cmp(a));
        let stays = match self {
            Removed::Slowest => 1,
            Removed::TwoSlowest => 2,
            Removed::All => seconds.len().saturating_sub(1).max(1),
        };
        Some(seconds.first()? / seconds.get(stays)?)
    }
}

/// The gains of each way that applies to an instance at all.
pub fn gains(columns: &Columns, included: impl Fn(&InstanceRow) -> bool) -> Vec<Gains> {
    let instances =
        || columns.instances().iter().filter(|it| included(it) && columns.has_scores(it));
    let of = |removed: Removed| {
        let gains = instances().filter_map(|it| removed.gain(columns.pairs(it))).collect();
        Sample::new(gains).ok().map(|gains| Gains { removed, gains })
    };
    Removed::EACH.into_iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gain(removed: Removed, seconds: &[f64]) -> Option<f64> {
        let pair = |seconds: &f64| PairRow {
            client: 0,
            target: 0,
            server: None,
            bytes: 1,
            seconds: *seconds,
        };
        removed.gain(&seconds.iter().map(pair).collect::<Vec<_>>())
    }

    #[test]
    fn zero_one_two_and_three_pairs() {
        for removed in Removed::EACH {
            assert_eq!(gain(removed, &[]), None);
            assert_eq!(gain(removed, &[2.0]), None);
        }
        assert_eq!(gain(Removed::Slowest, &[1.0, 4.0]), Some(4.0));
        assert_eq!(gain(Removed::TwoSlowest, &[1.0, 4.0]), None);
        assert_eq!(gain(Removed::All, &[1.0, 4.0]), Some(4.0));
        assert_eq!(gain(Removed::Slowest, &[2.0, 1.0, 8.0]), Some(4.0));
        assert_eq!(gain(Removed::TwoSlowest, &[2.0, 1.0, 8.0]), Some(8.0));
        assert_eq!(gain(Removed::All, &[2.0, 1.0, 8.0, 4.0]), Some(8.0));
    }

    #[test]
    fn equal_times_gain_nothing() {
        for removed in Removed::EACH {
            assert_eq!(gain(removed, &[3.0; 5]), Some(1.0));
        }
    }
}
