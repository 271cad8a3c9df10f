//! Reading named columns of a Parquet file, some rows at a time.
//!
//! The file may come from pandas or DuckDB: columns in another order, more of them, wider
//! integers, times in microseconds, everything nullable.

use std::path::{Path, PathBuf};

use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, Length, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use crate::MeasuresError;
use crate::columns::{Column, Kind, SCHEMA_KEY, SCHEMA_VERSION, Table};
use crate::source::{Source, check_chunks, guarded};

/// Rows that are held at a time.
const ROWS_AT_A_TIME: usize = 4096;

/// Some columns of a file.
pub(crate) struct TableReader {
    pub path: PathBuf,
    file: SerializedFileReader<Source>,
    columns: Vec<Wanted>,
    /// The next row group, and what is left of the one before it.
    next_group: usize,
    readers: Vec<ColumnReader>,
    left: usize,
    /// Rows before this batch.
    pub first_row: u64,
    batch: Vec<Vec<Value>>,
    rows: usize,
}

/// A column that is read, and how its integers are meant.
struct Wanted {
    column: &'static Column,
    index: usize,
    is_unsigned: bool,
    /// Nanoseconds of one unit, for times.
    factor: u64,
}

/// A value that was read.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Whole(u64),
    Text(ByteArray),
    Null,
}

impl TableReader {
    /// Opens a file for these columns of a table.
    pub fn open(path: &Path, table: &Table, names: &[&str]) -> Result<Self, MeasuresError> {
        let source = Source::open(path).map_err(|it| MeasuresError::io("open", path, it))?;
        let length = source.len();
        let file = guarded(|| SerializedFileReader::new(source))
            .map_err(|error| MeasuresError::parquet("read", path, error))?;
        check_chunks(file.metadata(), length).map_err(|it| MeasuresError::format(path, it))?;
        check_version(path, &file, table)?;
        let wanted = table.named(names).into_iter().map(|column| wanted(path, &file, column));
        Ok(TableReader {
            path: path.to_owned(),
            columns: wanted.collect::<Result<_, _>>()?,
            file,
            next_group: 0,
            readers: Vec::new(),
            left: 0,
            first_row: 0,
            batch: vec![Vec::new(); names.len()],
            rows: 0,
        })
    }

    /// Reads more rows, in place of those before. Returns how many; 0 at the end.
    pub fn advance(&mut self) -> Result<usize, MeasuresError> {
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

    fn open_group(&mut self) -> Result<(), MeasuresError> {
        let failed = |error| MeasuresError::parquet("read", &self.path, error);
        let group = self.file.get_row_group(self.next_group).map_err(failed)?;
        let rows = group.metadata().num_rows();
        self.left = usize::try_from(rows)
            .map_err(|_| MeasuresError::format(&self.path, format!("a group of {rows} rows")))?;
        let readers = self.columns.iter().map(|wanted| group.get_column_reader(wanted.index));
        self.readers = guarded(|| readers.collect()).map_err(failed)?;
        self.next_group += 1;
        Ok(())
    }

    fn read_column(&mut self, index: usize, rows: usize) -> Result<(), MeasuresError> {
        let (wanted, values) = (&self.columns[index], &mut self.batch[index]);
        values.clear();
        let result = match &mut self.readers[index] {
            ColumnReader::Int32ColumnReader(reader) => {
                read(reader, rows, values, |it| wanted.whole(it.into(), u64::from(it as u32)))
            }
            ColumnReader::Int64ColumnReader(reader) => {
                read(reader, rows, values, |it| wanted.whole(it, it as u64))
            }
            ColumnReader::ByteArrayColumnReader(reader) => {
                read(reader, rows, values, |it| Some(Value::Text(it)))
            }
            _ => unreachable!("types were checked"),
        };
        match result.map_err(|error| MeasuresError::parquet("read", &self.path, error))? {
            None if self.batch[index].len() == rows => Ok(()),
            None => {
                let reason = format!("column {:?} ends before its row group", wanted.column.name);
                Err(MeasuresError::format(&self.path, reason))
            }
            Some(_) => {
                self.rows = rows;
                Err(self.bad_value(index, self.batch[index].len(), "is out of range"))
            }
        }
    }

    /// A whole number of the batch.
    pub fn whole(&self, column: usize, row: usize) -> Result<u64, MeasuresError> {
        match &self.batch[column][row] {
            Value::Whole(value) => Ok(*value),
            _ => Err(self.bad_value(column, row, "is null")),
        }
    }

    /// A whole number of the batch that fits in 32 bits.
    pub fn count(&self, column: usize, row: usize) -> Result<u32, MeasuresError> {
        let value = self.whole(column, row)?;
        u32::try_from(value).map_err(|_| self.bad_value(column, row, "is too large"))
    }

    /// A text of the batch.
    pub fn text(&self, column: usize, row: usize) -> Result<&str, MeasuresError> {
        self.optional_text(column, row)?.ok_or_else(|| self.bad_value(column, row, "is null"))
    }

    /// A text of the batch that may be missing.
    pub fn optional_text(&self, column: usize, row: usize) -> Result<Option<&str>, MeasuresError> {
        match &self.batch[column][row] {
            Value::Text(text) => match std::str::from_utf8(text.data()) {
                Ok(text) => Ok(Some(text)),
                Err(_) => Err(self.bad_value(column, row, "is not UTF-8")),
            },
            _ => Ok(None),
        }
    }

    pub fn bad_value(&self, column: usize, row: usize, reason: impl ToString) -> MeasuresError {
        MeasuresError::Value {
            path: self.path.clone(),
            column: self.columns[column].column.name,
            row: self.first_row + row as u64,
            reason: reason.to_string(),
        }
    }
}

/// Refuses what a later program wrote. Files from elsewhere need not say what they are.
fn check_version(
    path: &Path,
    file: &SerializedFileReader<Source>,
    table: &Table,
) -> Result<(), MeasuresError> {
    let entries = file.metadata().file_metadata().key_value_metadata();
    let schema = entries.into_iter().flatten().find(|entry| entry.key == SCHEMA_KEY);
    let Some(schema) = schema.and_then(|entry| entry.value.as_deref()) else { return Ok(()) };
    let (name, version) = schema.split_once('/').unwrap_or((schema, ""));
    match version.parse::<u64>() {
        Ok(version) if name == table.schema && version > SCHEMA_VERSION => {
            Err(MeasuresError::Newer { path: path.to_owned(), version, known: SCHEMA_VERSION })
        }
        Ok(_) if name == table.schema => Ok(()),
        _ => Err(MeasuresError::format(path, format!("its schema is {schema:?}"))),
    }
}

fn wanted(
    path: &Path,
    file: &SerializedFileReader<Source>,
    column: &'static Column,
) -> Result<Wanted, MeasuresError> {
    let schema = file.metadata().file_metadata().schema_descr().columns();
    let is_it = |found: &ColumnDescriptor| found.path().parts() == [column.name];
    let index = schema
        .iter()
        .position(|found| is_it(found))
        .ok_or_else(|| MeasuresError::NoColumn { path: path.to_owned(), column: column.name })?;
    let found = &schema[index];
    let (converted, logical) = (found.converted_type(), found.logical_type_ref());
    let is_whole = matches!(found.physical_type(), Type::INT32 | Type::INT64);
    let expected = match column.kind {
        Kind::Text if found.physical_type() != Type::BYTE_ARRAY => Some("text"),
        Kind::Count32 | Kind::Count64 if !is_whole => Some("whole numbers"),
        Kind::Moment if !is_whole => Some("a timestamp"),
        _ => None,
    };
    if let Some(expected) = expected.or((found.max_rep_level() > 0).then_some("single values")) {
        return Err(MeasuresError::ColumnType {
            path: path.to_owned(),
            column: column.name,
            found: found.physical_type().to_string(),
            expected,
        });
    }
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

impl Wanted {
    /// The value of an integer, from its two readings.
    fn whole(&self, signed: i64, unsigned: u64) -> Option<Value> {
        let value = if self.is_unsigned { unsigned } else { u64::try_from(signed).ok()? };
        value.checked_mul(self.factor).map(Value::Whole)
    }
}

/// Reads rows of a column into `into`. A value that `convert` does not take ends it: it is
/// returned as the outcome, and is the one behind the last of `into`.
fn read<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    into: &mut Vec<Value>,
    convert: impl Fn(T::T) -> Option<Value>,
) -> Result<Option<()>, ParquetError> {
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
            None => return Ok(Some(())),
        }
    }
    Ok(None)
}
