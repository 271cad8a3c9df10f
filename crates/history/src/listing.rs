//! What a store has at a moment.

use std::ffi::OsString;

use plimsoll_guarded::Directory;

use crate::names::{self, PartName};
use crate::{Day, HistoryError};

/// Returns the days of a store, in their order.
pub(crate) fn days(store: &Directory) -> Result<Vec<Day>, HistoryError> {
    let names = names_of(store)?;
    let mut days: Vec<Day> =
        names.iter().filter_map(|name| Day::of_directory(name.to_str()?)).collect();
    days.sort_unstable();
    Ok(days)
}

/// Returns the write-ahead files of a store, in their order.
pub(crate) fn logs(store: &Directory) -> Result<Vec<u64>, HistoryError> {
    let names = names_of(store)?;
    let mut logs: Vec<u64> =
        names.iter().filter_map(|name| names::log_sequence(name.to_str()?)).collect();
    logs.sort_unstable();
    Ok(logs)
}

/// Returns the files of a day in the order of their samples. What has another name is not the store's.
pub(crate) fn parts(day: &Directory) -> Result<Vec<PartName>, HistoryError> {
    let names = names_of(day)?;
    let mut parts: Vec<PartName> =
        names.iter().filter_map(|name| PartName::parse(name.to_str()?)).collect();
    parts.sort_unstable_by(|one, other| (one.logs(), one).cmp(&(other.logs(), other)));
    Ok(parts)
}

pub(crate) fn names_of(directory: &Directory) -> Result<Vec<OsString>, HistoryError> {
    directory.names().map_err(|cause| HistoryError::io("list", directory.path(), cause))
}
