//! What rows of a store belong to, and the rows.

use std::cmp::Ordering;

use crate::{Component, Measure};

/// One measure of a component, as one server reports it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Series {
    /// What is measured.
    pub measure: Measure,
    /// The bin of a histogram; 0 where there is none.
    pub bin: u64,
    /// Of what.
    pub component: Component,
    /// Who reported it.
    pub server: String,
}

impl Series {
    /// Returns what it is a series of, whoever reports it: rows of equal keys never overlap in time.
    pub fn key(&self) -> (Measure, u64, &Component) {
        (self.measure, self.bin, &self.component)
    }
}

/// The order of a store: all of a measure is together.
impl Ord for Series {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key()).then_with(|| self.server.cmp(&other.server))
    }
}

impl PartialOrd for Series {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// One sample of a series: what a counter grew by during some time, or a level at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// The number of its series in the list that goes with it.
    pub series: u32,
    /// Milliseconds since 1970: the end of the time that it is of.
    pub end: u64,
    /// How many milliseconds before the end are covered; 0 for a level.
    pub length: u32,
    /// By how much a counter grew, or the level.
    pub value: u64,
}

/// Sorts rows by key of their series, and then by time. What was appended in the order of time needs no comparison.
pub(crate) fn sort_rows(series: &[Series], rows: &mut Vec<Row>) {
    let mut keys: Vec<u32> = Vec::with_capacity(series.len());
    for (number, it) in series.iter().enumerate() {
        let is_same = number > 0 && series[number - 1].key() == it.key();
        keys.push(match keys.last() {
            Some(last) if is_same => *last,
            Some(last) => last + 1,
            None => 0,
        });
    }
    let key = |row: &Row| keys[row.series as usize] as usize;
    // Where the rows of each key begin, and then where the next one goes.
    let mut places = vec![0; keys.last().map_or(1, |last| *last as usize + 2)];
    rows.iter().for_each(|row| places[key(row) + 1] += 1);
    for place in 1..places.len() {
        places[place] += places[place - 1];
    }
    let mut sorted = vec![Row { series: 0, end: 0, length: 0, value: 0 }; rows.len()];
    for row in rows.iter() {
        let place = &mut places[key(row)];
        sorted[*place] = *row;
        *place += 1;
    }
    for of_key in sorted.chunk_by_mut(|one, next| key(one) == key(next)) {
        if !of_key.is_sorted_by_key(|row| row.end) {
            of_key.sort_by_key(|row| row.end);
        }
    }
    *rows = sorted;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ComponentKind;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_are_sorted_by_key_and_time_and_stay_in_their_order(
            some in proptest::collection::vec((0u32..9, 0u64..20, 0u64..1000), 0..200)
        ) {
            // Three servers report each of three targets.
            let series: Vec<Series> = (0..9u64).map(|number| Series {
                measure: Measure::ReadBytes,
                bin: 0,
                component: Component::new(ComponentKind::Ost, format!("OST{}", number / 3)),
                server: format!("oss{}", number % 3),
            }).collect();
            let row = |(series, end, value)| Row { series, end, length: 1, value };
            let mut rows: Vec<Row> = some.into_iter().map(row).collect();
            let mut expected = rows.clone();
            expected.sort_by_key(|row| (row.series / 3, row.end));
            sort_rows(&series, &mut rows);
            prop_assert_eq!(rows, expected);
        }
    }
}
