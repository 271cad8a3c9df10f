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

/// Sorts rows by key of their series, and then by time.
pub(crate) fn sort_rows(series: &[Series], rows: &mut [Row]) {
    let mut keys: Vec<u32> = Vec::with_capacity(series.len());
    for (number, it) in series.iter().enumerate() {
        let is_same = number > 0 && series[number - 1].key() == it.key();
        keys.push(match keys.last() {
            Some(last) if is_same => *last,
            Some(last) => last + 1,
            None => 0,
        });
    }
    rows.sort_by_key(|row| (keys[row.series as usize], row.end));
}
