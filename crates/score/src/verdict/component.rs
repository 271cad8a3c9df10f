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

/// A value of a component, of any origin: a bandwidth, or whatever is larger when it is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Value {
    /// Number of the component.
    pub component: u32,
    /// When it was taken, nanoseconds since 1970.
    pub start: u64,
    /// Values of one set are compared with each other.
    pub set: u32,
    /// Number of what else may differ between sets.
    pub setting: u32,
    /// More than 0.
    pub value: f64,
}

impl Component {
    /// Compares values, which come sorted by their sets, with the others of their set. Components are
    /// numbered from 0; a set in which one comes twice compares nothing.
    pub fn compared(values: &[Value]) -> Vec<Component> {
        let count = values.iter().map(|it| it.component as usize + 1).max().unwrap_or(0);
        let mut components = vec![Component::default(); count];
        for set in values.chunk_by(|a, b| a.set == b.set) {
            let usable = |it: &&Value| it.value.is_finite() && it.value > 0.0;
            let mut entries: Vec<&Value> = set.iter().filter(usable).collect();
            entries.sort_unstable_by_key(|it| it.component);
            if entries.windows(2).any(|pair| pair[0].component == pair[1].component) {
                continue;
            }
            let logs: Vec<f64> = entries.iter().map(|it| it.value.ln()).collect();
            for (it, log_ratio) in entries.iter().zip(against_others(&logs)) {
                let Value { start, set, setting, .. } = **it;
                let measure = Measure { start, set, setting, log_ratio };
                components[it.component as usize].push(measure, logs.len() - 1);
            }
        }
        components.iter_mut().for_each(Component::finish);
        components
    }

    /// Adds a measure that was compared with so many others.
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
fn median_without(sorted: &[f64], place: usize) -> f64 {
    let at = |index: usize| sorted[if index < place { index } else { index + 1 }];
    let others = sorted.len() - 1;
    match others % 2 {
        1 => at(others / 2),
        _ => (at(others / 2 - 1) + at(others / 2)) / 2.0,
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
    fn values_of_any_origin_are_compared() {
        let value = |set, component, value| Value {
            component,
            start: u64::from(100 - set),
            set,
            setting: 7,
            value,
        };
        let found = Component::compared(&[
            value(1, 0, 50.0),
            value(1, 2, 100.0),
            value(2, 0, 100.0),
            value(3, 0, 10.0),
            value(3, 0, 10.0),
            value(3, 2, 10.0),
            value(4, 0, 0.0),
            value(4, 2, 10.0),
            value(5, 0, 30.0),
            value(5, 2, 30.0),
        ]);
        assert_eq!((found.len(), found[1].measures.len()), (3, 0));
        // In order of time; one alone, one that comes twice and one without a logarithm are left out.
        let sets: Vec<u32> = found[0].measures.iter().map(|it| it.set).collect();
        assert_eq!((sets, found[0].others), (vec![5, 1], 1));
        assert!((found[0].measures[1].log_ratio - 0.5f64.ln()).abs() < 1e-12);
        assert!(Component::compared(&[]).is_empty());
    }
}
