//! One day of an import: rows in the order of files, without those that the store has.

use std::collections::HashMap;

use plimsoll_guarded::Directory;

use crate::import_known::{Known, Verdict};
use crate::part::PartWriter;
use crate::{Component, Day, HistoryError, Imported, Measure, Row, Series, Store};

/// Rows that are held at a time, as far as one key allows.
const ROWS_AT_A_TIME: usize = 1 << 18;

/// Ends of the latest sample of each key, of days before.
#[derive(Debug, Default)]
pub(crate) struct LastEnds {
    of: HashMap<(Measure, u64, Component), u64>,
}

impl LastEnds {
    fn of_series(&self, series: &[Series]) -> Vec<u64> {
        if self.of.is_empty() {
            return vec![0; series.len()];
        }
        let end = |it: &Series| self.of.get(&(it.measure, it.bin, it.component.clone())).copied();
        series.iter().map(|it| end(it).unwrap_or(0)).collect()
    }
}

/// Takes the rows of one day of an import.
pub struct DayRows<'a> {
    day: Day,
    series: &'a [Series],
    /// For each series, the place of the first one of its key.
    keys: Vec<u32>,
    /// By these places.
    last_ends: Vec<u64>,
    known: Option<Known<'a>>,
    part: PartWriter<'a>,
    /// Whole keys, until they are compared with what is there.
    rows: Vec<Row>,
    last: Option<(u32, u64)>,
    until: u64,
    imported: Imported,
}

impl<'a> DayRows<'a> {
    #[allow(clippy::too_many_arguments, reason = "all of an import that one of its days needs")]
    pub(crate) fn create(
        directory: &'a Directory,
        file: &str,
        day: Day,
        series: &'a [Series],
        store: &'a Store,
        last_ends: &LastEnds,
        until: u64,
    ) -> Result<Self, HistoryError> {
        if !series.is_sorted_by(|one, next| one < next) {
            return Err(HistoryError::damaged(directory.path(), "series are not in their order"));
        }
        let mut keys: Vec<u32> = Vec::with_capacity(series.len());
        for (place, it) in series.iter().enumerate() {
            let is_same = place > 0 && series[place - 1].key() == it.key();
            keys.push(if is_same { keys[place - 1] } else { place as u32 });
        }
        Ok(DayRows {
            day,
            series,
            keys,
            last_ends: last_ends.of_series(series),
            known: Known::of_day(store, day)?,
            part: PartWriter::create(directory, file, series)?.with_all_processors(),
            rows: Vec::new(),
            last: None,
            until,
            imported: Imported::default(),
        })
    }

    /// Takes a sample of the series that has this place in the list.
    ///
    /// # Errors
    /// If it comes before the last one by series or time or is of another day, or if the system refuses.
    pub fn row(&mut self, row: Row) -> Result<(), HistoryError> {
        let wrong = |reason: &str| Err(HistoryError::damaged(self.part_path().as_ref(), reason));
        let Some(key) = self.keys.get(row.series as usize).copied() else {
            return wrong("a sample is of no series");
        };
        if self.last.is_some_and(|last| (key, row.end) < last) {
            return wrong("samples are not in their order");
        }
        if Day::ending_at(row.end) != self.day {
            return wrong("a sample is of another day");
        }
        if row.end > self.until {
            self.imported.too_late += 1;
            return Ok(());
        }
        let is_new_key = self.last.is_some_and(|last| last.0 != key);
        if is_new_key && self.rows.len() >= ROWS_AT_A_TIME {
            self.write()?;
        }
        self.last = Some((key, row.end));
        let last_end = &mut self.last_ends[key as usize];
        // A level is of one moment.
        if row.end.saturating_sub(u64::from(row.length).max(1)) < *last_end && *last_end > 0 {
            self.imported.overlapping += 1;
            return Ok(());
        }
        *last_end = row.end;
        if self.known.is_none() {
            self.imported.samples += 1;
            return self.part.row(row);
        }
        self.rows.push(row);
        Ok(())
    }

    /// Takes samples of one series that follow each other.
    ///
    /// # Errors
    /// As [`DayRows::row`].
    pub fn rows(
        &mut self,
        series: u32,
        ends: &[u64],
        length: u32,
        values: &[u64],
    ) -> Result<(), HistoryError> {
        let count = ends.len().min(values.len());
        let (ends, values) = (&ends[..count], &values[..count]);
        if self.is_plain(series, ends, length) {
            let key = self.keys[series as usize];
            if let Some(end) = ends.last() {
                self.last = Some((key, *end));
                self.last_ends[key as usize] = *end;
            }
            self.imported.samples += ends.len() as u64;
            return self.part.rows(series, ends, length, values);
        }
        let mut all = ends.iter().zip(values);
        all.try_for_each(|(end, value)| self.row(Row { series, end: *end, length, value: *value }))
    }

    /// Returns whether there is nothing to be looked at in samples: they are of this day, in their order and without overlap, none of them is too late, and the store has
    /// nothing that they could be compared with. It is so for nearly all that is imported.
    fn is_plain(&self, series: u32, ends: &[u64], length: u32) -> bool {
        let (Some(key), Some(first), Some(last)) =
            (self.keys.get(series as usize), ends.first(), ends.last())
        else {
            return false;
        };
        let least = u64::from(length).max(1);
        let last_end = self.last_ends[*key as usize];
        self.known.is_none()
            && *last <= self.until
            && Day::ending_at(*first) == self.day
            && Day::ending_at(*last) == self.day
            && self.last.is_none_or(|last| (*key, *first) >= last)
            && (last_end == 0 || first.saturating_sub(least) >= last_end)
            && are_apart(ends, least)
    }

    pub(crate) fn finish(mut self, last_ends: &mut LastEnds) -> Result<Imported, HistoryError> {
        self.write()?;
        for (place, it) in
            self.series.iter().enumerate().filter(|it| self.keys[it.0] == it.0 as u32)
        {
            if self.last_ends[place] > 0 {
                let key = (it.measure, it.bin, it.component.clone());
                last_ends.of.insert(key, self.last_ends[place]);
            }
        }
        if self.part.has_rows() {
            self.part.finish()?;
        }
        Ok(self.imported)
    }

    /// Writes the rows that are held, but for those that are there.
    fn write(&mut self) -> Result<(), HistoryError> {
        let rows = std::mem::take(&mut self.rows);
        let Some(known) = &self.known else { return Ok(()) };
        let verdicts = known.verdicts(self.series, &rows)?;
        for (row, verdict) in rows.into_iter().zip(verdicts) {
            let imported = &mut self.imported;
            match verdict {
                Verdict::New => {
                    imported.samples += 1;
                    self.part.row(row)?;
                }
                Verdict::AlreadyThere => imported.already_there += 1,
                Verdict::Differing => imported.differing += 1,
            }
        }
        Ok(())
    }

    fn part_path(&self) -> String {
        self.day.directory()
    }
}

/// Returns whether each end is later than the one before by so much. It is so for nearly all: looking at them all without a branch is faster than to stop at one that is not.
fn are_apart(ends: &[u64], least: u64) -> bool {
    ends.windows(2).fold(true, |is_apart, two| {
        is_apart & (two[1] >= two[0]) & (two[1].wrapping_sub(two[0]) >= least)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_that_overlap_or_go_back_are_not_apart() {
        assert!(are_apart(&[], 5) && are_apart(&[1], 5) && are_apart(&[5, 10, 15], 5));
        assert!(!are_apart(&[5, 9], 5) && !are_apart(&[10, 5], 1) && !are_apart(&[u64::MAX, 0], 1));
    }
}
