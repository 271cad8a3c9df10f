//! Files of a day: a Parquet file of rows, sorted by measure, component and time.

use std::fs::File;
use std::io;

use plimsoll_guarded::{Directory, Draft};
use plimsoll_table::{Column, ColumnSink, Kind, Table, TableWriter};

use crate::described::Described;
use crate::{HistoryError, Row, Series};

/// Rows of a row group: small enough that a question about a few series reads little else.
const ROWS_PER_GROUP: usize = 1 << 17;

/// Values that a column is handed at a time.
const VALUES_AT_A_TIME: usize = 1 << 12;

/// Rows that runs of equal numbers must have on average to be written as such.
const ROWS_PER_RUN: usize = 8;

/// The entry of a file's metadata that lists its series.
pub(crate) const SERIES_KEY: &str = "plimsoll.series";

/// Numbers of columns, in the order of [`table`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Cluster,
    FileSystem,
    Kind,
    Target,
    Job,
    Server,
    Measure,
    Bin,
    Time,
    Length,
    Value,
    Series,
}

const FIELDS: [(Field, Column); 12] = [
    (Field::Cluster, Column::new("cluster", Kind::Text)),
    (Field::FileSystem, Column::new("file_system", Kind::Text)),
    (Field::Kind, Column::new("kind", Kind::Text)),
    (Field::Target, Column::new("target", Kind::Text)),
    (Field::Job, Column::new("job", Kind::Text)),
    (Field::Server, Column::new("server", Kind::Text)),
    (Field::Measure, Column::new("measure", Kind::Text)),
    (Field::Bin, Column::new("bin", Kind::Count64)),
    (Field::Time, Column::new("time", Kind::MomentMillis)),
    (Field::Length, Column::new("length_ms", Kind::Count32).unit("milliseconds")),
    // Counters hardly repeat: a dictionary would be larger than the differences. Series come in runs, or hardly repeat, too.
    (Field::Value, Column::new("value", Kind::Count64).dictionary_bytes_max(0).without_ends()),
    (Field::Series, Column::new("series", Kind::Count32).dictionary_bytes_max(0)),
];

/// Returns the table that files of a day hold. docs/history.md says what its columns mean.
pub(crate) fn table() -> Table {
    Table {
        name: "plimsoll.history",
        version: 1,
        documentation: "docs/history.md",
        columns: FIELDS.iter().map(|(_, column)| *column).collect(),
    }
}

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
        Ok(PartWriter { draft, writer, series, counts, groups, filled: 0 })
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
        while !ends.is_empty() {
            let group = &mut self.groups[self.filled];
            let now = ends.len().min(ROWS_PER_GROUP - group.len());
            group.append(series, length, &ends[..now], &values[..now]);
            (ends, values) = (&ends[now..], &values[now..]);
            if group.len() == ROWS_PER_GROUP {
                self.filled += 1;
                if self.filled == self.groups.len() {
                    self.write_groups()?;
                }
            }
        }
        Ok(())
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

    fn write_groups(&mut self) -> Result<(), HistoryError> {
        let groups: Vec<&GroupRows> = self.groups.iter().filter(|it| it.len() > 0).collect();
        let series = self.series;
        let written = self.writer.write_groups(groups.len(), |group, column, sink| {
            groups[group].write(FIELDS[column].0, series, sink)
        });
        written.map_err(|cause| HistoryError::io("write", &self.draft.path(), cause))?;
        self.groups.iter_mut().for_each(GroupRows::clear);
        self.filled = 0;
        Ok(())
    }
}

/// The rows of a row group: runs of one series and length, and what differs from row to row as it is stored.
#[derive(Default)]
struct GroupRows {
    runs: Vec<RowRun>,
    ends: Vec<i64>,
    values: Vec<i64>,
}

/// Rows that follow each other and are of one series and length.
struct RowRun {
    series: u32,
    length: u32,
    rows: u64,
}

impl GroupRows {
    fn len(&self) -> usize {
        self.ends.len()
    }

    fn append(&mut self, series: u32, length: u32, ends: &[u64], values: &[u64]) {
        let rows = ends.len() as u64;
        match self.runs.last_mut() {
            Some(last) if (last.series, last.length) == (series, length) => last.rows += rows,
            _ => self.runs.push(RowRun { series, length, rows }),
        }
        self.ends.extend(ends.iter().map(|it| *it as i64));
        self.values.extend(values.iter().map(|it| *it as i64));
    }

    fn clear(&mut self) {
        self.runs.clear();
        self.ends.clear();
        self.values.clear();
    }

    fn write(&self, field: Field, series: &[Series], sink: &mut ColumnSink<'_>) -> io::Result<()> {
        let of = |run: &RowRun| &series[run.series as usize];
        let mut runs = self.runs.iter();
        match field {
            Field::Time => numbers(&self.ends, sink),
            Field::Value => numbers(&self.values, sink),
            Field::Length => self.repeated(|run| run.length as i32, sink),
            Field::Series => self.repeated(|run| run.series as i32, sink),
            Field::Bin => runs.try_for_each(|run| sink.repeat_number(of(run).bin as i64, run.rows)),
            _ => runs.try_for_each(|run| sink.repeat(text(field, of(run)), run.rows)),
        }
    }

    /// Appends a number of each row: as runs, if these are long enough to be better written as such.
    fn repeated(
        &self,
        number: impl Fn(&RowRun) -> i32,
        sink: &mut ColumnSink<'_>,
    ) -> io::Result<()> {
        let changes = self.runs.windows(2).filter(|two| number(&two[0]) != number(&two[1])).count();
        if changes < (self.len() / ROWS_PER_RUN).max(1) {
            let mut runs = self.runs.iter();
            return runs.try_for_each(|run| sink.repeat_number(number(run), run.rows));
        }
        let of_run = |run| std::iter::repeat_n(number(run), run.rows as usize);
        let all: Vec<i32> = self.runs.iter().flat_map(of_run).collect();
        numbers(&all, sink)
    }
}

fn numbers<T: plimsoll_table::Stored>(all: &[T], sink: &mut ColumnSink<'_>) -> io::Result<()> {
    all.chunks(VALUES_AT_A_TIME).try_for_each(|some| sink.write(some, &[]))
}

fn text(field: Field, series: &Series) -> &str {
    let component = &series.component;
    match field {
        Field::Cluster => &component.cluster,
        Field::FileSystem => &component.file_system,
        Field::Kind => component.kind.name(),
        Field::Target => &component.name,
        Field::Job => &component.job,
        Field::Server => &series.server,
        _ => series.measure.name(),
    }
}
