//! Files of a day: a Parquet file of rows, sorted by measure, component and time.

use std::fs::File;

use plimsoll_guarded::{Directory, Draft};
use plimsoll_table::TableWriter;

use crate::described::Described;
use crate::field::{FIELDS, Field, table};
use crate::group_rows::GroupRows;
use crate::times::Times;
use crate::{HistoryError, Row, Series};

/// Rows of a row group: small enough that a question about a few series reads little else.
const ROWS_PER_GROUP: usize = 1 << 17;

/// Rows of a group that is left rather than that a series is in two of them: whoever asks for it reads one, and groups of series that were sampled at the same times have the same times.
const ROWS_TO_LEAVE: usize = ROWS_PER_GROUP / 4 * 3;

/// The entry of a file's metadata that lists its series.
pub(crate) const SERIES_KEY: &str = "plimsoll.series";

/// A file of a day in the making. It gets its name once it is whole and durable.
pub(crate) struct PartWriter<'a> {
    draft: Draft<&'a Directory>,
    writer: TableWriter<File>,
    /// In their order; rows have their numbers.
    series: &'a [Series],
    /// Rows of each series.
    counts: Vec<u64>,
    /// Rows that are held until they are written: whole groups, and at last one that is not.
    groups: Vec<GroupRows>,
    /// The one that is being filled.
    filled: usize,
    /// Times of the group that was written last.
    last_times: Times,
}

impl<'a> PartWriter<'a> {
    /// Begins a file. Series are those that rows may be of, in their order.
    pub fn create(
        directory: &'a Directory,
        name: &str,
        series: &'a [Series],
    ) -> Result<Self, HistoryError> {
        let path = directory.path().join(name);
        let failed = |cause| HistoryError::io("create", &path, cause);
        let draft = Draft::create(directory, name, 0o600).map_err(failed)?;
        let file = draft.file().try_clone().map_err(failed)?;
        let writer = TableWriter::new(file, &table(), Vec::new()).map_err(failed)?;
        let counts = vec![0; series.len()];
        let groups = vec![GroupRows::default()];
        let last_times = Times::default();
        Ok(PartWriter { draft, writer, series, counts, groups, filled: 0, last_times })
    }

    /// Uses as many processors as there are, and as much more memory: not for who is to be hardly noticed beside others' work.
    pub fn with_all_processors(mut self) -> Self {
        self.groups.resize_with(self.writer.groups_at_a_time().max(1), GroupRows::default);
        self
    }

    /// Appends a row. Rows come by key of their series, and then by time.
    pub fn row(&mut self, row: Row) -> Result<(), HistoryError> {
        self.rows(row.series, &[row.end], row.length, &[row.value])
    }

    /// Appends rows of one series, all of the same length.
    pub fn rows(
        &mut self,
        series: u32,
        ends: &[u64],
        length: u32,
        values: &[u64],
    ) -> Result<(), HistoryError> {
        self.counts[series as usize] += ends.len() as u64;
        let (mut ends, mut values) = (ends, values);
        let rows = self.groups[self.filled].len();
        if rows >= ROWS_TO_LEAVE && rows + ends.len() > ROWS_PER_GROUP {
            self.leave_group()?;
        }
        while !ends.is_empty() {
            let group = &mut self.groups[self.filled];
            let now = ends.len().min(ROWS_PER_GROUP - group.len());
            group.append(series, length, &ends[..now], &values[..now]);
            (ends, values) = (&ends[now..], &values[now..]);
            if group.len() == ROWS_PER_GROUP {
                self.leave_group()?;
            }
        }
        Ok(())
    }

    /// Goes on with the next group.
    fn leave_group(&mut self) -> Result<(), HistoryError> {
        self.filled += 1;
        if self.filled == self.groups.len() { self.write_groups() } else { Ok(()) }
    }

    /// Returns whether it has any row.
    pub fn has_rows(&self) -> bool {
        self.counts.iter().any(|rows| *rows > 0)
    }

    /// Writes what is left, makes it durable and gives it its name.
    pub fn finish(mut self) -> Result<(), HistoryError> {
        self.write_groups()?;
        let path = self.draft.path();
        let failed = |cause| HistoryError::io("write", &path, cause);
        let described = Described::list(self.series, &self.counts);
        self.writer.add_fact(SERIES_KEY, described);
        self.writer.finish().and_then(|()| self.draft.sync()).map_err(failed)?;
        self.draft.publish().map_err(failed)
    }

    /// Writes the groups that have rows. Where rows have filled all groups exactly, none has any at the end.
    fn write_groups(&mut self) -> Result<(), HistoryError> {
        let groups: Vec<&GroupRows> = self.groups.iter().filter(|it| it.len() > 0).collect();
        let series = self.series;
        let last = &self.last_times;
        let is_same = |group: usize, column: usize| {
            let before = group.checked_sub(1).map_or(last, |it| groups[it].times());
            FIELDS[column].0 == Field::Time && groups[group].times().is_as(before)
        };
        let written = self.writer.write_groups(groups.len(), is_same, |group, column, sink| {
            groups[group].write(FIELDS[column].0, series, sink)
        });
        written.map_err(|cause| HistoryError::io("write", &self.draft.path(), cause))?;
        if let Some(last) = self.groups.iter_mut().rfind(|it| it.len() > 0) {
            self.last_times = last.take_times();
        }
        self.groups.iter_mut().for_each(GroupRows::clear);
        self.filled = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part_file::PartFile;
    use crate::{Component, ComponentKind, Measure};

    /// Writes so many rows, held by one group or by as many as there are processors, and returns how many come back.
    fn rows_of_file(rows: usize, with_all_processors: bool) -> usize {
        let folder = tempfile::tempdir().unwrap();
        let directory = Directory::open(folder.path()).unwrap();
        let component = Component::new(ComponentKind::Ost, "OST0000");
        let server = "oss1".to_string();
        let series = [Series { measure: Measure::ReadBytes, bin: 0, component, server }];
        let mut part = PartWriter::create(&directory, "part-0-0.parquet", &series).unwrap();
        if with_all_processors {
            part = part.with_all_processors();
        }
        let ends: Vec<u64> = (1..=rows as u64).map(|it| it * 10).collect();
        part.rows(0, &ends, 10, &ends).unwrap();
        part.finish().unwrap();
        let mut file = PartFile::open(&directory, "part-0-0.parquet").unwrap();
        let mut found = 0;
        let read = file.read(&[true], 0, u64::MAX, |run| {
            assert_eq!((run.ends, run.values), (&ends[found..][..run.ends.len()], run.ends));
            found += run.ends.len();
            Ok(true)
        });
        read.unwrap();
        found
    }

    /// The symptom: `import` and sealing panicked where nothing was left for the last group.
    #[test]
    fn rows_that_fill_groups_exactly_are_written() {
        for rows in [0, ROWS_PER_GROUP, 2 * ROWS_PER_GROUP, 4 * ROWS_PER_GROUP] {
            assert_eq!(rows_of_file(rows, false), rows);
            assert_eq!(rows_of_file(rows, true), rows);
        }
        assert_eq!(rows_of_file(ROWS_PER_GROUP + 1, true), ROWS_PER_GROUP + 1);
    }

    /// Files of ours may have 64 rows for each byte, and those of a day on which nothing happened are the densest that there are.
    #[test]
    fn a_day_without_events_has_far_fewer_rows_than_a_file_of_its_size_may_have() {
        let folder = tempfile::tempdir().unwrap();
        let directory = Directory::open(folder.path()).unwrap();
        let of = |target: u64| Series {
            measure: Measure::ReadBytes,
            bin: 0,
            component: Component::new(ComponentKind::Ost, format!("OST{target:04x}")),
            server: "oss1".into(),
        };
        let series: Vec<Series> = (0..120).map(of).collect();
        let ends: Vec<u64> = (1..=17_280).map(|it| 1_767_225_600_000 + it * 5000).collect();
        let mut part = PartWriter::create(&directory, "part-0-0.parquet", &series).unwrap();
        for number in 0..120 {
            part.rows(number, &ends, 5000, &vec![0; ends.len()]).unwrap();
        }
        part.finish().unwrap();
        let bytes = std::fs::metadata(folder.path().join("part-0-0.parquet")).unwrap().len();
        let rows = 120 * ends.len() as u64;
        assert!((20 * bytes..48 * bytes).contains(&rows), "{rows} rows in {bytes} bytes");
    }
}
