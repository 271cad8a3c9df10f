//! The rows of a row group before they are written.

use std::io;

use plimsoll_table::ColumnSink;

use crate::Series;
use crate::field::Field;
use crate::times::Times;

/// Values that a column is handed at a time.
const VALUES_AT_A_TIME: usize = 1 << 12;

/// Rows that runs of equal numbers must have on average to be written as such.
const ROWS_PER_RUN: usize = 8;

/// The rows of a row group: runs of one series and length, and what differs from row to row as it is stored.
#[derive(Default)]
pub(crate) struct GroupRows {
    runs: Vec<RowRun>,
    times: Times,
    values: Vec<i64>,
}

/// Rows that follow each other and are of one series and length.
struct RowRun {
    series: u32,
    length: u32,
    rows: u64,
}

impl GroupRows {
    pub fn len(&self) -> usize {
        self.values.len()
    }

    pub fn times(&self) -> &Times {
        &self.times
    }

    /// Returns the times, and forgets them.
    pub fn take_times(&mut self) -> Times {
        std::mem::take(&mut self.times)
    }

    /// Appends rows of one series and length.
    pub fn append(&mut self, series: u32, length: u32, ends: &[u64], values: &[u64]) {
        let rows = ends.len() as u64;
        match self.runs.last_mut() {
            Some(last) if (last.series, last.length) == (series, length) => last.rows += rows,
            _ => self.runs.push(RowRun { series, length, rows }),
        }
        self.times.append(ends);
        self.values.extend(values.iter().map(|it| *it as i64));
    }

    pub fn clear(&mut self) {
        self.runs.clear();
        self.times.clear();
        self.values.clear();
    }

    /// Appends a column of all rows to what takes it.
    pub fn write(
        &self,
        field: Field,
        series: &[Series],
        sink: &mut ColumnSink<'_>,
    ) -> io::Result<()> {
        let of = |run: &RowRun| &series[run.series as usize];
        let mut runs = self.runs.iter();
        match field {
            Field::Time => self.times.pieces(|some| numbers(some, sink)),
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
