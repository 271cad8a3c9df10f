//! Turning a write-ahead file into files of days.

use std::collections::BTreeMap;
use std::io;

use plimsoll_guarded::{Directory, read_at_most};
use rustix::fs::OFlags;

use crate::cover::{Cover, is_covered};
use crate::in_order::InOrder;
use crate::log::NoLog;
use crate::merging::{Resolution, merge};
use crate::names::{self, PartName};
use crate::part::PartWriter;
use crate::part_file::PartFile;
use crate::replacement::Replacement;
use crate::{Day, HistoryError, Log, Row, Series, listing};

/// A write-ahead file is replaced long before it has this size.
pub(crate) const LOG_BYTES_MAX: u64 = 64 << 20;

/// Reads a write-ahead file up to where it was cut off; nothing if it has not even a header.
pub(crate) fn read_log(store: &Directory, sequence: u64) -> Result<Option<Log>, HistoryError> {
    let name = names::log(sequence);
    let path = store.path().join(&name);
    let failed = |cause| HistoryError::io("read", &path, cause);
    let file = store.open_file(&name, OFlags::RDONLY).map_err(failed)?;
    let bytes = read_at_most(LOG_BYTES_MAX, file).map_err(failed)?;
    let bytes = bytes.ok_or_else(|| HistoryError::damaged(&path, "it is too large"))?;
    match Log::read(&bytes) {
        Ok(log) if log.sequence == sequence => Ok(Some(log)),
        Ok(log) => {
            let reason = format!("it is that of number {}", log.sequence);
            Err(HistoryError::damaged(&path, reason))
        }
        Err(NoLog::Cut) => Ok(None),
        Err(error) => Err(HistoryError::damaged(&path, error)),
    }
}

/// Writes the samples of a write-ahead file into files of their days, and removes it. A kill at any moment leaves
/// each sample either there or here: whoever repeats this finds by name which days have theirs already.
pub(crate) fn seal(store: &Directory, sequence: u64) -> Result<(), HistoryError> {
    let log = match read_log(store, sequence) {
        Err(HistoryError::Damaged { .. }) => return set_aside(store, sequence),
        log => log?,
    };
    if let Some(log) = log {
        if log.unknown_rows > 0 {
            // A later program wrote it, and knows what it means.
            return set_aside(store, sequence);
        }
        let cover = Cover::of(&log.series, &log.rows);
        let touched = touched_days(store, &cover)?;
        let own = by_day(log);
        for (day, series, rows) in &own {
            seal_day(store, *day, sequence, series, rows, &cover)?;
        }
        // A sample that ends in the next day may cover some of this one.
        for day in touched.into_iter().filter(|day| !own.iter().any(|it| it.0 == *day)) {
            seal_day(store, day, sequence, &[], &[], &cover)?;
        }
    }
    let name = names::log(sequence);
    let removed = store.remove_file_if_there(&name).and_then(|()| store.sync());
    removed.map_err(|cause| HistoryError::io("remove", &store.path().join(name), cause))
}

/// Keeps what cannot be read under another name, so that everything behind it goes on.
fn set_aside(store: &Directory, sequence: u64) -> Result<(), HistoryError> {
    let (from, to) = (names::log(sequence), names::damaged_log(sequence));
    let moved = store.rename(&from, &to).and_then(|()| store.sync());
    moved.map_err(|cause| HistoryError::io("set aside", &store.path().join(from), cause))
}

/// Returns the days of a store of which some time is covered.
fn touched_days(store: &Directory, cover: &Cover) -> Result<Vec<Day>, HistoryError> {
    let mut days = listing::days(store)?;
    days.retain(|day| cover.all().any(|span| span.start < day.end() && span.end > day.start()));
    Ok(days)
}

/// Adds the rows of a write-ahead file to a day, in place of what they cover: both in one step.
fn seal_day(
    store: &Directory,
    day: Day,
    sequence: u64,
    series: &[Series],
    rows: &[Row],
    cover: &Cover,
) -> Result<(), HistoryError> {
    let directory = day_directory(store, day)?;
    let parts = listing::parts(&directory)?;
    if parts.iter().any(|part| part.has_log(sequence)) {
        return Ok(());
    }
    let covered = covered_files(&directory, &parts, cover)?;
    if covered.is_empty() {
        write_part(&directory, sequence, series, rows)?;
        let synced = directory.sync();
        return synced.map_err(|cause| HistoryError::io("write", directory.path(), cause));
    }
    let new = Replacement::begin(store, day)?;
    for file in parts.iter().map(PartName::file) {
        if covered.contains(&file) {
            let files = [file.clone()];
            let resolution = Resolution::Kept;
            merge(&directory, &files, &new.folder, &file, resolution, Some(cover), &|| false)?;
        } else {
            new.keep(&directory, &file)?;
        }
    }
    write_part(&new.folder, sequence, series, rows)?;
    new.publish()
}

fn write_part(
    directory: &Directory,
    sequence: u64,
    series: &[Series],
    rows: &[Row],
) -> Result<(), HistoryError> {
    if rows.is_empty() {
        return Ok(());
    }
    let name = PartName::Fresh { first: sequence, last: sequence };
    let mut part = PartWriter::create(directory, &name.file(), series)?;
    rows.iter().try_for_each(|row| part.row(*row))?;
    part.finish()
}

/// Returns the files of a day that have rows of a time that is covered. Imports are not of this store's clock, and what only a later program
/// knows is left as it is.
fn covered_files(
    directory: &Directory,
    parts: &[PartName],
    cover: &Cover,
) -> Result<Vec<String>, HistoryError> {
    let mut covered = Vec::new();
    let Some(start) = cover.start() else { return Ok(covered) };
    for part in parts.iter().filter(|part| part.logs().is_some()) {
        if !PartFile::may_reach(directory, &part.file(), start)? {
            continue;
        }
        let file = PartFile::open(directory, &part.file())?;
        if !file.has_unknown() {
            let is_any = has_covered(file, start, cover)?;
            covered.extend(is_any.then(|| part.file()));
        }
    }
    Ok(covered)
}

fn has_covered(mut file: PartFile, start: u64, cover: &Cover) -> Result<bool, HistoryError> {
    let series = file.series.clone();
    let spans_of = |it: &Option<Series>| it.as_ref().map_or(&[][..], |it| cover.spans(it));
    let is_wanted: Vec<bool> = series.iter().map(|it| !spans_of(it).is_empty()).collect();
    let mut is_any = false;
    file.read(&is_wanted, start, u64::MAX, |run| {
        let spans = series.get(run.series).map_or(&[][..], &spans_of);
        let mut rows = run.ends.iter().zip(run.lengths);
        is_any = rows.any(|(end, length)| is_covered(spans, *end, *length));
        Ok(!is_any)
    })?;
    Ok(is_any)
}

/// Opens the directory of a day, which is made if need be.
pub(crate) fn day_directory(store: &Directory, day: Day) -> Result<Directory, HistoryError> {
    let name = day.directory();
    let failed = |cause| HistoryError::io("make", &store.path().join(&name), cause);
    match store.child(&name) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
            let made = store.make_own(&name).map_err(failed)?;
            store.sync().map_err(failed)?;
            Ok(made)
        }
        found => found.map_err(failed),
    }
}

/// Returns the rows of each day in the order of files, with the series that they have.
pub(crate) fn by_day(log: Log) -> Vec<(Day, Vec<Series>, Vec<Row>)> {
    let mut ends = log.rows.iter().map(|row| Day::ending_at(row.end));
    if let Some(first) = ends.next()
        && ends.all(|day| day == first)
    {
        // Nearly always, and then no row is copied.
        let (series, rows) = InOrder::default().put(&log.series, log.rows);
        return vec![(first, series, rows)];
    }
    let mut days: BTreeMap<Day, Vec<Row>> = BTreeMap::new();
    for row in &log.rows {
        days.entry(Day::ending_at(row.end)).or_default().push(*row);
    }
    let mut in_order = InOrder::default();
    let days = days.into_iter().map(|(day, rows)| {
        let (series, rows) = in_order.put(&log.series, rows);
        (day, series, rows)
    });
    days.collect()
}
