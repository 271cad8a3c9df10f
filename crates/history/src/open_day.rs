//! A day of a store that is open to be read.
//!
//! What is selected and what comes of it is said where a store is read (store), which opens days (open_day).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::latest_cover::LatestCover;
use crate::names::PartName;
use crate::part_file::PartFile;
use crate::{Batch, Day, HistoryError, Row, Selection, Series};

/// What write-ahead files have, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    /// Rows of each day.
    pub days: BTreeMap<Day, Vec<(u64, SomeRows)>>,
    /// Who told of which time last.
    pub latest: LatestCover,
}

/// Series, and rows that have their numbers.
pub(crate) type SomeRows = (Vec<Series>, Vec<Row>);

/// A day of a store: files, and what write-ahead files have of it that they do not have. What was open once is read to the end, whatever becomes of the day.
pub struct OpenDay {
    recent: Arc<Recent>,
    files: Vec<(PartName, PartFile)>,
    logs: Vec<(u64, SomeRows)>,
}

impl OpenDay {
    pub(crate) fn new(
        recent: Arc<Recent>,
        files: Vec<(PartName, PartFile)>,
        logs: Vec<(u64, SomeRows)>,
    ) -> Self {
        OpenDay { recent, files, logs }
    }

    /// Returns all selected series, in their order.
    pub fn series(&self, selection: &Selection<'_>) -> Vec<Series> {
        let of_files = self.files.iter().flat_map(|(_, file)| file.series.iter().flatten());
        let of_logs = self.logs.iter().flat_map(|(_, (series, _))| series);
        let mut all: Vec<&Series> =
            of_files.chain(of_logs).filter(|series| selection.wants(series)).collect();
        all.sort_unstable();
        all.dedup();
        all.into_iter().cloned().collect()
    }

    /// Calls for all selected samples, as [`Store::read`](crate::Store::read) does.
    ///
    /// # Errors
    /// As [`Store::read`](crate::Store::read).
    pub fn read<E: From<HistoryError>>(
        &mut self,
        selection: &Selection<'_>,
        mut each: impl FnMut(Batch<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let (least, most) = selection.ends();
        let latest = &self.recent.latest;
        for (part, file) in &mut self.files {
            let is_wanted: Vec<bool> = file
                .series
                .iter()
                .map(|it| it.as_ref().is_some_and(|series| selection.wants(series)))
                .collect();
            let series = std::mem::take(&mut file.series);
            let mut failed = None;
            let read = file.read(&is_wanted, least, most, |run| {
                let Some(Some(series)) = series.get(run.series) else { return Ok(true) };
                let (ends, lengths, values) = (run.ends, run.lengths, run.values);
                if ends.is_empty() {
                    return Ok(true);
                }
                let batch = Batch { series, ends, lengths, values };
                failed = match part.logs() {
                    Some((_, last)) => latest.not_later(last, batch, &mut each).err(),
                    None => each(batch).err(),
                };
                Ok(failed.is_none())
            });
            file.series = series;
            if let Some(error) = failed {
                return Err(error);
            }
            read?;
        }
        for (sequence, (series, rows)) in &self.logs {
            let mut left = |batch: Batch<'_>| latest.not_later(*sequence, batch, &mut each);
            read_rows(series, rows, selection, &mut left)?;
        }
        Ok(())
    }
}

fn read_rows<E>(
    series: &[Series],
    rows: &[Row],
    selection: &Selection<'_>,
    each: &mut impl FnMut(Batch<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let (least, most) = selection.ends();
    for some in rows.chunk_by(|one, next| one.series == next.series) {
        let series = &series[some[0].series as usize];
        let inside = || some.iter().filter(|row| (least..=most).contains(&row.end));
        if !selection.wants(series) || inside().next().is_none() {
            continue;
        }
        let ends: Vec<u64> = inside().map(|row| row.end).collect();
        let lengths: Vec<u64> = inside().map(|row| row.length.into()).collect();
        let values: Vec<u64> = inside().map(|row| row.value).collect();
        each(Batch { series, ends: &ends, lengths: &lengths, values: &values })?;
    }
    Ok(())
}
