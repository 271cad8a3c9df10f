//! Pairs that stand apart from their equals: marked, never dropped.

use std::collections::HashMap;

use plimsoll_stats::outlier::ModifiedZ;
use plimsoll_stats::{FiveNumberSummary, Sample};

use crate::Columns;
use crate::columns::{InstanceRow, PairRow};

/// The fences and the scale of each set of comparable pairs, by bandwidth.
#[derive(Debug, Clone, Default)]
pub struct Marks {
    sets: HashMap<(u32, u32), (f64, f64, Option<ModifiedZ>)>,
}

/// On which side a pair lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// More than 1.5 interquartile ranges under the lower quartile.
    Low,
    /// More than 1.5 interquartile ranges above the upper quartile.
    High,
}

impl Marks {
    /// Over all instances with scores.
    pub fn new(columns: &Columns) -> Self {
        let mut sets: HashMap<(u32, u32), Vec<f64>> = HashMap::new();
        for instance in columns.instances().iter().filter(|it| columns.has_scores(it)) {
            let set = sets.entry((instance.experiment, instance.setting)).or_default();
            set.extend(columns.pairs(instance).iter().map(PairRow::bandwidth));
        }
        let fences = |values: Vec<f64>| {
            let sample = Sample::new(values).ok()?;
            let five = FiveNumberSummary::new(&sample);
            Some((five.lower_fence, five.upper_fence, ModifiedZ::new(&sample)))
        };
        let sets = sets.into_iter().filter_map(|(set, values)| Some((set, fences(values)?)));
        Marks { sets: sets.collect() }
    }

    /// Whether a pair lies beyond a fence of its set.
    pub fn mark(&self, instance: &InstanceRow, pair: &PairRow) -> Option<Mark> {
        let (low, high, _) = self.sets.get(&(instance.experiment, instance.setting))?;
        match pair.bandwidth() {
            value if value < *low => Some(Mark::Low),
            value if value > *high => Some(Mark::High),
            _ => None,
        }
    }

    /// The pair's modified Z score in its set; `None` where more than half are equal.
    pub fn modified_z(&self, instance: &InstanceRow, pair: &PairRow) -> Option<f64> {
        let (_, _, z) = self.sets.get(&(instance.experiment, instance.setting))?;
        z.map(|z| z.score(pair.bandwidth()))
    }
}
