//! Files of a day: a Parquet file of rows, sorted by measure, component and time.

use std::fs::File;
use std::io;
use std::ops::Range;

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
    (Field::Value, Column::new("value", Kind::Count64).dictionary_bytes_max(0)),
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
    rows: Vec<Row>,
    /// Rows that are held until they are written.
    rows_held: usize,
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
        let rows_held = ROWS_PER_GROUP;
        Ok(PartWriter { draft, writer, series, counts, rows: Vec::new(), rows_held })
    }

    /// Uses as many processors as there are, and as much more memory: not for who is to be hardly noticed beside others' work.
    pub fn with_all_processors(mut self) -> Self {
        self.rows_held = self.writer.groups_at_a_time().max(1) * ROWS_PER_GROUP;
        self
    }

    /// Appends a row. Rows come by key of their series, and then by time.
    pub fn row(&mut self, row: Row) -> Result<(), HistoryError> {
        self.counts[row.series as usize] += 1;
        self.rows.push(row);
        if self.rows.len() == self.rows_held { self.write_groups() } else { Ok(()) }
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
            let now = ends.len().min(self.rows_held - self.rows.len());
            let (some_ends, some_values) = (&ends[..now], &values[..now]);
            let row = |(end, value): (&u64, &u64)| Row { series, end: *end, length, value: *value };
            self.rows.extend(some_ends.iter().zip(some_values).map(row));
            (ends, values) = (&ends[now..], &values[now..]);
            if self.rows.len() == self.rows_held {
                self.write_groups()?;
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
        let groups: Vec<&[Row]> = self.rows.chunks(ROWS_PER_GROUP).collect();
        let (series, runs): (_, Vec<_>) = (self.series, groups.iter().map(|it| runs(it)).collect());
        let written = self.writer.write_groups(groups.len(), |group, column, sink| {
            let (rows, runs, field) = (groups[group], &runs[group], FIELDS[column].0);
            let of = |run: &Range<usize>| &series[rows[run.start].series as usize];
            match field {
                Field::Time => numbers(rows, |row| row.end as i64, sink),
                Field::Value => numbers(rows, |row| row.value as i64, sink),
                Field::Length => repeated(rows, |row| row.length as i32, sink),
                Field::Series if are_long(runs.len(), rows) => {
                    let mut all = runs.iter();
                    all.try_for_each(|run| {
                        let number = rows[run.start].series as i32;
                        sink.repeat_number(number, run.len() as u64)
                    })
                }
                Field::Series => numbers(rows, |row| row.series as i32, sink),
                Field::Bin => {
                    let mut all = runs.iter();
                    all.try_for_each(|run| sink.repeat_number(of(run).bin as i64, run.len() as u64))
                }
                _ => {
                    let mut all = runs.iter();
                    all.try_for_each(|run| sink.repeat(text(field, of(run)), run.len() as u64))
                }
            }
        });
        written.map_err(|cause| HistoryError::io("write", &self.draft.path(), cause))?;
        self.rows.clear();
        Ok(())
    }
}

/// Returns the ranges of rows that follow each other and are of one series.
fn runs(rows: &[Row]) -> Vec<Range<usize>> {
    let mut start = 0;
    let runs = rows.chunk_by(|one, next| one.series == next.series).map(|run| {
        let range = start..start + run.len();
        start = range.end;
        range
    });
    runs.collect()
}

fn numbers<T: plimsoll_table::Stored>(
    rows: &[Row],
    number: impl Fn(&Row) -> T,
    sink: &mut ColumnSink<'_>,
) -> io::Result<()> {
    let mut values = Vec::with_capacity(VALUES_AT_A_TIME);
    for some in rows.chunks(VALUES_AT_A_TIME) {
        values.clear();
        values.extend(some.iter().map(&number));
        sink.write(&values, &[])?;
    }
    Ok(())
}

/// Appends numbers that mostly are as the one before, where they are, as runs.
fn repeated<T: plimsoll_table::Number + PartialEq>(
    rows: &[Row],
    number: impl Fn(&Row) -> T,
    sink: &mut ColumnSink<'_>,
) -> io::Result<()> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    let mut start = 0;
    for end in 1..=rows.len() {
        if end == rows.len() || number(&rows[end]) != number(&rows[start]) {
            runs.push((start, end - start));
            start = end;
            if !are_long(runs.len(), rows) {
                return numbers(rows, number, sink);
            }
        }
    }
    let mut all = runs.into_iter();
    all.try_for_each(|(start, length)| sink.repeat_number(number(&rows[start]), length as u64))
}

/// Returns whether so many runs of all rows are better written as such.
fn are_long(runs: usize, rows: &[Row]) -> bool {
    runs <= (rows.len() / ROWS_PER_RUN).max(1)
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
