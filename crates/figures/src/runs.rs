//! Runs that other programs measured, summarised by group and by the time of day and week.

use std::path::Path;

use plimsoll_domain::moment::WEEKDAYS;
use plimsoll_measures::runs::{Layout, LeftOut, Run, RunsError, RunsFile};
use plimsoll_report::Record;
use plimsoll_score::distribution::Distribution;
use plimsoll_score::grouped::{Grouped, Periods};
use thiserror::Error;

use crate::scores::numbers::*;

/// Runs of tables, grouped.
pub struct RunsTable {
    layout: Layout,
    grouped: Grouped,
    left_out: LeftOut,
    untimed: u64,
    rows: u64,
}

/// More groups than this would not be read by anybody.
const GROUPS_MAX: usize = 100_000;

/// What a group may be called at most, and rows that fit the memory: a few packed bytes can be many of them.
const KEY_BYTES_MAX: usize = 1024;
const ROWS_MAX: u64 = 20_000_000;

/// Why runs cannot be summarised; the caller says which.
#[derive(Debug, Error)]
pub enum SummaryError {
    /// The table cannot be read.
    #[error(transparent)]
    Runs(#[from] RunsError),
    /// It would not be read by anybody.
    #[error("more than {GROUPS_MAX} groups; hint: --by takes columns with few values")]
    Groups,
    /// It would take too much memory.
    #[error(
        "a name of more than {KEY_BYTES_MAX} bytes; hint: --by takes columns with short values"
    )]
    Name,
    /// It would take too much memory.
    #[error("more than {ROWS_MAX} rows; hint: summarise it in parts")]
    Rows,
}

impl RunsTable {
    /// Returns a table without runs.
    pub fn new(layout: Layout) -> Self {
        let (grouped, left_out) = (Grouped::default(), LeftOut::default());
        RunsTable { layout, grouped, left_out, untimed: 0, rows: 0 }
    }

    /// Adds the runs of a file.
    ///
    /// # Errors
    /// If it cannot be read, or has too much to be summarised.
    pub fn read(&mut self, path: &Path) -> Result<(), SummaryError> {
        let mut file = RunsFile::open(path, &self.layout)?;
        while let Some(run) = file.next(&mut self.left_out)? {
            self.take(run)?;
        }
        Ok(())
    }

    /// Says why there are no runs, if there are none.
    pub fn why_empty(&self) -> Option<String> {
        self.grouped.is_empty().then(|| match self.left_out.total() {
            0 => "no row behind the names of the columns".to_string(),
            _ => self.left_out.sentence(&self.layout.value),
        })
    }

    fn take(&mut self, run: Run) -> Result<(), SummaryError> {
        let Run { key, value, nanos } = run;
        self.untimed += u64::from(self.layout.time.is_some() && nanos.is_none());
        if self.grouped.len() >= GROUPS_MAX && !self.grouped.has(&key) {
            return Err(SummaryError::Groups);
        }
        if key.iter().any(|part| part.len() > KEY_BYTES_MAX) {
            return Err(SummaryError::Name);
        }
        self.rows += 1;
        if self.rows > ROWS_MAX {
            return Err(SummaryError::Rows);
        }
        self.grouped.add(&key, value, nanos);
        Ok(())
    }

    /// Returns distributions of all groups, and how they depend on the time of day and week.
    pub fn record(&self, utc_offset: i32, json: bool) -> Record {
        let groups = self.grouped.groups();
        // A record's labels are constants; these few names last as long as the program.
        let names: Vec<&'static str> =
            self.layout.keys().map(|name| &*name.to_string().leak()).collect();
        let rows = groups.iter().map(|group| {
            let keys = names
                .iter()
                .zip(&group.key)
                .fold(Record::new(), |row, (name, value)| row.text(name, name, value));
            // Apart, as a column may be called like one of our numbers.
            let row = if json { Record::new().section("group", "group", keys) } else { keys };
            summary(row, &group.distribution)
        });
        let mut record = Record::new()
            .text("value", "value", &self.layout.value)
            .number(&SKIPPED, self.left_out.total())
            .rows("groups", "groups", rows.collect());
        if let Some(periods) = self.grouped.periods(utc_offset) {
            record = calendar(record, &periods);
        }
        if self.left_out.total() > 0 {
            record = record.note(self.left_out.sentence(&self.layout.value));
        }
        if self.untimed > 0 {
            record = record.note(format!("{} rows have no time that can be read", self.untimed));
        }
        record
    }
}

fn summary(row: Record, it: &Distribution) -> Record {
    row.number(&N, it.n as u64)
        .number(&MIN, it.min)
        .number(&Q1, it.q1)
        .number(&MEDIAN, it.median)
        .number(&Q3, it.q3)
        .number(&MAX, it.max)
        .number(&MEAN, it.mean)
        .number(&SD, it.sd)
        .number(&OUTLIERS_LOW, it.outliers_low as u64)
        .number(&OUTLIERS_HIGH, it.outliers_high as u64)
}

fn calendar(record: Record, periods: &Periods) -> Record {
    let row = |row: Record, it: &Distribution| {
        row.number(&N, it.n as u64)
            .number(&MEDIAN, it.median)
            .number(&MEAN, it.mean)
            .number(&MIN, it.min)
            .number(&MAX, it.max)
    };
    let hours = (0u64..)
        .zip(&periods.hours)
        .filter_map(|(hour, it)| Some(row(Record::new().number(&HOUR, hour), it.as_ref()?)));
    let days = WEEKDAYS.iter().zip(&periods.weekdays).filter_map(|(day, it)| {
        Some(row(Record::new().text("weekday", "weekday", *day), it.as_ref()?))
    });
    record.rows("hours", "over the median of the group, by hour of the day", hours.collect()).rows(
        "weekdays",
        "over the median of the group, by weekday",
        days.collect(),
    )
}
