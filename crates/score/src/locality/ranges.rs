//! Sets of nodes in a few ranges, as in Xie's figures 28 and 29.

use super::NodeSet;
use crate::distribution::Distribution;

/// Sets of nodes whose values lie next to each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Range {
    /// The least value.
    pub from: f64,
    /// The greatest.
    pub to: f64,
    /// Instances of all its sets.
    pub instances: usize,
    /// Of the medians of its sets. A set counts once, however often it was measured.
    pub medians: Distribution,
}

/// How many there are, as in the paper.
const RANGES: usize = 3;

/// So few distinct values have a range each.
const VALUES_APART: usize = 6;

/// The ranges of sets in the order of their values: about the same number of sets in each, and equal values
/// together.
pub(super) fn of(sets: &[NodeSet]) -> Vec<Range> {
    let values: Vec<&[NodeSet]> = sets.chunk_by(|a, b| a.value == b.value).collect();
    if values.len() <= VALUES_APART {
        return values.into_iter().filter_map(range).collect();
    }
    let mut ranges: [Vec<NodeSet>; RANGES] = Default::default();
    let mut passed = 0;
    for equal in values {
        // Where the middle of them lies.
        let index = (passed + equal.len() / 2) * RANGES / sets.len();
        ranges[index].extend_from_slice(equal);
        passed += equal.len();
    }
    ranges.iter().filter_map(|sets| range(sets)).collect()
}

fn range(sets: &[NodeSet]) -> Option<Range> {
    Some(Range {
        from: sets.first()?.value,
        to: sets.last()?.value,
        instances: sets.iter().map(|set| set.instances).sum(),
        medians: Distribution::new(sets.iter().map(|set| set.median).collect())?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges_of(values: &[f64]) -> Vec<(f64, f64, usize)> {
        let sets: Vec<NodeSet> = values
            .iter()
            .map(|value| NodeSet { value: *value, median: 0.5, instances: 2 })
            .collect();
        let ranges = of(&sets);
        assert_eq!(ranges.iter().map(|it| it.instances).sum::<usize>(), 2 * values.len());
        ranges.iter().map(|it| (it.from, it.to, it.medians.n)).collect()
    }

    #[test]
    fn few_values_stand_apart_and_many_make_three_ranges() {
        assert_eq!(ranges_of(&[1.0, 1.0, 2.0]), [(1.0, 1.0, 2), (2.0, 2.0, 1)]);
        let many: Vec<f64> = (0..30).map(f64::from).collect();
        assert_eq!(ranges_of(&many), [(0.0, 9.0, 10), (10.0, 19.0, 10), (20.0, 29.0, 10)]);
        assert!(ranges_of(&[]).is_empty());
    }

    #[test]
    fn equal_values_stay_together() {
        let mut values: Vec<f64> = vec![5.0; 20];
        values.extend((6..13).map(f64::from));
        let ranges = ranges_of(&values);
        assert_eq!(ranges[0], (5.0, 5.0, 20));
        assert_eq!(ranges.iter().map(|it| it.2).sum::<usize>(), 27);
    }
}
