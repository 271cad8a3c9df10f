//! Columns of whole numbers as plain vectors.

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::{ParquetError, Result};

use crate::damage::guarded;
use crate::wanted::Wanted;

/// Reads rows of a column in place of what `into` has. Returns whether all of them are numbers that are not negative.
pub(crate) fn read_whole(
    wanted: &Wanted,
    reader: &mut ColumnReader,
    rows: usize,
    into: &mut Vec<u64>,
) -> Result<bool> {
    into.clear();
    match reader {
        ColumnReader::Int32ColumnReader(reader) => {
            read(reader, rows, into, |it| wanted.number(it.into(), u64::from(it as u32)))
        }
        ColumnReader::Int64ColumnReader(reader) => {
            read(reader, rows, into, |it| wanted.number(it, it as u64))
        }
        _ => {
            let name = wanted.column.name;
            Err(ParquetError::General(format!("column {name:?} does not have whole numbers")))
        }
    }
}

fn read<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    into: &mut Vec<u64>,
    number: impl Fn(T::T) -> Option<u64>,
) -> Result<bool> {
    let (mut levels, mut values) = (Vec::new(), Vec::with_capacity(rows));
    let (_, present, read) =
        guarded(|| reader.read_records(rows, Some(&mut levels), None, &mut values))?;
    if read != rows || present != rows || values.len() < rows {
        return Ok(false);
    }
    into.reserve(rows);
    for value in values {
        let Some(value) = number(value) else { return Ok(false) };
        into.push(value);
    }
    Ok(true)
}
