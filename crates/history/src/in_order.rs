//! Rows of one day after the other in the order of files.

use crate::series::sort_rows;
use crate::{Row, Series};

/// Puts rows in order. What it takes goes with the rows, and not with all series that there are: a file may name many series, and have a row on each of many days.
#[derive(Debug, Default)]
pub(crate) struct InOrder {
    /// The place of each series in the order of all, which equal ones share.
    places: Vec<u32>,
    /// New numbers of the series that rows have; all others are [`UNUSED`].
    new_numbers: Vec<u32>,
}

const UNUSED: u32 = u32::MAX;

impl InOrder {
    /// Returns the series that rows have, in their order, and the rows sorted, with the new numbers. All series are those of the call before, and perhaps more.
    pub fn put(&mut self, all: &[Option<Series>], mut rows: Vec<Row>) -> (Vec<Series>, Vec<Row>) {
        self.order(all);
        let mut used = self.used(all.len(), &rows);
        used.sort_unstable_by_key(|number| self.places[*number as usize]);
        let (mut series, mut last): (Vec<Series>, Option<u32>) = (Vec::new(), None);
        for number in used.iter().map(|it| *it as usize) {
            let place = Some(self.places[number]);
            if let Some(it) = all[number].as_ref().filter(|_| place != last) {
                series.push(it.clone());
                last = place;
            }
            self.new_numbers[number] = series.len().saturating_sub(1) as u32;
        }
        rows.iter_mut().for_each(|row| row.series = self.new_numbers[row.series as usize]);
        used.iter().for_each(|number| self.new_numbers[*number as usize] = UNUSED);
        sort_rows(&series, &mut rows);
        (series, rows)
    }

    /// Compares names once, and not again for each day.
    fn order(&mut self, all: &[Option<Series>]) {
        if self.places.len() == all.len() {
            return;
        }
        let mut order: Vec<u32> = (0..all.len() as u32).collect();
        order.sort_unstable_by_key(|number| &all[*number as usize]);
        self.places = vec![0; all.len()];
        let is_same = |one: &u32, next: &u32| all[*one as usize] == all[*next as usize];
        for (place, same) in (0..).zip(order.chunk_by(is_same)) {
            same.iter().for_each(|number| self.places[*number as usize] = place);
        }
    }

    /// Returns the numbers that rows have, each once.
    fn used(&mut self, all: usize, rows: &[Row]) -> Vec<u32> {
        if self.new_numbers.len() < all {
            self.new_numbers.resize(all, UNUSED);
        }
        let mut used = Vec::new();
        for row in rows {
            let number = &mut self.new_numbers[row.series as usize];
            if *number == UNUSED {
                *number = 0;
                used.push(row.series);
            }
        }
        used
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Component, ComponentKind, Measure};
    use proptest::prelude::*;

    fn series(target: u64) -> Series {
        let component = Component::new(ComponentKind::Ost, format!("OST{target:04x}"));
        Series { measure: Measure::ReadBytes, bin: 0, component, server: "oss1".into() }
    }

    proptest! {
        /// As if each day were the only one, also where a series is named twice.
        #[test]
        fn days_know_nothing_of_each_other(
            days in proptest::collection::vec(
                proptest::collection::vec((0u32..9, 0u64..20), 0..20), 0..6)
        ) {
            let all: Vec<Option<Series>> =
                [4, 2, 7, 2, 0, 9, 1, 8, 3].map(|target| Some(series(target))).to_vec();
            let mut in_order = InOrder::default();
            for day in days {
                let row = |(series, end)| Row { series, end, length: 1, value: series.into() };
                let rows: Vec<Row> = day.into_iter().map(row).collect();
                let of = |row: &Row| all[row.value as usize].clone().unwrap();
                let mut expected: Vec<Series> = rows.iter().map(of).collect();
                expected.sort();
                expected.dedup();
                let mut by_series = rows.clone();
                by_series.sort_by_key(|row| (of(row), row.end));
                let (found, sorted) = in_order.put(&all, rows);
                prop_assert_eq!(&found, &expected);
                let values = |rows: &[Row]| Vec::from_iter(rows.iter().map(|it| (it.end, it.value)));
                prop_assert_eq!(values(&sorted), values(&by_series));
                let are_named = sorted.iter().all(|row| found[row.series as usize] == of(row));
                prop_assert!(are_named);
            }
        }
    }

    /// The attack: a log of a megabyte that names many series which no row has, with a row on each of many days. It took a look at every series for each day.
    #[test]
    fn a_day_costs_what_its_rows_do() {
        let all: Vec<Option<Series>> = (0..100_000).map(|it| Some(series(it))).collect();
        let mut in_order = InOrder::default();
        in_order.put(&all, vec![Row { series: 7, end: 1, length: 1, value: 0 }]);
        // Whoever looked at all of them would see that one has a number that none was given.
        in_order.new_numbers[99_999] = 5;
        let (series, _) = in_order.put(&all, vec![Row { series: 3, end: 1, length: 1, value: 0 }]);
        assert_eq!((series, in_order.new_numbers[99_999]), (vec![all[3].clone().unwrap()], 5));
    }
}
