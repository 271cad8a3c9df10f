//! Reading a file of a day.

use std::path::PathBuf;

use plimsoll_guarded::Directory;
use plimsoll_table::TableReader;
use rustix::fs::OFlags;

use crate::described::Described;
use crate::field::table;
use crate::part::SERIES_KEY;
use crate::part_rows::{NANOS_PER_MILLI, PartRows};
use crate::{HistoryError, Series};

/// Columns that are read, in this order.
const COLUMNS: [&str; 4] = ["series", "time", "length_ms", "value"];

/// Rows that are held of each of several files that are read at once: 128 KiB.
const ROWS_AT_A_TIME: usize = 1 << 12;

/// A file of a day: what it has, and its rows.
pub(crate) struct PartFile {
    path: PathBuf,
    reader: TableReader,
    /// By number; `None` for series that this program does not know.
    pub series: Vec<Option<Series>>,
    /// Rows of each series.
    pub counts: Vec<u64>,
}

/// Some rows of one series that follow each other in time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run<'a> {
    /// Number of the series in its file.
    pub series: usize,
    /// Milliseconds since 1970.
    pub ends: &'a [u64],
    pub lengths: &'a [u64],
    pub values: &'a [u64],
}

fn open(day: &Directory, name: &str) -> Result<(PathBuf, TableReader), HistoryError> {
    let path = day.path().join(name);
    let file = day.open_file(name, OFlags::RDONLY);
    let file = file.map_err(|cause| HistoryError::io("open", &path, cause))?;
    let reader = TableReader::of(file, &path, &table(), &COLUMNS)?;
    Ok((path, reader))
}

impl PartFile {
    /// Opens a file of a day's directory: of this one, whatever has its path by now.
    pub fn open(day: &Directory, name: &str) -> Result<Self, HistoryError> {
        let (path, reader) = open(day, name)?;
        let damaged = |reason: &dyn ToString| HistoryError::damaged(&path, reason.to_string());
        let list = reader.fact(SERIES_KEY).ok_or_else(|| damaged(&"it lists no series"))?;
        let all = Described::parse(list).map_err(|error| damaged(&error))?;
        let counts = all.iter().map(|it| it.rows).collect();
        let series = all.into_iter().map(Described::series).collect();
        Ok(PartFile { path, reader, series, counts })
    }

    /// Returns whether a file may have rows that end after a moment, by what it says of itself. This is far cheaper than to open it.
    pub fn may_reach(day: &Directory, name: &str, millis: u64) -> Result<bool, HistoryError> {
        let (_, reader) = open(day, name)?;
        Ok(reader.ends(1).is_none_or(|(_, latest)| latest / NANOS_PER_MILLI > millis))
    }

    /// Returns its rows, to be taken one after the other.
    pub fn rows(self) -> PartRows {
        let reader = self.reader.rows_at_a_time(ROWS_AT_A_TIME);
        PartRows::new(self.path, reader)
    }

    /// Returns whether it has rows of series that only a later program knows.
    pub fn has_unknown(&self) -> bool {
        self.series.iter().zip(&self.counts).any(|(series, rows)| series.is_none() && *rows > 0)
    }

    /// Calls for all rows of wanted series between these ends, in the order of the file, until it returns false. It can be read again.
    pub fn read(
        &mut self,
        is_wanted: &[bool],
        least: u64,
        most: u64,
        mut each: impl FnMut(Run<'_>) -> Result<bool, HistoryError>,
    ) -> Result<(), HistoryError> {
        if !is_wanted.contains(&true) {
            return Ok(());
        }
        let wanted_groups = is_wanted.to_vec();
        let is_any = move |first: u64, last: u64| {
            let range = first as usize..=(last as usize).min(wanted_groups.len().saturating_sub(1));
            wanted_groups.get(range).is_some_and(|some| some.contains(&true))
        };
        let nanos = |millis: u64| millis.saturating_mul(NANOS_PER_MILLI);
        self.reader.rewind();
        self.reader.skip_groups(0, is_any);
        let (first, last) = (nanos(least), nanos(most));
        self.reader.skip_groups(1, move |earliest, latest| latest >= first && earliest <= last);
        let mut columns: [Vec<u64>; 4] = Default::default();
        while self.reader.advance_whole(&mut columns)? > 0 {
            columns[1].iter_mut().for_each(|time| *time /= NANOS_PER_MILLI);
            let [series, ends, lengths, values] = &columns;
            let mut start = 0;
            for run in series.chunk_by(|one, next| one == next) {
                let range = start..start + run.len();
                start = range.end;
                let number = run[0] as usize;
                let Some(is_wanted) = is_wanted.get(number) else {
                    let reason = format!("it has rows of series {number}, which it does not list");
                    return Err(HistoryError::damaged(&self.path, reason));
                };
                if *is_wanted {
                    let ends = &ends[range.clone()];
                    // Rows of a series are in the order of time.
                    let first = ends.partition_point(|end| *end < least);
                    let last = ends.partition_point(|end| *end <= most).max(first);
                    let (lengths, values) = (&lengths[range.clone()], &values[range.clone()]);
                    let some = first..last;
                    let (ends, lengths) = (&ends[some.clone()], &lengths[some.clone()]);
                    if !each(Run { series: number, ends, lengths, values: &values[some] })? {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }
}
