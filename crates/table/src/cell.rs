//! One cell of a table that is read.

use crate::{TableError, TableReader, Text};

/// A cell of the rows that were read last: what it holds, and where it is if that is wrong.
#[derive(Clone, Copy)]
pub struct CellAt<'a> {
    pub(crate) table: &'a TableReader,
    pub(crate) column: usize,
    pub(crate) row: usize,
}

impl<'a> CellAt<'a> {
    /// Puts what the cell holds into a place.
    ///
    /// # Errors
    /// If it holds something else.
    pub fn read<T: FromCell>(self, into: &mut T) -> Result<(), TableError> {
        *into = T::from_cell(self)?;
        Ok(())
    }

    /// Returns its text.
    ///
    /// # Errors
    /// If it is null or not UTF-8.
    pub fn text(self) -> Result<&'a str, TableError> {
        self.optional_text()?.ok_or_else(|| self.bad("is null"))
    }

    /// Returns its text; nothing if it is null.
    ///
    /// # Errors
    /// If it is not UTF-8.
    pub fn optional_text(self) -> Result<Option<&'a str>, TableError> {
        match self.value() {
            Value::Text(text) => match std::str::from_utf8(text.data()) {
                Ok(text) => Ok(Some(text)),
                Err(_) => Err(self.bad("is not UTF-8")),
            },
            _ => Ok(None),
        }
    }

    /// Returns the error that this cell cannot be, and where it is.
    pub fn bad(self, reason: impl ToString) -> TableError {
        self.table.bad_value(self.column, self.row, reason.to_string())
    }

    fn value(self) -> &'a Value {
        self.table.value(self.column, self.row)
    }
}

/// What a cell can be read as.
pub trait FromCell: Sized {
    /// Returns the value of a cell.
    ///
    /// # Errors
    /// If the cell is null or holds something else.
    fn from_cell(cell: CellAt<'_>) -> Result<Self, TableError>;
}

impl FromCell for u64 {
    fn from_cell(cell: CellAt<'_>) -> Result<Self, TableError> {
        match cell.value() {
            Value::Whole(value) => Ok(*value),
            _ => Err(cell.bad("is null")),
        }
    }
}

impl FromCell for u32 {
    fn from_cell(cell: CellAt<'_>) -> Result<Self, TableError> {
        u32::try_from(u64::from_cell(cell)?).map_err(|_| cell.bad("is too large"))
    }
}

impl FromCell for f64 {
    fn from_cell(cell: CellAt<'_>) -> Result<Self, TableError> {
        match cell.value() {
            Value::Real(value) => Ok(*value),
            _ => Err(cell.bad("is null")),
        }
    }
}

impl FromCell for String {
    fn from_cell(cell: CellAt<'_>) -> Result<Self, TableError> {
        cell.text().map(str::to_owned)
    }
}

impl<T: FromCell> FromCell for Option<T> {
    fn from_cell(cell: CellAt<'_>) -> Result<Self, TableError> {
        match cell.value() {
            Value::Null => Ok(None),
            _ => T::from_cell(cell).map(Some),
        }
    }
}

/// A value that was read.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Whole(u64),
    Real(f64),
    Text(Text),
    Null,
}
