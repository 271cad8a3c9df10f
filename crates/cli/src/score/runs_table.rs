//! `plimsoll score --from-csv`: runs that other programs measured.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use plimsoll_domain::moment::WEEKDAYS;
use plimsoll_measures::runs::{Layout, LeftOut, Run, RunsFile};
use plimsoll_report::Record;
use plimsoll_score::distribution::Distribution;
use plimsoll_score::grouped::{Grouped, Periods};

use super::numbers::*;
use crate::output::Output;

#[derive(clap::Args)]
pub struct TableArguments {
    /// Summarise runs in these CSV files instead (also .gz); the first line names the columns
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Tables of runs")]
    from_csv: Vec<PathBuf>,

    /// The column to summarise
    #[arg(long, value_name = "COLUMN", requires = "from_csv", help_heading = "Tables of runs")]
    value: Option<String>,

    /// The columns that make groups; `file` is the name of the file
    #[arg(
        long,
        value_name = "COLUMN",
        value_delimiter = ',',
        requires = "from_csv",
        help_heading = "Tables of runs"
    )]
    by: Vec<String>,

    /// The column with the time of a run: seconds since 1970, or like 2018-01-28T12:00:00Z
    #[arg(long, value_name = "COLUMN", requires = "from_csv", help_heading = "Tables of runs")]
    time: Option<String>,

    /// What program wrote the files: sets the columns
    #[arg(
        long = "as",
        value_enum,
        value_name = "FORMAT",
        requires = "from_csv",
        conflicts_with_all = ["value", "by", "time"],
        help_heading = "Tables of runs"
    )]
    format: Option<Format>,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Format {
    /// Summaries of TOKIO-ABC: POSIX bandwidth in MiB/s by file system, program, direction,
    /// processes and interface
    TokioAbc,
}

impl TableArguments {
    pub fn is_given(&self) -> bool {
        !self.from_csv.is_empty()
    }

    fn layout(&self) -> Result<Layout> {
        if self.format == Some(Format::TokioAbc) {
            return Ok(Layout::tokio_abc());
        }
        let value = self.value.clone().ok_or_else(|| {
            anyhow!("cannot summarise a table: no --value COLUMN; hint: --as names known formats")
        })?;
        Ok(Layout::new(&self.by, value, self.time.clone()))
    }
}

pub fn run(arguments: &TableArguments, utc_offset: i32, output: Output) -> Result<ExitCode> {
    let mut table = Table {
        layout: arguments.layout()?,
        grouped: Grouped::default(),
        left_out: LeftOut::default(),
        untimed: 0,
        rows: 0,
    };
    for path in &arguments.from_csv {
        table.read(path).with_context(|| format!("cannot summarise {}", path.display()))?;
    }
    if table.grouped.is_empty() {
        let names = super::gather::names(&arguments.from_csv);
        match table.left_out.total() {
            0 => bail!("cannot summarise {names}: no row behind the names of the columns"),
            _ => {
                bail!("cannot summarise {names}: {}", table.left_out.sentence(&table.layout.value))
            }
        }
    }
    let record = table.record(utc_offset, output.json);
    let title = format!("runs of {}", super::gather::names(&arguments.from_csv));
    output.print("score.runs", &title, &record)?;
    Ok(ExitCode::SUCCESS)
}

struct Table {
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

impl Table {
    fn read(&mut self, path: &Path) -> Result<()> {
        let mut file = RunsFile::open(path, &self.layout)?;
        while let Some(run) = file.next(&mut self.left_out)? {
            self.take(run)?;
        }
        Ok(())
    }

    fn take(&mut self, run: Run) -> Result<()> {
        let Run { key, value, nanos } = run;
        self.untimed += u64::from(self.layout.time.is_some() && nanos.is_none());
        if self.grouped.len() >= GROUPS_MAX && !self.grouped.has(&key) {
            bail!("more than {GROUPS_MAX} groups; hint: --by takes columns with few values");
        }
        if key.iter().any(|part| part.len() > KEY_BYTES_MAX) {
            bail!(
                "a name of more than {KEY_BYTES_MAX} bytes; hint: --by takes columns with short values"
            );
        }
        self.rows += 1;
        if self.rows > ROWS_MAX {
            bail!("more than {ROWS_MAX} rows; hint: summarise it in parts");
        }
        self.grouped.add(&key, value, nanos);
        Ok(())
    }

    fn record(&self, utc_offset: i32, json: bool) -> Record {
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
