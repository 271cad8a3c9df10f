//! Columns of a list: which of them fit, and what is in them.

use std::collections::HashSet;

use plimsoll_history::Measure;
use plimsoll_report::{Unit, sparkline_within, visible, words};
use plimsoll_utilization::{CLASSES, Lately, Options};

use crate::listing::{Listing, SortBy};

/// Columns, in the order in which they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Column {
    Name,
    Kind,
    Targets,
    Fsu,
    Class,
    History,
    Read,
    Written,
    Size,
    Operations,
    OperationsSoFar,
    /// Operations of metadata of one name.
    Named(Measure),
    ReadSize,
    WriteSize,
    ByBandwidth,
    FileSystem,
    Server,
}

use Column::*;

/// Names are at least so wide, and at most.
const NAME_WIDTHS: (u16, u16) = (16, 44);
/// A point of the history is 5 s: a minute at least, and five at most.
const HISTORY_WIDTHS: (u16, u16) = (12, 60);

/// What a table shows where there is no value. Missing is not zero.
const MISSING: &str = "-";

impl Listing {
    /// Its columns, the most important first.
    fn columns(self) -> &'static [Column] {
        match self {
            Listing::Targets => &[
                Name,
                Fsu,
                Read,
                Written,
                Size,
                History,
                Operations,
                Class,
                Kind,
                Server,
                FileSystem,
                ReadSize,
                WriteSize,
                ByBandwidth,
            ],
            Listing::Servers | Listing::FileSystems => &[
                Name,
                Fsu,
                Read,
                Written,
                Targets,
                History,
                Size,
                Operations,
                Class,
                ReadSize,
                WriteSize,
                ByBandwidth,
            ],
            Listing::Jobs => &[Name, Read, Written, Size, Operations, Targets, ReadSize, WriteSize],
            Listing::Metadata => &[
                Name,
                Operations,
                OperationsSoFar,
                Named(Measure::Opens),
                Named(Measure::Closes),
                Named(Measure::GetAttributes),
                Named(Measure::Unlinks),
                Named(Measure::SetAttributes),
                Named(Measure::Mknods),
                Named(Measure::Renames),
                Named(Measure::Mkdirs),
                Named(Measure::Rmdirs),
                Named(Measure::Syncs),
                Server,
                FileSystem,
            ],
        }
    }

    /// Returns the columns that fit, in the order in which they are shown, and their widths.
    pub fn fitted(self, width: u16, rows: &[&Lately]) -> Vec<(Column, u16)> {
        let mut columns = self.columns().to_vec();
        // A target that is served and used here is there twice; what else it is tells which is which.
        if let Some(place) = columns.iter().position(|it| *it == Kind)
            && has_a_name_twice(rows)
        {
            columns[1..=place].rotate_right(1);
        }
        let mut left = width;
        let mut fitting = Vec::new();
        for column in columns {
            let needed = column.width() + u16::from(!fitting.is_empty());
            if needed > left {
                break;
            }
            left -= needed;
            fitting.push((column, column.width()));
        }
        let longest_name = rows.iter().map(|it| it.name.chars().count()).max().unwrap_or(0);
        let longest_name = u16::try_from(longest_name).unwrap_or(u16::MAX);
        let more_name = longest_name.min(NAME_WIDTHS.1).saturating_sub(NAME_WIDTHS.0).min(left);
        let more_history = (HISTORY_WIDTHS.1 - HISTORY_WIDTHS.0).min(left - more_name);
        for (column, width) in &mut fitting {
            *width += match column {
                Name => more_name,
                History | OperationsSoFar => more_history,
                _ => 0,
            };
        }
        fitting.sort_by_key(|(column, _)| *column);
        fitting
    }
}

impl Column {
    fn width(self) -> u16 {
        match self {
            Name => NAME_WIDTHS.0,
            Kind => 12,
            Targets => 7,
            Fsu => 9,
            Class => 8,
            History | OperationsSoFar => HISTORY_WIDTHS.0,
            Named(_) => 8,
            Read | Written => 11,
            Size => 9,
            Operations => 10,
            ReadSize | WriteSize => 10,
            ByBandwidth => 12,
            FileSystem | Server => 12,
        }
    }

    pub fn heading(self) -> &'static str {
        match self {
            Name => "name",
            Kind => "kind",
            Targets => "targets",
            Fsu => "FSU",
            Class => "class",
            History => "FSU so far",
            OperationsSoFar => "so far",
            Named(Measure::GetAttributes) => "getattr",
            Named(Measure::SetAttributes) => "setattr",
            Named(measure) => measure.name(),
            Read => "read",
            Written => "written",
            Size => "op size",
            Operations => "ops/s",
            ReadSize => "read size",
            WriteSize => "write size",
            ByBandwidth => "by bandwidth",
            FileSystem => "file system",
            Server => "server",
        }
    }

    /// Numbers keep to the right edge.
    pub fn is_number(self) -> bool {
        !matches!(self, Name | Kind | Class | History | OperationsSoFar | FileSystem | Server)
    }

    /// Returns what a list can be sorted by that is in this column.
    pub fn sorts(self) -> Option<SortBy> {
        Some(match self {
            Name => SortBy::Name,
            Fsu => SortBy::Fsu,
            Read => SortBy::Read,
            Written => SortBy::Written,
            Size => SortBy::Size,
            Operations => SortBy::Operations,
            _ => return None,
        })
    }

    /// Returns what is in the column, so that it cannot steer the terminal.
    pub fn text(self, of: &Lately, width: u16) -> String {
        let shown = |unit: Unit, value: Option<f64>| {
            value.map_or_else(|| MISSING.to_owned(), |value| unit.show(value))
        };
        match self {
            Name => shortened(&visible(&of.name), width),
            Kind if !of.is_present => "absent".to_owned(),
            Kind => of.kind.map_or(String::new(), |kind| kind.name().replace('_', " ")),
            Targets if of.known == of.targets => of.targets.to_string(),
            Targets => format!("{}/{}", of.known, of.targets),
            Fsu => shown(Unit::Percent, of.fsu),
            Class if !of.is_present => "absent".to_owned(),
            Class => {
                of.fsu.map_or(MISSING, |fsu| CLASSES[Options::default().class(fsu)]).to_owned()
            }
            History => {
                let first = of.history.len().saturating_sub(width.into());
                // On one scale for all, so that lines can be compared.
                let line = sparkline_within(&of.history[first..], 0.0, 100.0);
                format!("{line:>width$}", width = width.into())
            }
            OperationsSoFar => {
                let first = of.history.len().saturating_sub(width.into());
                // Each on its own scale: nobody knows how many would be many.
                let top = of.history.iter().flatten().fold(0.0, |top: f64, rate| top.max(*rate));
                let line = sparkline_within(&of.history[first..], 0.0, top);
                format!("{line:>width$}", width = width.into())
            }
            Named(measure) => {
                let rate = of.metadata.as_ref().and_then(|all| all.get(&measure));
                rate.map_or_else(|| MISSING.to_owned(), |rate| words::short(*rate))
            }
            Read => shown(Unit::BytesPerSec, of.read_bytes),
            Written => shown(Unit::BytesPerSec, of.written_bytes),
            Size => shown(Unit::Bytes, of.operation_size()),
            Operations => of.operations().map_or_else(|| MISSING.to_owned(), words::short),
            ReadSize => shown(Unit::Bytes, of.read_size()),
            WriteSize => shown(Unit::Bytes, of.write_size()),
            ByBandwidth => shown(Unit::Percent, of.bandwidth_only),
            FileSystem => shortened(&visible(&of.file_system), width),
            Server => shortened(&visible(&of.server), width),
        }
    }
}

fn has_a_name_twice(rows: &[&Lately]) -> bool {
    let mut names = HashSet::new();
    rows.iter().any(|row| !names.insert(&row.name))
}

/// Returns the end of a name that is too long: numbers of targets are there.
fn shortened(name: &str, width: u16) -> String {
    let (width, length) = (usize::from(width), name.chars().count());
    if length <= width || width == 0 {
        return name.to_owned();
    }
    let end: String = name.chars().skip(length - (width - 1)).collect();
    format!("…{end}")
}
