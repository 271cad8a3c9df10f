//! Writing a table by columns, a row group at a time.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use parquet::column::writer::{
    ColumnCloseResult, ColumnWriter, ColumnWriterImpl, get_column_writer,
    get_typed_column_writer_mut,
};
use parquet::data_type::{ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

use crate::Table;
use crate::error::write_error;
use crate::runs::Runs;

/// A text as it is stored. A copy shares the memory.
pub use parquet::data_type::ByteArray as Text;

/// More threads than this have nothing to do: a few columns take most of the time.
const THREADS_MAX: usize = 4;

/// A Parquet file in the making. Memory is that of one row group, and what the one before became.
pub struct TableWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    threads: usize,
    /// The columns of the row group that was written last.
    last: Vec<Encoded>,
}

/// A column of a row group as it is in the file.
type Encoded = (Bytes, ColumnCloseResult);

impl<W: Write + Send> TableWriter<W> {
    /// Begins a file with this table, and `facts` about it in the file's metadata.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn new(output: W, table: &Table, facts: Vec<(String, String)>) -> io::Result<Self> {
        let schema = Arc::new(table.schema().map_err(write_error)?);
        let properties = Arc::new(table.properties(facts));
        let file = SerializedFileWriter::new(output, schema, properties).map_err(write_error)?;
        let threads = std::thread::available_parallelism().map_or(1, |it| it.get());
        Ok(TableWriter { file, threads: threads.min(THREADS_MAX), last: Vec::new() })
    }

    /// Writes a row group. `fill` is called once for each column, with its number and with what takes its
    /// values; some columns are filled at the same time, each in memory of its own.
    ///
    /// # Errors
    /// If the output cannot be written, or if columns are not equally long.
    pub fn write_group(
        &mut self,
        fill: impl Fn(usize, &mut ColumnSink<'_>) -> io::Result<()> + Sync,
    ) -> io::Result<()> {
        self.write_groups(1, |_, _| false, |_, column, sink| fill(column, sink))
    }

    /// Writes several row groups, or none, whose columns are filled at the same time: `fill` gets the number of the group, too. All of them are in memory at once.
    /// A column that `is_same`, by numbers of group and column, has the very values that it had in the group before (also if that was written by another call), and is not filled.
    ///
    /// # Errors
    /// As [`TableWriter::write_group`].
    pub fn write_groups(
        &mut self,
        groups: usize,
        is_same: impl Fn(usize, usize) -> bool + Sync,
        fill: impl Fn(usize, usize, &mut ColumnSink<'_>) -> io::Result<()> + Sync,
    ) -> io::Result<()> {
        if groups == 0 {
            return Ok(());
        }
        let mut encoded = self.encode_all(groups, &is_same, &fill)?.into_iter();
        let columns = self.file.schema_descr().num_columns();
        for _ in 0..groups {
            let filled = encoded.by_ref().take(columns).enumerate();
            let all: Option<Vec<Encoded>> =
                filled.map(|(at, own)| own.or_else(|| self.last.get(at).cloned())).collect();
            self.last = all.ok_or_else(|| io::Error::other("no row group is before the first"))?;
            let mut group = self.file.next_row_group().map_err(write_error)?;
            for (bytes, close) in &self.last {
                group.append_column(bytes, close.clone()).map_err(write_error)?;
            }
            group.close().map_err(write_error)?;
        }
        Ok(())
    }

    /// Returns how many row groups at a time keep all threads busy: columns of one take unequally long.
    pub fn groups_at_a_time(&self) -> usize {
        self.threads
    }

    /// Adds a fact about the file that is known only now, such as what its rows had in them.
    pub fn add_fact(&mut self, key: &str, value: String) {
        self.file.append_key_value_metadata(KeyValue::new(key.to_string(), value));
    }

    /// Writes the end of the file.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn finish(self) -> io::Result<()> {
        self.file.close().map_err(write_error)?;
        Ok(())
    }

    /// Returns the columns of all groups, one group after the other; nothing for those that are the same as in the group before.
    fn encode_all(
        &self,
        groups: usize,
        is_same: &(impl Fn(usize, usize) -> bool + Sync),
        fill: &(impl Fn(usize, usize, &mut ColumnSink<'_>) -> io::Result<()> + Sync),
    ) -> io::Result<Vec<Option<Encoded>>> {
        let (columns, properties) = (self.file.schema_descr().columns(), self.file.properties());
        let next = AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            loop {
                // The same column of all groups, then the next one: equal work at the same time.
                let next = next.fetch_add(1, Ordering::Relaxed);
                let (index, group) = (next / groups, next % groups);
                let Some(column) = columns.get(index) else { return done };
                let place = group * columns.len() + index;
                let encoded = match is_same(group, index) {
                    true => Ok(None),
                    false => encode(column, properties, |sink| fill(group, index, sink)).map(Some),
                };
                done.push((place, encoded));
            }
        };
        let mut encoded: Vec<(usize, io::Result<Option<Encoded>>)> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..self.threads).map(|_| scope.spawn(work)).collect();
            let mut all = work();
            for other in others {
                match other.join() {
                    Ok(done) => all.extend(done),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            all
        });
        encoded.sort_by_key(|(place, _)| *place);
        encoded.into_iter().map(|(_, column)| column).collect()
    }
}

fn encode(
    column: &ColumnDescPtr,
    properties: &WriterPropertiesPtr,
    fill: impl FnOnce(&mut ColumnSink<'_>) -> io::Result<()>,
) -> io::Result<Encoded> {
    let mut buffer = TrackedWrite::new(Vec::new());
    let pages = Box::new(SerializedPageWriter::new(&mut buffer));
    let writer = get_column_writer(column.clone(), properties.clone(), pages);
    let is_nullable = column.max_def_level() > 0;
    let mut sink = ColumnSink { writer, is_nullable, runs: Some(Runs::default()) };
    fill(&mut sink)?;
    if let Some(runs) = &sink.runs
        && let Some((bytes, close)) = runs.encode(column, properties).map_err(write_error)?
    {
        return Ok((bytes.into(), close));
    }
    let close = sink.close()?;
    let bytes = buffer.into_inner().map_err(write_error)?;
    Ok((bytes.into(), close))
}

/// Takes the values of one column of a row group, in any number of parts.
pub struct ColumnSink<'a> {
    writer: ColumnWriter<'a>,
    is_nullable: bool,
    /// What was appended, as long as it is runs only.
    runs: Option<Runs>,
}

/// Values of a run that the writer is handed at a time.
const REPEATED_AT_A_TIME: u64 = 1 << 12;

impl ColumnSink<'_> {
    /// Appends values. A nullable column also needs a level for each row: 1 where there is a value,
    /// 0 where it is missing; other columns leave levels aside.
    ///
    /// # Errors
    /// If there are fewer values than the levels tell.
    pub fn write<T: Stored>(&mut self, values: &[T], levels: &[i16]) -> io::Result<()> {
        self.end_runs()?;
        let writer = get_typed_column_writer_mut::<T::Type>(&mut self.writer);
        let levels = self.is_nullable.then_some(levels);
        writer.write_batch(values, levels, None).map_err(write_error)?;
        Ok(())
    }

    /// Appends a text so many times, which costs no more than once. The column must be one of texts that are never missing.
    ///
    /// # Errors
    /// If the column cannot be written.
    pub fn repeat(&mut self, text: &str, times: u64) -> io::Result<()> {
        self.repeat_bytes(text.as_bytes(), times)
    }

    /// Does the same with a number, in a column of such that are never missing.
    ///
    /// # Errors
    /// If the column cannot be written.
    pub fn repeat_number<T: Number>(&mut self, number: T, times: u64) -> io::Result<()> {
        self.repeat_bytes(number.bytes().as_ref(), times)
    }

    fn repeat_bytes(&mut self, value: &[u8], times: u64) -> io::Result<()> {
        match self.runs.as_mut().map(|runs| runs.add(value, times)) {
            Some(true) => Ok(()),
            Some(false) => self.end_runs(),
            None => self.write_repeated(&Text::from(value.to_vec()), times),
        }
    }

    /// Hands runs to the writer, value by value: from now on everything goes there.
    fn end_runs(&mut self) -> io::Result<()> {
        let Some(mut runs) = self.runs.take() else { return Ok(()) };
        runs.take().iter().try_for_each(|(text, times)| self.write_repeated(text, *times))
    }

    fn write_repeated(&mut self, value: &Text, times: u64) -> io::Result<()> {
        let bytes = value.data();
        match &mut self.writer {
            ColumnWriter::Int32ColumnWriter(writer) => {
                let number = bytes.try_into().map_or(0, i32::from_le_bytes);
                write_repeated(writer, number, times)
            }
            ColumnWriter::Int64ColumnWriter(writer) => {
                let number = bytes.try_into().map_or(0, i64::from_le_bytes);
                write_repeated(writer, number, times)
            }
            writer => {
                let writer = get_typed_column_writer_mut::<ByteArrayType>(writer);
                write_repeated(writer, value.clone(), times)
            }
        }
    }

    fn close(mut self) -> io::Result<ColumnCloseResult> {
        self.end_runs()?;
        self.writer.close().map_err(write_error)
    }
}

fn write_repeated<T: DataType>(
    writer: &mut ColumnWriterImpl<'_, T>,
    value: T::T,
    times: u64,
) -> io::Result<()> {
    let values = vec![value; times.min(REPEATED_AT_A_TIME) as usize];
    let mut left = times;
    while left > 0 {
        let now = left.min(REPEATED_AT_A_TIME);
        writer.write_batch(&values[..now as usize], None, None).map_err(write_error)?;
        left -= now;
    }
    Ok(())
}

/// A type of numbers that columns are stored as.
pub trait Number: Stored {
    /// Returns its bytes, the lowest first.
    fn bytes(self) -> impl AsRef<[u8]>;
}

impl Number for i32 {
    fn bytes(self) -> impl AsRef<[u8]> {
        self.to_le_bytes()
    }
}

impl Number for i64 {
    fn bytes(self) -> impl AsRef<[u8]> {
        self.to_le_bytes()
    }
}

/// A type that columns are stored as. Unsigned columns are stored as signed integers of the same bits.
pub trait Stored: Sized {
    /// The same in the Parquet library.
    type Type: DataType<T = Self>;
}

impl Stored for i32 {
    type Type = Int32Type;
}

impl Stored for i64 {
    type Type = Int64Type;
}

impl Stored for f64 {
    type Type = DoubleType;
}

impl Stored for Text {
    type Type = ByteArrayType;
}
