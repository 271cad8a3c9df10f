//! Reading named columns of a Parquet file, some rows at a time.
//!
//! The file may come from pandas or DuckDB: columns in another order, more of them, wider
//! integers, times in microseconds, everything nullable.

use std::path::{Path, PathBuf};

use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, Length, SerializedFileReader};
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnDescriptor;

use crate::cell::{CellAt, Value};
use crate::column::SCHEMA_KEY;
use crate::damage::{check_chunks, guarded};
use crate::pages::CheckedPages;
use crate::source::Source;
use crate::{Column, Kind, Table, TableError};

/// Rows that are held at a time.
const ROWS_AT_A_TIME: usize = 4096;

/// Some columns of a file, some rows at a time.
pub struct TableReader {
    path: PathBuf,
    file: SerializedFileReader<Source>,
    columns: Vec<Wanted>,
    /// The next row group, and what is left of the one before it.
    next_group: usize,
    readers: Vec<ColumnReader>,
    left: usize,
    /// Column and values of which a row group must be able to have one.
    between: Option<(usize, u64, u64)>,
    /// Rows before this batch.
    first_row: u64,
    batch: Vec<Vec<Value>>,
    rows: usize,
}

impl TableReader {
    /// Opens a file for these columns of a table; they have the numbers of their places in `names`.
    ///
    /// # Errors
    /// If the file cannot be read, is no such table, was written by a later version of this program, or lacks
    /// a column.
    pub fn open(path: &Path, table: &Table, names: &[&str]) -> Result<Self, TableError> {
        let source = Source::open(path).map_err(|it| TableError::io("open", path, it))?;
        let length = source.len();
        source.check_schema().map_err(|error| TableError::read(path, error))?;
        let file = guarded(|| SerializedFileReader::new(source))
            .map_err(|error| TableError::read(path, error))?;
        check_chunks(file.metadata(), length).map_err(|it| TableError::format(path, it))?;
        check_version(path, &file, table)?;
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
            between: None,
            first_row: 0,
            rows: 0,
        })
    }

    /// Skips row groups that, according to the file, have no value of the column between these two: reading
    /// a week of a year costs a week. Rows outside may still be read, because groups are read as a whole.
    pub fn only_between(mut self, column: usize, least: u64, most: u64) -> Self {
        self.between = Some((column, least, most));
        self
    }

    /// Reads more rows, in place of those before. Returns how many; 0 at the end.
    ///
    /// # Errors
    /// If the file is damaged or cannot be read.
    pub fn advance(&mut self) -> Result<usize, TableError> {
        self.first_row += self.rows as u64;
        self.rows = 0;
        while self.left == 0 {
            if self.next_group >= self.file.num_row_groups() {
                return Ok(0);
            }
            self.open_group()?;
        }
        let rows = self.left.min(ROWS_AT_A_TIME);
        for index in 0..self.columns.len() {
            self.read_column(index, rows)?;
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
        let is_outside = self.between.is_some_and(|(column, least, most)| {
            let wanted = &self.columns[column];
            let known = facts.column(wanted.index).statistics();
            known.is_some_and(|known| wanted.is_outside(known, least, most))
        });
        if is_outside {
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
            ColumnReader::Int32ColumnReader(reader) => {
                read(reader, rows, values, |it| wanted.whole(it.into(), u64::from(it as u32)))
            }
            ColumnReader::Int64ColumnReader(reader) => {
                read(reader, rows, values, |it| wanted.whole(it, it as u64))
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

/// A column that is read, and how its integers are meant.
struct Wanted {
    column: Column,
    /// Its number in the file.
    index: usize,
    is_unsigned: bool,
    /// Nanoseconds of one unit, for times.
    factor: u64,
}

impl Wanted {
    fn find(
        path: &Path,
        file: &SerializedFileReader<Source>,
        column: Column,
        table: &Table,
    ) -> Result<Self, TableError> {
        let columns = file.metadata().file_metadata().schema_descr().columns();
        let index = columns.iter().position(|found| found.path().parts() == [column.name]);
        let index = index.ok_or_else(|| TableError::NoColumn {
            path: path.to_owned(),
            column: column.name,
            documentation: table.documentation,
        })?;
        let found = &columns[index];
        if let Some(expected) = what_it_should_be(column.kind, found) {
            return Err(TableError::ColumnType {
                path: path.to_owned(),
                column: column.name,
                found: found.physical_type().to_string(),
                expected,
            });
        }
        let (converted, logical) = (found.converted_type(), found.logical_type_ref());
        let factor = match (logical, converted) {
            (Some(LogicalType::Timestamp(time)), _) => match time.unit {
                TimeUnit::MILLIS => 1_000_000,
                TimeUnit::MICROS => 1_000,
                TimeUnit::NANOS => 1,
            },
            (_, ConvertedType::TIMESTAMP_MILLIS) => 1_000_000,
            (_, ConvertedType::TIMESTAMP_MICROS) => 1_000,
            _ => 1,
        };
        let is_unsigned = match logical {
            Some(LogicalType::Integer(integer)) => !integer.is_signed,
            _ => matches!(converted, ConvertedType::UINT_32 | ConvertedType::UINT_64),
        };
        Ok(Wanted { column, index, is_unsigned, factor })
    }

    /// Returns the value of an integer, from its two readings; nothing if it is negative or too large.
    fn whole(&self, signed: i64, unsigned: u64) -> Option<Value> {
        self.number(signed, unsigned).map(Value::Whole)
    }

    fn number(&self, signed: i64, unsigned: u64) -> Option<u64> {
        let value = if self.is_unsigned { unsigned } else { u64::try_from(signed).ok()? };
        value.checked_mul(self.factor)
    }

    /// Returns whether a row group has no value between these two, by what the file says of it.
    fn is_outside(&self, known: &Statistics, least: u64, most: u64) -> bool {
        let number = |it: i64| self.number(it, it as u64);
        let ends = match known {
            Statistics::Int64(it) => it.min_opt().zip(it.max_opt()),
            _ => None,
        };
        let ends = ends.and_then(|(first, last)| Some((number(*first)?, number(*last)?)));
        ends.is_some_and(|(first, last)| last < least || first > most)
    }
}

/// Returns what a column should be, if it is something else.
fn what_it_should_be(kind: Kind, found: &ColumnDescriptor) -> Option<&'static str> {
    let physical = found.physical_type();
    let is_whole = matches!(physical, Type::INT32 | Type::INT64);
    let (is_right, expected) = match kind {
        Kind::Text => (physical == Type::BYTE_ARRAY, "text"),
        Kind::Real => (matches!(physical, Type::FLOAT | Type::DOUBLE), "numbers"),
        Kind::Moment => (is_whole, "a timestamp"),
        _ => (is_whole, "whole numbers"),
    };
    if is_right { (found.max_rep_level() > 0).then_some("single values") } else { Some(expected) }
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
