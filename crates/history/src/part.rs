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
    // Counters hardly repeat: a dictionary would be larger than the differences.
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
        Ok(PartWriter { draft, writer, series, counts: vec![0; series.len()], rows: Vec::new() })
    }

    /// Appends a row. Rows come by key of their series, and then by time.
    pub fn row(&mut self, row: Row) -> Result<(), HistoryError> {
        self.counts[row.series as usize] += 1;
        self.rows.push(row);
        if self.rows.len() == ROWS_PER_GROUP { self.write_group() } else { Ok(()) }
    }

    /// Returns whether it has any row.
    pub fn has_rows(&self) -> bool {
        self.counts.iter().any(|rows| *rows > 0)
    }

    /// Writes what is left, makes it durable and gives it its name.
    pub fn finish(mut self) -> Result<(), HistoryError> {
        self.write_group()?;
        let path = self.draft.path();
        let failed = |cause| HistoryError::io("write", &path, cause);
        let described = Described::list(self.series, &self.counts);
        self.writer.add_fact(SERIES_KEY, described);
        self.writer.finish().and_then(|()| self.draft.sync()).map_err(failed)?;
        self.draft.publish().map_err(failed)
    }

    fn write_group(&mut self) -> Result<(), HistoryError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let (rows, series, runs) = (&self.rows, self.series, runs(&self.rows));
        let written = self.writer.write_group(|index, sink| {
            let field = FIELDS[index].0;
            match field {
                Field::Time => numbers(rows, |row| row.end as i64, sink),
                Field::Value => numbers(rows, |row| row.value as i64, sink),
                Field::Length => numbers(rows, |row| row.length as i32, sink),
                Field::Series => numbers(rows, |row| row.series as i32, sink),
                Field::Bin => {
                    for run in &runs {
                        repeat(
                            series[rows[run.start].series as usize].bin as i64,
                            run.len(),
                            sink,
                        )?;
                    }
                    Ok(())
                }
                _ => {
                    for run in &runs {
                        let text = text(field, &series[rows[run.start].series as usize]);
                        sink.repeat(text, run.len() as u64)?;
                    }
                    Ok(())
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

fn repeat<T: plimsoll_table::Stored + Clone>(
    value: T,
    times: usize,
    sink: &mut ColumnSink<'_>,
) -> io::Result<()> {
    let values = vec![value; times.min(VALUES_AT_A_TIME)];
    let mut left = times;
    while left > 0 {
        let now = left.min(values.len());
        sink.write(&values[..now], &[])?;
        left -= now;
    }
    Ok(())
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
