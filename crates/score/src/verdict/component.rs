//! A component against the others that were measured beside it.

use super::median_of;

/// One measure of a component.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measure {
    /// When it was taken, nanoseconds since 1970.
    pub start: u64,
    /// The comparison that it belongs to: an instance, or instances that are close in time.
    pub set: u32,
    /// Number of the setting.
    pub setting: u32,
    /// Logarithm of its bandwidth over the median of the others of the comparison.
    pub log_ratio: f64,
}

/// The measures of one component, in order of time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Component {
    /// Its measures.
    pub measures: Vec<Measure>,
    /// The fewest others that it was compared with.
    pub others: usize,
    /// The counterpart with which it was always, and which was always with it: what is slow is
    /// one of the two, or both.
    pub inseparable: Option<u32>,
}

impl Component {
    /// Adds a measure that was compared with this many others.
    pub(super) fn push(&mut self, measure: Measure, others: usize) {
        self.others = if self.measures.is_empty() { others } else { self.others.min(others) };
        self.measures.push(measure);
    }

    /// Brings the measures in order of time.
    pub(super) fn finish(&mut self) {
        self.measures.sort_by_key(|it| (it.start, it.set));
    }

    /// The logarithms in order of time.
    pub(super) fn logs(&self) -> Vec<f64> {
        self.measures.iter().map(|it| it.log_ratio).collect()
    }

    /// Measures under the limit.
    pub(super) fn low(&self, limit: f64) -> usize {
        self.measures.iter().filter(|it| it.log_ratio < limit).count()
    }

    /// The share of measures under the limit; 0 without measures.
    pub(super) fn low_share(&self, limit: f64) -> f64 {
        self.low(limit) as f64 / self.measures.len().max(1) as f64
    }

    /// Whether the median is under the limit in each third of the time.
    pub(super) fn is_low_throughout(&self, limit: f64) -> bool {
        let n = self.measures.len();
        (0..3).all(|part| {
            let third = &self.measures[part * n / 3..(part + 1) * n / 3];
            let mut logs: Vec<f64> = third.iter().map(|it| it.log_ratio).collect();
            median_of(&mut logs).is_some_and(|median| median < limit)
        })
    }
}

/// Each less the median of the others, in the same order; nothing if there are no others.
pub(super) fn against_others(logs: &[f64]) -> Vec<f64> {
    if logs.len() < 2 {
        return Vec::new();
    }
    let mut sorted = logs.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let place = |log: &f64| sorted.partition_point(|other| other.total_cmp(log).is_lt());
    logs.iter().map(|log| log - median_without(&sorted, place(log))).collect()
}

/// The median of ascending values without the one at `place`; there are at least two.
pub(super) fn median_without(sorted: &[f64], place: usize) -> f64 {
    let at = |index: usize| sorted[if index < place { index } else { index + 1 }];
    let others = sorted.len() - 1;
    match others % 2 {
        1 => at(others / 2),
        _ => (at(others / 2 - 1) + at(others / 2)) / 2.0,
    }
}

#[cfg(test)]
impl Component {
    /// One measure a nanosecond, each in a comparison of its own.
    pub(super) fn of_logs(logs: &[f64]) -> Self {
        let measure = |(at, log_ratio): (u32, &f64)| Measure {
            start: u64::from(at),
            set: at,
            setting: 0,
            log_ratio: *log_ratio,
        };
        Component { measures: (0..).zip(logs).map(measure).collect(), ..Component::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_the_others() {
        let sorted = [1.0, 2.0, 4.0, 8.0];
        let all: Vec<f64> = (0..4).map(|place| median_without(&sorted, place)).collect();
        assert_eq!(all, [4.0, 4.0, 2.0, 2.0]);
        assert_eq!(median_without(&[1.0, 3.0, 9.0], 1), 5.0);
        assert_eq!(median_without(&[1.0, 3.0], 0), 3.0);
    }

    #[test]
    fn low_throughout_is_low_in_every_third() {
        let (low, fine) = ([-1.0; 3], [0.0; 3]);
        let throughout =
            |thirds: [[f64; 3]; 3]| Component::of_logs(&thirds.concat()).is_low_throughout(-0.5);
        assert!(throughout([low, low, low]));
        for thirds in [[fine, low, low], [low, fine, low], [low, low, fine]] {
            assert!(!throughout(thirds), "{thirds:?}");
        }
        assert!(!throughout([low, [-0.5; 3], low]), "at the limit is not under it");
        assert!(!Component::of_logs(&[]).is_low_throughout(-0.5));
    }

    /// Seven measures make thirds of two, two and three.
    #[test]
    fn thirds_of_seven_are_looked_at_to_the_last() {
        let throughout = |text: &str| {
            let logs = text.bytes().map(|it| if it == b'l' { -1.0 } else { 0.0 });
            Component::of_logs(&logs.collect::<Vec<f64>>()).is_low_throughout(-0.5)
        };
        assert!(throughout("lllllnl") && throughout("lllllll"));
        assert!(!throughout("lllllnn") && !throughout("lllnnll") && !throughout("nnlllll"));
    }

    #[test]
    fn each_is_held_against_the_others_only() {
        assert_eq!(against_others(&[1.0, 5.0, 2.0]), [-2.5, 3.5, -1.0]);
        assert_eq!(against_others(&[1.0, 3.0]), [-2.0, 2.0]);
        assert_eq!(against_others(&[2.0, 2.0, 2.0]), [0.0; 3], "ties");
        assert!(against_others(&[1.0]).is_empty() && against_others(&[]).is_empty());
    }

    #[test]
    fn the_fewest_others_are_kept_and_measures_come_in_order_of_time() {
        let mut component = Component::default();
        for (start, set, others) in [(5, 1, 3), (4, 2, 2), (4, 0, 7)] {
            component.push(Measure { start, set, setting: 0, log_ratio: 0.0 }, others);
        }
        component.finish();
        let sets: Vec<u32> = component.measures.iter().map(|it| it.set).collect();
        assert_eq!((sets, component.others), (vec![0, 2, 1], 2));
    }

    #[test]
    fn a_measure_at_the_limit_is_not_under_it() {
        let component = Component::of_logs(&[-1.0, -0.5, -0.4, 0.0]);
        assert_eq!((component.low(-0.5), component.low_share(-0.5)), (1, 0.25));
    }
}
