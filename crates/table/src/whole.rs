//! Columns of whole numbers as plain vectors.

use std::ops::BitOr;

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
            let is_whole = |values: &[i32]| wanted.is_unsigned || all_bits(values) >= 0;
            read(reader, rows, into, is_whole, |it| u64::from(it as u32))?
        }
        ColumnReader::Int64ColumnReader(reader) => {
            let is_whole = |values: &[i64]| wanted.is_unsigned || all_bits(values) >= 0;
            read(reader, rows, into, is_whole, |it| it as u64)?
        }
        _ => {
            let name = wanted.column.name;
            let problem = format!("column {name:?} does not have whole numbers");
            return Err(ParquetError::General(problem));
        }
    }
    if into.len() != rows {
        return Ok(false);
    }
    let factor = wanted.factor;
    if factor != 1 {
        if into.iter().max().is_some_and(|most| most.checked_mul(factor).is_none()) {
            return Ok(false);
        }
        into.iter_mut().for_each(|value| *value *= factor);
    }
    Ok(true)
}

/// Returns all values on top of each other: negative if one is.
fn all_bits<T: Copy + Default + BitOr<Output = T>>(values: &[T]) -> T {
    values.iter().fold(T::default(), |all, value| all | *value)
}

/// Reads rows of a column, if all are there and `is_whole`. The loops are ones that a processor does several values of at a time.
fn read<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    into: &mut Vec<u64>,
    is_whole: impl Fn(&[T::T]) -> bool,
    number: impl Fn(T::T) -> u64,
) -> Result<()>
where
    T::T: Copy,
{
    let (mut levels, mut values) = (Vec::new(), Vec::with_capacity(rows));
    let (_, present, read) =
        guarded(|| reader.read_records(rows, Some(&mut levels), None, &mut values))?;
    let is_there = read == rows && present == rows && values.len() == rows;
    if is_there && is_whole(&values) {
        into.extend(values.iter().map(|value| number(*value)));
    }
    Ok(())
}
