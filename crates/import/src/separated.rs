//! Tables as text, with commas, semicolons or tabs (CSV).

use std::path::Path;

use csv::{ByteRecord, ReaderBuilder};
use plimsoll_history::Import;

use crate::mapped_samples::Cell;
use crate::notes::Notes;
use crate::opened::Opened;
use crate::rows::Rows;
use crate::{ImportError, Options};

/// Longest line that a table has; a reader would otherwise take in a file that has no line.
const LINE_BYTES_MAX: usize = 1 << 20;

/// Columns that a table has at most.
const COLUMNS_MAX: usize = 10_000;

/// Takes all rows of a text whose first line has the names of columns.
pub(crate) fn take(
    path: &Path,
    opened: &Opened,
    options: &Options,
    import: &mut Import,
    notes: &mut Notes,
) -> Result<&'static str, ImportError> {
    let failed = |error: csv::Error| match error.into_kind() {
        csv::ErrorKind::Io(cause) => ImportError::io(path, cause),
        other => ImportError::content(path, format!("its rows cannot be read: {other:?}")),
    };
    let mut reader = ReaderBuilder::new()
        .delimiter(separator(opened.head()))
        .comment(Some(b'#'))
        .flexible(true)
        .from_reader(Lines { input: opened.stream(), since_line: 0 });
    let names = reader.headers().map_err(failed)?.clone();
    if names.len() > COLUMNS_MAX {
        return Err(ImportError::content(path, format!("it has {} columns", names.len())));
    }
    let names: Vec<String> = names.iter().map(str::to_owned).collect();
    let mut rows = Rows::new(path, &names, options, import, notes)?;
    let mut record = ByteRecord::new();
    let mut short = 0;
    while reader.read_byte_record(&mut record).map_err(failed)? {
        if record.len() != names.len() {
            short += 1;
            continue;
        }
        rows.row(|column| match record.get(column).map(std::str::from_utf8) {
            Some(Ok(text)) => Cell::Text(text),
            _ => Cell::Missing,
        })?;
    }
    notes.left_out(short, "lines that have more or fewer columns than the first one");
    rows.finish(notes)?;
    Ok("CSV")
}

/// Returns what is between columns: of comma, semicolon and tab what the first line has most of.
fn separator(head: &[u8]) -> u8 {
    let mut lines = head.split(|it| *it == b'\n').filter(|it| !it.starts_with(b"#"));
    let first = lines.next().unwrap_or_default();
    let count = |separator: u8| first.iter().filter(|it| **it == separator).count();
    let most = [b'\t', b';', b','].into_iter().max_by_key(|it| count(*it));
    most.unwrap_or(b',')
}

/// Passes on what has lines: a reader holds a whole line.
struct Lines<R> {
    input: R,
    since_line: usize,
}

impl<R: std::io::Read> std::io::Read for Lines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.input.read(buffer)?;
        match buffer[..read].iter().rposition(|it| *it == b'\n') {
            Some(place) => self.since_line = read - place - 1,
            None => self.since_line += read,
        }
        if self.since_line > LINE_BYTES_MAX {
            return Err(std::io::Error::other("a line is longer than a MiB: it is no table"));
        }
        Ok(read)
    }
}
