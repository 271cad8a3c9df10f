//! Which column of a file is meant, and how its numbers are.

use std::path::Path;

use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnDescriptor;

use crate::source::Source;
use crate::{Column, Kind, Table, TableError};

/// A column that is read, and how its integers are meant.
pub(crate) struct Wanted {
    pub column: Column,
    /// Its number in the file.
    pub index: usize,
    pub is_unsigned: bool,
    /// Nanoseconds of one unit, for times.
    pub factor: u64,
}

impl Wanted {
    pub fn find(
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
    pub fn number(&self, signed: i64, unsigned: u64) -> Option<u64> {
        let value = if self.is_unsigned { unsigned } else { u64::try_from(signed).ok()? };
        value.checked_mul(self.factor)
    }

    /// Returns the least and the greatest value that a row group has, by what the file says of it.
    pub fn ends(&self, known: &Statistics) -> Option<(u64, u64)> {
        let number = |it: i64| self.number(it, it as u64);
        let narrow = |it: i32| self.number(it.into(), u64::from(it as u32));
        match known {
            Statistics::Int64(it) => Some((number(*it.min_opt()?)?, number(*it.max_opt()?)?)),
            Statistics::Int32(it) => Some((narrow(*it.min_opt()?)?, narrow(*it.max_opt()?)?)),
            _ => None,
        }
    }
}

/// Returns what the values of a column are; nothing if this program does not read such.
pub(crate) fn kind_of(found: &ColumnDescriptor) -> Option<Kind> {
    let is_time = matches!(found.logical_type_ref(), Some(LogicalType::Timestamp(_)))
        || matches!(
            found.converted_type(),
            ConvertedType::TIMESTAMP_MILLIS | ConvertedType::TIMESTAMP_MICROS
        );
    let kind = match found.physical_type() {
        Type::BYTE_ARRAY => Kind::Text,
        Type::FLOAT | Type::DOUBLE => Kind::Real,
        Type::INT32 | Type::INT64 if is_time => Kind::Moment,
        Type::INT32 | Type::INT64 => Kind::Count64,
        _ => return None,
    };
    (found.max_rep_level() == 0).then_some(kind)
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
