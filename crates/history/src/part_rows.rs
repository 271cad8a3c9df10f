//! The rows of a file of a day, one after the other.

use std::path::{Path, PathBuf};

use plimsoll_table::TableReader;

use crate::{HistoryError, Row};

/// Milliseconds are what the table gives in nanoseconds.
pub(crate) const NANOS_PER_MILLI: u64 = 1_000_000;

/// The rows of a file of a day, in its order, of which a bounded number is in memory.
pub(crate) struct PartRows {
    path: PathBuf,
    reader: TableReader,
    /// Series, ends, lengths, values.
    columns: [Vec<u64>; 4],
    /// The next one of them.
    next: usize,
}

impl PartRows {
    pub fn new(path: PathBuf, reader: TableReader) -> Self {
        PartRows { path, reader, columns: Default::default(), next: 0 }
    }

    /// Returns where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the next row, with the number of its series in the file; nothing at the end.
    pub fn peek(&mut self) -> Result<Option<Row>, HistoryError> {
        if self.next == self.columns[0].len() {
            self.next = 0;
            if self.reader.advance_whole(&mut self.columns)? == 0 {
                self.columns.iter_mut().for_each(Vec::clear);
                return Ok(None);
            }
        }
        let [series, end, length, value] = self.columns.each_ref().map(|it| it[self.next]);
        Ok(Some(Row {
            series: u32::try_from(series).unwrap_or(u32::MAX),
            end: end / NANOS_PER_MILLI,
            length: u32::try_from(length).unwrap_or(u32::MAX),
            value,
        }))
    }

    /// Goes past the row that was looked at.
    pub fn advance(&mut self) {
        self.next += 1;
    }
}
