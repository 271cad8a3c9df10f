//! Reading named columns of a Parquet file, some rows at a time.
//!
//! The file may come from pandas or DuckDB: columns in another order, more of them, wider
//! integers, times in microseconds, everything nullable.

use std::fs::File;
use std::path::{Path, PathBuf};

use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader, Length, SerializedFileReader};

use crate::cell::{CellAt, Value};
use crate::column::SCHEMA_KEY;
use crate::damage::{RowsPerByte, check_chunks, guarded};
use crate::pages::CheckedPages;
use crate::source::Source;
use crate::text_bytes::TextBytes;
use crate::wanted::{Wanted, kind_of};
use crate::whole::read_whole;
use crate::{Kind, Table, TableError};

/// Rows that are held at a time.
const ROWS_AT_A_TIME: usize = 4096;

/// Rows of plain numbers that are held at a time: 64 KiB for a column. All columns of a reader stay in the cache of its processor, also if several processes share that.
const WHOLE_ROWS_AT_A_TIME: usize = 1 << 13;

/// Some columns of a file, some rows at a time.
pub struct TableReader {
    path: PathBuf,
    file: SerializedFileReader<Source>,
    columns: Vec<Wanted>,
    /// The next row group, and what is left of the one before it.
    next_group: usize,
    readers: Vec<ColumnReader>,
    left: usize,
    /// Columns, and what is wanted of a row group whose least and greatest value of them are these.
    wanted_groups: Vec<(usize, WantedGroup)>,
    /// Rows before this batch.
    first_row: u64,
    batch: Vec<Vec<Value>>,
    rows: usize,
    /// Of plain numbers that are held at a time.
    whole_rows_most: usize,
    texts: TextBytes,
}

impl TableReader {
    /// Opens a file for these columns of a table; they have the numbers of their places in `names`.
    ///
    /// # Errors
    /// If the file cannot be read, is no such table, was written by a later version of this program, or lacks
    /// a column.
    pub fn open(path: &Path, table: &Table, names: &[&str]) -> Result<Self, TableError> {
        let source = Source::open(path).map_err(|it| TableError::io("open", path, it))?;
        Self::of_source(source, path, table, names)
    }

    /// Does the same with a regular file that is open: who opened it knows that it is the right one. The path is for messages.
    ///
    /// # Errors
    /// As [`TableReader::open`].
    pub fn of(file: File, path: &Path, table: &Table, names: &[&str]) -> Result<Self, TableError> {
        let source = Source::of(file).map_err(|it| TableError::io("open", path, it))?;
        Self::of_source(source, path, table, names)
    }

    /// Does the same with a file of any other program: what it calls itself does not matter.
    ///
    /// # Errors
    /// As [`TableReader::open`].
    pub fn foreign(
        file: File,
        path: &Path,
        table: &Table,
        names: &[&str],
    ) -> Result<Self, TableError> {
        let source = Source::of(file).map_err(|it| TableError::io("open", path, it))?;
        let file = open_file(source, path, RowsPerByte::Foreign)?;
        Self::of_file(file, path, table, names)
    }

    fn of_source(
        source: Source,
        path: &Path,
        table: &Table,
        names: &[&str],
    ) -> Result<Self, TableError> {
        let file = open_file(source, path, RowsPerByte::Own)?;
        check_version(path, &file, table)?;
        Self::of_file(file, path, table, names)
    }

    fn of_file(
        file: SerializedFileReader<Source>,
        path: &Path,
        table: &Table,
        names: &[&str],
    ) -> Result<Self, TableError> {
        let bytes = file.metadata().row_groups().iter().map(RowGroupMetaData::compressed_size);
        let bytes = bytes.map(i64::unsigned_abs).fold(0, u64::saturating_add);
        let find = |name: &&str| table.columns.iter().find(|column| column.name == *name);
        let named = names.iter().filter_map(find);
        let columns: Vec<Wanted> = named
            .map(|column| Wanted::find(path, &file, *column, table))
            .collect::<Result<_, _>>()?;
        Ok(TableReader {
            path: path.to_owned(),
            batch: vec![Vec::new(); columns.len()],
            columns,
            file,
            next_group: 0,
            readers: Vec::new(),
            left: 0,
            wanted_groups: Vec::new(),
            first_row: 0,
            rows: 0,
            whole_rows_most: WHOLE_ROWS_AT_A_TIME,
            texts: TextBytes::of_file(bytes),
        })
    }

    /// Holds no more than so many rows of plain numbers at a time: for who reads many files at once.
    pub fn rows_at_a_time(mut self, most: usize) -> Self {
        self.whole_rows_most = most.max(1);
        self
    }

    /// Skips row groups that, according to the file, have no value of the column between these two: reading
    /// a week of a year costs a week. Rows outside may still be read, because groups are read as a whole.
    pub fn only_between(self, column: usize, least: u64, most: u64) -> Self {
        self.only_groups(column, move |first, last| last >= least && first <= most)
    }

    /// Skips row groups of which this is false, for the least and the greatest value of the column that they have
    /// according to the file. Where the file does not tell, they are read.
    pub fn only_groups(
        mut self,
        column: usize,
        is_wanted: impl Fn(u64, u64) -> bool + Send + 'static,
    ) -> Self {
        self.skip_groups(column, is_wanted);
        self
    }

    /// Does the same from now on.
    pub fn skip_groups(
        &mut self,
        column: usize,
        is_wanted: impl Fn(u64, u64) -> bool + Send + 'static,
    ) {
        self.wanted_groups.push((column, Box::new(is_wanted)));
    }

    /// Begins anew, with all row groups: what the file says of itself is not read again.
    pub fn rewind(&mut self) {
        (self.next_group, self.left, self.first_row, self.rows) = (0, 0, 0, 0);
        self.readers.clear();
        self.wanted_groups.clear();
    }

    /// Returns the least and the greatest value of a column, according to the file; nothing if it does not tell.
    pub fn ends(&self, column: usize) -> Option<(u64, u64)> {
        let wanted = &self.columns[column];
        let groups = self.file.metadata().row_groups();
        let ends = groups.iter().map(|it| wanted.ends(it.column(wanted.index).statistics()?));
        ends.reduce(|one, other| {
            let ((first, last), (least, most)) = one.zip(other)?;
            Some((first.min(least), last.max(most)))
        })?
    }

    /// Returns a fact of the file's metadata.
    pub fn fact(&self, key: &str) -> Option<&str> {
        let entries = self.file.metadata().file_metadata().key_value_metadata();
        let entry = entries.into_iter().flatten().find(|entry| entry.key == key)?;
        entry.value.as_deref()
    }

    /// Reads more rows, in place of those before. Returns how many; 0 at the end.
    ///
    /// # Errors
    /// If the file is damaged or cannot be read.
    pub fn advance(&mut self) -> Result<usize, TableError> {
        let rows = self.next_rows()?.min(ROWS_AT_A_TIME);
        if rows == 0 {
            return Ok(0);
        }
        for index in 0..self.columns.len() {
            self.read_column(index, rows)?;
        }
        let values = self.batch.iter().flat_map(|column| column.iter().take(rows));
        self.texts.take(values).map_err(|why| TableError::format(&self.path, why))?;
        self.left -= rows;
        self.rows = rows;
        Ok(rows)
    }

    /// Goes past the rows that were read last. Returns how many are left in their row group or the next one.
    fn next_rows(&mut self) -> Result<usize, TableError> {
        self.first_row += self.rows as u64;
        self.rows = 0;
        while self.left == 0 && self.next_group < self.file.num_row_groups() {
            self.open_group()?;
        }
        Ok(self.left)
    }

    /// Reads more rows of whole numbers, in place of those before: one vector for each column, which must have no
    /// missing values. Returns how many rows; 0 at the end. This is for analyses: no cell is made.
    ///
    /// # Errors
    /// If the file is damaged or cannot be read, or if a value is missing or negative.
    pub fn advance_whole(&mut self, into: &mut [Vec<u64>]) -> Result<usize, TableError> {
        let rows = self.next_rows()?.min(self.whole_rows_most);
        if rows == 0 {
            return Ok(0);
        }
        for (index, values) in into.iter_mut().enumerate() {
            let (wanted, reader) = (&self.columns[index], &mut self.readers[index]);
            let is_whole = read_whole(wanted, reader, rows, values);
            if !is_whole.map_err(|error| TableError::read(&self.path, error))? {
                let name = wanted.column.name;
                let reason = format!("column {name:?} has a value that is missing or out of range");
                return Err(TableError::format(&self.path, reason));
            }
        }
        self.left -= rows;
        self.rows = rows;
        Ok(rows)
    }

    /// Returns a cell of the rows that were read last.
    pub fn cell(&self, column: usize, row: usize) -> CellAt<'_> {
        CellAt { table: self, column, row }
    }

    pub(crate) fn value(&self, column: usize, row: usize) -> &Value {
        &self.batch[column][row]
    }

    pub(crate) fn bad_value(&self, column: usize, row: usize, reason: String) -> TableError {
        TableError::Value {
            path: self.path.clone(),
            column: self.columns[column].column.name,
            row: self.first_row + row as u64,
            reason,
        }
    }

    fn open_group(&mut self) -> Result<(), TableError> {
        let failed = |error| TableError::read(&self.path, error);
        let facts = self.file.metadata().row_group(self.next_group);
        let rows = facts.num_rows();
        let rows = usize::try_from(rows)
            .map_err(|_| TableError::format(&self.path, format!("a group of {rows} rows")))?;
        let is_skipped = self.wanted_groups.iter().any(|(column, is_wanted)| {
            let wanted = &self.columns[*column];
            let known = facts.column(wanted.index).statistics();
            let ends = known.and_then(|known| wanted.ends(known));
            ends.is_some_and(|(first, last)| !is_wanted(first, last))
        });
        if is_skipped {
            self.first_row += rows as u64;
        } else {
            let group = self.file.get_row_group(self.next_group).map_err(failed)?;
            let readers = self.columns.iter().map(|wanted| {
                let description = group.metadata().column(wanted.index).column_descr_ptr();
                let pages = group.get_column_page_reader(wanted.index)?;
                let pages = CheckedPages::new(pages, rows, description.physical_type());
                Ok(get_column_reader(description, Box::new(pages)))
            });
            self.readers = guarded(|| readers.collect()).map_err(failed)?;
            self.left = rows;
        }
        self.next_group += 1;
        Ok(())
    }

    fn read_column(&mut self, index: usize, rows: usize) -> Result<(), TableError> {
        let (wanted, values) = (&self.columns[index], &mut self.batch[index]);
        values.clear();
        let end = match &mut self.readers[index] {
            ColumnReader::Int32ColumnReader(reader) => read(reader, rows, values, |it| {
                wanted.number(it.into(), u64::from(it as u32)).map(Value::Whole)
            }),
            ColumnReader::Int64ColumnReader(reader) => {
                read(reader, rows, values, |it| wanted.number(it, it as u64).map(Value::Whole))
            }
            ColumnReader::FloatColumnReader(reader) => {
                read(reader, rows, values, |it| Some(Value::Real(it.into())))
            }
            ColumnReader::DoubleColumnReader(reader) => {
                read(reader, rows, values, |it| Some(Value::Real(it)))
            }
            ColumnReader::ByteArrayColumnReader(reader) => {
                read(reader, rows, values, |it| Some(Value::Text(it)))
            }
            _ => unreachable!("types were checked"),
        };
        match end.map_err(|error| TableError::read(&self.path, error))? {
            End::Whole if self.batch[index].len() == rows => Ok(()),
            End::Whole => {
                let reason = format!("column {:?} ends before its row group", wanted.column.name);
                Err(TableError::format(&self.path, reason))
            }
            End::OutOfRange => {
                Err(self.cell(index, self.batch[index].len()).bad("is out of range"))
            }
        }
    }
}

/// Opens a file, and checks what it says of itself.
fn open_file(
    source: Source,
    path: &Path,
    rows_per_byte: RowsPerByte,
) -> Result<SerializedFileReader<Source>, TableError> {
    let length = source.len();
    source.check_schema().map_err(|error| TableError::read(path, error))?;
    let file = guarded(|| SerializedFileReader::new(source))
        .map_err(|error| TableError::read(path, error))?;
    let checked = check_chunks(file.metadata(), length, rows_per_byte);
    checked.map_err(|it| TableError::format(path, it))?;
    Ok(file)
}

/// Returns the names of a file's columns that are not nested, and what their values are.
///
/// # Errors
/// If the file cannot be read, or is no Parquet file.
pub fn columns_of(file: File, path: &Path) -> Result<Vec<(String, Kind)>, TableError> {
    let source = Source::of(file).map_err(|it| TableError::io("open", path, it))?;
    let file = open_file(source, path, RowsPerByte::Foreign)?;
    let all = file.metadata().file_metadata().schema_descr().columns();
    let plain = all.iter().filter_map(|column| match column.path().parts() {
        [name] => Some((name.clone(), kind_of(column)?)),
        _ => None,
    });
    Ok(plain.collect())
}

/// Whether a row group is wanted, by the least and the greatest value of a column.
type WantedGroup = Box<dyn Fn(u64, u64) -> bool + Send>;

/// Refuses what a later program wrote. Files from elsewhere need not say what they are.
fn check_version(
    path: &Path,
    file: &SerializedFileReader<Source>,
    table: &Table,
) -> Result<(), TableError> {
    let entries = file.metadata().file_metadata().key_value_metadata();
    let schema = entries.into_iter().flatten().find(|entry| entry.key == SCHEMA_KEY);
    let Some(schema) = schema.and_then(|entry| entry.value.as_deref()) else { return Ok(()) };
    let (name, version) = schema.split_once('/').unwrap_or((schema, ""));
    match version.parse::<u64>() {
        Ok(version) if name == table.name && version > table.version => {
            Err(TableError::Newer { path: path.to_owned(), version, known: table.version })
        }
        Ok(_) if name == table.name => Ok(()),
        _ => Err(TableError::format(path, format!("its schema is {schema:?}"))),
    }
}

/// How the reading of some rows ended.
enum End {
    Whole,
    /// The value behind the last one that was read cannot be.
    OutOfRange,
}

/// Reads rows of a column into `into`, up to a value that `convert` does not take.
fn read<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    into: &mut Vec<Value>,
    convert: impl Fn(T::T) -> Option<Value>,
) -> Result<End, ParquetError> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    let records = guarded(|| reader.read_records(rows, Some(&mut levels), None, &mut values));
    let (_, present, read) = records?;
    // A column that cannot be null has no levels.
    let mut levels = levels.into_iter();
    let mut values = values.into_iter().take(present);
    for _ in 0..read {
        let value = match levels.next() {
            Some(0) => Some(Value::Null),
            _ => values.next().map_or(Some(Value::Null), &convert),
        };
        match value {
            Some(value) => into.push(value),
            None => return Ok(End::OutOfRange),
        }
    }
    Ok(End::Whole)
}
