//! `plimsoll score --from-csv`: runs that other programs measured.

use std::collections::HashSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use flate2::read::MultiGzDecoder;
use plimsoll_guarded::open_input;
use plimsoll_report::Record;
use plimsoll_score::calendar::{WEEKDAYS, moment};
use plimsoll_score::distribution::Distribution;
use plimsoll_score::grouped::{Grouped, Periods};

use super::bounded::{Bounded, Room};
use super::left_out::LeftOut;
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
}

/// How a row gives a group, a value and a time.
struct Reading {
    keys: Vec<Key>,
    value: String,
    time: Option<String>,
}

struct Key {
    name: &'static str,
    from: From,
}

enum From {
    /// A column as it is.
    Column(String),
    /// The last part of a path in a column.
    LastPart(String),
    /// The name of the file, without .gz.
    File,
    /// r or w, for whichever moved more bytes.
    Direction,
    /// The interface of whichever moved more bytes.
    Interface,
}

impl Reading {
    fn new(arguments: &TableArguments) -> Result<Self> {
        if arguments.format == Some(Format::TokioAbc) {
            return Ok(Reading::tokio_abc());
        }
        let value = arguments.value.clone().ok_or_else(|| {
            anyhow!("cannot summarise a table: no --value COLUMN; hint: --as names known formats")
        })?;
        // A record's labels are constants; these few names last as long as the program.
        let name = |name: &String| &*name.clone().leak();
        let key = |it: &String| Key { name: name(it), from: From::Column(it.clone()) };
        let keys = arguments.by.iter().map(key).collect();
        Ok(Reading { keys, value, time: arguments.time.clone() })
    }

    fn tokio_abc() -> Self {
        let key = |name: &'static str, from: From| Key { name, from };
        Reading {
            keys: vec![
                key("file", From::File),
                key("fs", From::Column("_file_system".into())),
                key("app", From::LastPart("darshan_app".into())),
                key("rw", From::Direction),
                key("nprocs", From::Column("darshan_nprocs".into())),
                key("api", From::Interface),
            ],
            value: "darshan_agg_perf_by_slowest_posix".into(),
            time: Some("_datetime_start".into()),
        }
    }
}

pub fn run(arguments: &TableArguments, utc_offset: i32, output: Output) -> Result<ExitCode> {
    let reading = Reading::new(arguments)?;
    let mut table = Table {
        reading,
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
                bail!("cannot summarise {names}: {}", table.left_out.sentence(&table.reading.value))
            }
        }
    }
    let record = table.record(utc_offset, output.json);
    let title = format!("runs of {}", super::gather::names(&arguments.from_csv));
    output.print("score.runs", &title, &record)?;
    Ok(ExitCode::SUCCESS)
}

struct Table {
    reading: Reading,
    grouped: Grouped,
    left_out: LeftOut,
    untimed: u64,
    rows: u64,
}

/// A column that comes twice would be read where it comes first, and nobody would know.
fn check_names(headings: &csv::StringRecord) -> Result<()> {
    let mut seen = HashSet::new();
    let named = headings.iter().map(str::trim).filter(|name| !name.is_empty());
    match named.into_iter().find(|name| !seen.insert(*name)) {
        Some(name) => bail!("two of its columns are called {name:?}; hint: rename one of them"),
        None => Ok(()),
    }
}

impl Table {
    fn read(&mut self, path: &Path) -> Result<()> {
        let file = open_input(path)?;
        let is_packed = path.extension().is_some_and(|it| it == "gz");
        let bytes: Box<dyn Read> =
            if is_packed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
        let room = Room::new();
        let mut rows = csv::Reader::from_reader(Bounded { bytes, room: &room });
        let headings = rows.headers()?.clone();
        check_names(&headings)?;
        let column = |name: &str| {
            let place = headings.iter().position(|it| it.trim() == name);
            place.ok_or_else(|| anyhow!("it has no column {name:?}{}", hint(&headings)))
        };
        let keys: Vec<Place> = self
            .reading
            .keys
            .iter()
            .map(|key| Place::new(key, path, column))
            .collect::<Result<_>>()?;
        let value = column(&self.reading.value)?;
        let time = self.reading.time.as_deref().map(column).transpose()?;
        let mut row = csv::StringRecord::new();
        while rows.read_record(&mut row)? {
            room.refill();
            self.take(&row, &keys, value, time)?;
        }
        Ok(())
    }

    fn take(
        &mut self,
        row: &csv::StringRecord,
        keys: &[Place],
        value: usize,
        time: Option<usize>,
    ) -> Result<()> {
        let Some(value) = self.left_out.value(row.get(value).unwrap_or("")) else {
            return Ok(());
        };
        let key: Vec<String> = keys.iter().map(|key| key.text(row)).collect();
        let nanos = time.and_then(|time| moment(row.get(time).unwrap_or("")));
        self.untimed += u64::from(time.is_some() && nanos.is_none());
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
        let rows = groups.iter().map(|group| {
            let keys = self
                .reading
                .keys
                .iter()
                .zip(&group.key)
                .fold(Record::new(), |row, (key, value)| row.text(key.name, key.name, value));
            // Apart, as a column may be called like one of our numbers.
            let row = if json { Record::new().section("group", "group", keys) } else { keys };
            summary(row, &group.distribution)
        });
        let mut record = Record::new()
            .text("value", "value", &self.reading.value)
            .number(&SKIPPED, self.left_out.total())
            .rows("groups", "groups", rows.collect());
        if let Some(periods) = self.grouped.periods(utc_offset) {
            record = calendar(record, &periods);
        }
        if self.left_out.total() > 0 {
            record = record.note(self.left_out.sentence(&self.reading.value));
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

/// More groups than this would not be read by anybody.
const GROUPS_MAX: usize = 100_000;

/// What a group may be called at most, and rows that fit the memory: a few packed bytes can be many of them.
const KEY_BYTES_MAX: usize = 1024;
const ROWS_MAX: u64 = 20_000_000;

/// Where a part of a group's key is in a row.
struct Place {
    file: String,
    from: Derived,
}

enum Derived {
    Column(usize),
    LastPart(usize),
    File,
    Direction(Moved),
    Interface(Moved, [usize; 2]),
}

/// Columns with the bytes that were read and written.
#[derive(Clone, Copy)]
struct Moved([usize; 2]);

impl Place {
    fn new(key: &Key, path: &Path, column: impl Fn(&str) -> Result<usize>) -> Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let file = name.strip_suffix(".gz").unwrap_or(&name).to_string();
        let moved = || {
            let bytes = ["read", "write"].map(|it| format!("darshan_biggest_{it}_api_bytes"));
            Ok::<_, anyhow::Error>(Moved([column(&bytes[0])?, column(&bytes[1])?]))
        };
        let from = match &key.from {
            // A column may itself be called file.
            From::Column(name) if name == "file" && column(name).is_err() => Derived::File,
            From::Column(name) => Derived::Column(column(name)?),
            From::LastPart(name) => Derived::LastPart(column(name)?),
            From::File => Derived::File,
            From::Direction => Derived::Direction(moved()?),
            From::Interface => {
                let names = ["read", "write"].map(|it| format!("darshan_biggest_{it}_api"));
                Derived::Interface(moved()?, [column(&names[0])?, column(&names[1])?])
            }
        };
        Ok(Place { file, from })
    }

    fn text(&self, row: &csv::StringRecord) -> String {
        let cell = |place: usize| row.get(place).unwrap_or("").trim();
        match &self.from {
            Derived::Column(place) => cell(*place).to_string(),
            Derived::LastPart(place) => {
                cell(*place).rsplit('/').next().unwrap_or_default().to_string()
            }
            Derived::File => self.file.clone(),
            Derived::Direction(moved) => ["r", "w"][moved.larger(row)].to_string(),
            Derived::Interface(moved, names) => cell(names[moved.larger(row)]).to_string(),
        }
    }
}

impl Moved {
    /// 1 if more was written than read, 0 otherwise; what is not a number counts as nothing.
    fn larger(self, row: &csv::StringRecord) -> usize {
        let bytes = |place: usize| row.get(place).and_then(|it| it.trim().parse::<f64>().ok());
        let [read, written] = self.0.map(|place| bytes(place).unwrap_or(0.0));
        usize::from(written > read)
    }
}

fn hint(headings: &csv::StringRecord) -> String {
    const SHOWN: usize = 12;
    let names: Vec<&str> = headings.iter().take(SHOWN).collect();
    let more = if headings.len() > SHOWN { ", \u{2026}" } else { "" };
    format!("; hint: it has {}{more}", names.join(", "))
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
