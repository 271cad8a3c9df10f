//! Tables of runs that other programs measured: CSV files, also packed, whose first line names the columns.
//!
//! [`Layout`] says which columns make a run, [`RunsFile`] decodes a file into [`Run`]s, some at a time. A row
//! has its bounds, whatever the file says; rows without a usable value are counted by reason ([`LeftOut`]).

mod bounded;
mod left_out;

use std::collections::HashSet;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use plimsoll_domain::moment;
use plimsoll_guarded::open_input;
use thiserror::Error;

use bounded::Bounded;
pub use left_out::LeftOut;

/// One run.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// What it is grouped by, in the order of [`Layout::keys`].
    pub key: Vec<String>,
    /// What was measured.
    pub value: f64,
    /// When, in nanoseconds since 1970; nothing where that cannot be read.
    pub nanos: Option<u64>,
}

/// How a row gives a group, a value and a time.
#[derive(Debug, Clone)]
pub struct Layout {
    keys: Vec<Key>,
    /// The column to summarise.
    pub value: String,
    /// The column with the time of a run.
    pub time: Option<String>,
}

#[derive(Debug, Clone)]
struct Key {
    name: String,
    from: KeySource,
}

#[derive(Debug, Clone)]
enum KeySource {
    /// A column as it is; `file` is the name of the file unless a column is called so.
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

impl Layout {
    /// Returns a layout of named columns.
    pub fn new(by: &[String], value: String, time: Option<String>) -> Self {
        let key = |name: &String| Key { name: name.clone(), from: KeySource::Column(name.clone()) };
        Layout { keys: by.iter().map(key).collect(), value, time }
    }

    /// Returns the layout of TOKIO-ABC's summaries: POSIX bandwidth in MiB/s by file, file system, program,
    /// direction, processes and interface.
    pub fn tokio_abc() -> Self {
        let key = |name: &str, from: KeySource| Key { name: name.into(), from };
        Layout {
            keys: vec![
                key("file", KeySource::File),
                key("fs", KeySource::Column("_file_system".into())),
                key("app", KeySource::LastPart("darshan_app".into())),
                key("rw", KeySource::Direction),
                key("nprocs", KeySource::Column("darshan_nprocs".into())),
                key("api", KeySource::Interface),
            ],
            value: "darshan_agg_perf_by_slowest_posix".into(),
            time: Some("_datetime_start".into()),
        }
    }

    /// Returns what runs are grouped by.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(|key| key.name.as_str())
    }
}

/// Why a table of runs cannot be read; the caller says which.
#[derive(Debug, Error)]
pub enum RunsError {
    /// The system refused, or a row has no end.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is no CSV file.
    #[error(transparent)]
    Csv(#[from] csv::Error),
    /// A column that comes twice would be read where it comes first, and nobody would know.
    #[error("two of its columns are called {0:?}; hint: rename one of them")]
    Twice(String),
    /// A column that is not there.
    #[error("it has no column {name:?}; hint: it has {others}")]
    NoColumn {
        /// Its name.
        name: String,
        /// What there is.
        others: String,
    },
}

/// A table of runs that is read row by row.
pub struct RunsFile {
    rows: csv::Reader<Bounded<Box<dyn Read>>>,
    row: csv::StringRecord,
    keys: Vec<KeyPlace>,
    value: usize,
    time: Option<usize>,
}

impl RunsFile {
    /// Opens a table, and finds the columns of the layout in it.
    ///
    /// # Errors
    /// If it cannot be read, or lacks a column.
    pub fn open(path: &Path, layout: &Layout) -> Result<Self, RunsError> {
        Self::read(open_input(path)?, path, layout)
    }

    /// Reads the bytes of a table that is called `name`, which ends with .gz if it is packed.
    ///
    /// # Errors
    /// If its first line cannot be read, or lacks a column.
    pub fn read(
        bytes: impl Read + 'static,
        name: &Path,
        layout: &Layout,
    ) -> Result<Self, RunsError> {
        let is_packed = name.extension().is_some_and(|it| it == "gz");
        let bytes: Box<dyn Read> =
            if is_packed { Box::new(MultiGzDecoder::new(bytes)) } else { Box::new(bytes) };
        let mut rows = csv::Reader::from_reader(Bounded::new(bytes));
        let headings = Headings::new(rows.headers()?.clone())?;
        let keys = layout.keys.iter().map(|key| KeyPlace::find(key, name, &headings));
        Ok(RunsFile {
            keys: keys.collect::<Result<_, _>>()?,
            value: headings.place(&layout.value)?,
            time: layout.time.as_deref().map(|name| headings.place(name)).transpose()?,
            rows,
            row: csv::StringRecord::new(),
        })
    }

    /// Returns the next run that has a value; nothing at the end. Rows without one are counted in `left_out`.
    ///
    /// # Errors
    /// If the file cannot be read on, or is no CSV file.
    pub fn next(&mut self, left_out: &mut LeftOut) -> Result<Option<Run>, RunsError> {
        while self.rows.read_record(&mut self.row)? {
            self.rows.get_ref().row_has_ended();
            let cell = |place: usize| self.row.get(place).unwrap_or("");
            let Some(value) = left_out.value(cell(self.value)) else { continue };
            return Ok(Some(Run {
                key: self.keys.iter().map(|key| key.text(&self.row)).collect(),
                value,
                nanos: self.time.and_then(|time| moment::parse(cell(time))),
            }));
        }
        Ok(None)
    }
}

/// The names of a table's columns.
struct Headings(csv::StringRecord);

impl Headings {
    fn new(names: csv::StringRecord) -> Result<Self, RunsError> {
        let mut seen = HashSet::new();
        let mut named = names.iter().map(str::trim).filter(|name| !name.is_empty());
        match named.find(|name| !seen.insert(*name)) {
            Some(name) => Err(RunsError::Twice(name.into())),
            None => Ok(Headings(names)),
        }
    }

    fn place(&self, name: &str) -> Result<usize, RunsError> {
        let place = self.0.iter().position(|it| it.trim() == name);
        place.ok_or_else(|| RunsError::NoColumn { name: name.into(), others: self.shown() })
    }

    fn shown(&self) -> String {
        const SHOWN: usize = 12;
        let names: Vec<&str> = self.0.iter().take(SHOWN).collect();
        names.join(", ") + if self.0.len() > SHOWN { ", \u{2026}" } else { "" }
    }
}

/// Where a part of a run's key is in a row.
enum KeyPlace {
    Column(usize),
    LastPart(usize),
    /// The same in all rows.
    File(String),
    Direction(Moved),
    Interface(Moved, [usize; 2]),
}

/// Columns with the bytes that were read and written.
#[derive(Clone, Copy)]
struct Moved([usize; 2]);

impl KeyPlace {
    fn find(key: &Key, path: &Path, headings: &Headings) -> Result<Self, RunsError> {
        let file = || {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            KeyPlace::File(name.strip_suffix(".gz").unwrap_or(&name).to_string())
        };
        let both = |[read, written]: [&str; 2]| {
            Ok::<_, RunsError>([headings.place(read)?, headings.place(written)?])
        };
        let moved = || {
            let bytes = ["darshan_biggest_read_api_bytes", "darshan_biggest_write_api_bytes"];
            both(bytes).map(Moved)
        };
        Ok(match &key.from {
            // A column may itself be called file.
            KeySource::Column(name) if name == "file" && headings.place(name).is_err() => file(),
            KeySource::Column(name) => KeyPlace::Column(headings.place(name)?),
            KeySource::LastPart(name) => KeyPlace::LastPart(headings.place(name)?),
            KeySource::File => file(),
            KeySource::Direction => KeyPlace::Direction(moved()?),
            KeySource::Interface => {
                let names = ["darshan_biggest_read_api", "darshan_biggest_write_api"];
                KeyPlace::Interface(moved()?, both(names)?)
            }
        })
    }

    fn text(&self, row: &csv::StringRecord) -> String {
        let cell = |place: usize| row.get(place).unwrap_or("").trim();
        match self {
            KeyPlace::Column(place) => cell(*place).to_string(),
            KeyPlace::LastPart(place) => {
                cell(*place).rsplit('/').next().unwrap_or_default().to_string()
            }
            KeyPlace::File(name) => name.clone(),
            KeyPlace::Direction(moved) => ["r", "w"][moved.larger(row)].to_string(),
            KeyPlace::Interface(moved, names) => cell(names[moved.larger(row)]).to_string(),
        }
    }
}

impl Moved {
    /// Returns 1 if more was written than read, 0 otherwise; what is not a number counts as nothing.
    fn larger(self, row: &csv::StringRecord) -> usize {
        let bytes = |place: usize| row.get(place).and_then(|it| it.trim().parse::<f64>().ok());
        let [read, written] = self.0.map(|place| bytes(place).unwrap_or(0.0));
        usize::from(written > read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(text: &str, layout: &Layout) -> Result<(Vec<Run>, LeftOut), RunsError> {
        let bytes = io::Cursor::new(text.to_string());
        let mut file = RunsFile::read(bytes, Path::new("runs.csv"), layout)?;
        let (mut all, mut left_out) = (Vec::new(), LeftOut::default());
        while let Some(run) = file.next(&mut left_out)? {
            all.push(run);
        }
        Ok((all, left_out))
    }

    fn layout() -> Layout {
        let by = ["machine", "file"].map(str::to_string);
        Layout::new(&by, "rate".into(), Some("when".into()))
    }

    #[test]
    fn rows_are_runs_or_counted_as_left_out() {
        let text = "machine,rate,when\na,1.5,1970-01-01T00:00:01Z\na,,1\nb,many,1\nb,2,yesterday\n";
        let (all, left_out) = runs(text, &layout()).unwrap();
        let run = |machine: &str, value, nanos| Run {
            key: vec![machine.into(), "runs.csv".into()],
            value,
            nanos,
        };
        assert_eq!(all, [run("a", 1.5, Some(1_000_000_000)), run("b", 2.0, None)]);
        let told = "2 rows left out: 1 with nothing, 1 with no number in \"rate\"";
        assert_eq!(left_out.sentence("rate"), told);
        assert_eq!(runs("machine,rate,when\n", &layout()).unwrap().0, []);
    }

    #[test]
    fn values_that_are_not_finite_are_left_out_for_that_reason() {
        let text = "machine,rate,when\na,inf,1\na,NaN,1\na,,1\nb,3,1\n";
        let (all, left_out) = runs(text, &layout()).unwrap();
        assert_eq!((all.len(), left_out.total()), (1, 3));
        let told = "3 rows left out: 1 with nothing, 2 with no finite number in \"rate\"";
        assert_eq!(left_out.sentence("rate"), told);
    }

    #[test]
    fn a_column_may_be_called_file_and_no_other_may_be_missing() {
        let (all, _) = runs("machine,file,rate,when\na,f,1,1\n", &layout()).unwrap();
        assert_eq!(all[0].key, ["a", "f"]);
        assert!(runs("file,rate,when\nf,1,1\n", &layout()).is_err(), "no machine");
    }

    /// Directions and interfaces are those of the larger part.
    #[test]
    fn summaries_of_tokio_abc() {
        let text = "_file_system,darshan_app,darshan_nprocs,darshan_biggest_read_api,\
            darshan_biggest_write_api,darshan_biggest_read_api_bytes,darshan_biggest_write_api_bytes,\
            darshan_agg_perf_by_slowest_posix,_datetime_start\n\
            scratch,/bin/ior,4,posix,mpiio,10,20,1.5,5\n\
            scratch,/bin/ior,4,posix,mpiio,20,10,2.5,6\n\
            scratch,hacc,8,posix,mpiio,7,7,3.5,7\n\
            scratch,hacc,8,posix,mpiio,,7,4.5,7\n";
        let (all, _) = runs(text, &Layout::tokio_abc()).unwrap();
        let keys: Vec<String> = all.iter().map(|run| run.key.join(" ")).collect();
        assert_eq!(
            keys,
            [
                "runs.csv scratch ior w 4 mpiio",
                "runs.csv scratch ior r 4 posix",
                "runs.csv scratch hacc r 8 posix",
                "runs.csv scratch hacc w 8 mpiio",
            ]
        );
        assert_eq!((all[1].value, all[1].nanos), (2.5, Some(6_000_000_000)));
    }

    #[test]
    fn many_columns_are_not_all_named() {
        let told = |columns: usize| {
            let names: Vec<String> = (0..columns).map(|nth| format!("c{nth}")).collect();
            runs(&format!("{}\n", names.join(",")), &layout()).unwrap_err().to_string()
        };
        assert!(told(12).ends_with("c10, c11"), "{}", told(12));
        assert!(told(13).ends_with("c10, c11, \u{2026}"), "{}", told(13));
    }

    #[test]
    fn columns_must_be_there_and_only_once() {
        let error = |text: &str| runs(text, &layout()).unwrap_err().to_string();
        assert_eq!(
            error("machine,speed,when\n"),
            "it has no column \"rate\"; hint: it has machine, speed, when"
        );
        assert!(
            error("machine,rate, rate,when\n").contains("two of its columns are called \"rate\"")
        );
        assert!(error("").contains("no column"));
        let endless = format!("machine,rate,when\na,\"{}", "x".repeat(2 << 20));
        assert!(error(&endless).contains("more than 1048576 bytes"));
    }
}
