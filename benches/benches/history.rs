//! What a history takes and how fast it is: bytes for each sample beside a plain Parquet file of the same samples, and
//! a store with all days of a year opened and one day of 248 targets worked out and drawn. The counters are drawn at random, in bursts of
//! whole blocks; real ones compress better (docs/history.md).

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use plimsoll_benches::process_cpu_seconds;
use plimsoll_figures::utilized;
use plimsoll_history::{
    Component, ComponentKind, Day, HistoryError, Measure, Reading, Selection, Settings, Store,
    Value, Writer,
};
use plimsoll_stats::{Random, Sample};
use plimsoll_utilization::{Options, TargetCosts, survey};

/// 2026-01-01T00:00:00Z in seconds.
const START: u64 = 1_767_225_600;
const DAY: u64 = 86_400;
/// Targets of NERSC's Edison, which LMT watched.
const TARGETS: usize = 248;
const STEP: u64 = 5;
const TIMES: usize = 7;

fn main() -> Result<()> {
    let folder = tempfile::tempdir_in("/var/tmp")?;
    let path = folder.path().join("store");
    let begun = Instant::now();
    let samples = write_year(&path)?;
    println!(
        "a year of days, the last with {TARGETS} targets every {STEP} s: {samples} samples, written in {:.0} s",
        begun.elapsed().as_secs_f64()
    );
    compare_bytes(&path, folder.path(), samples)?;
    draw(&path)
}

/// Counters of targets that come and go in bursts of whole blocks.
struct Targets {
    random: Random,
    values: Vec<[u64; 4]>,
    busy: Vec<bool>,
}

impl Targets {
    fn new() -> Self {
        let (values, busy) = (vec![[0; 4]; TARGETS], vec![false; TARGETS]);
        Targets { random: Random::new(1), values, busy }
    }

    fn step(&mut self, targets: usize, second: u64) -> Vec<Reading> {
        (0..targets).map(|target| self.reading(target, second)).collect()
    }

    fn reading(&mut self, target: usize, second: u64) -> Reading {
        // A burst begins and ends about every minute.
        self.busy[target] ^= self.random.below(12) == 0;
        let most = if self.busy[target] { 2000 } else { 3 };
        let (reads, writes) = (self.random.below(most), self.random.below(most));
        let values = &mut self.values[target];
        let grown = [reads << 20, writes << 20, reads, writes];
        values.iter_mut().zip(grown).for_each(|(value, grown)| *value += grown);
        let measures = [
            Measure::ReadBytes,
            Measure::WrittenBytes,
            Measure::ReadOperations,
            Measure::WriteOperations,
        ];
        let component = Component::new(ComponentKind::Ost, format!("scratch-OST{target:04x}"));
        Reading {
            component: component.of_file_system("scratch"),
            server: format!("oss{:03}", target / 8),
            time: second * 1_000_000_000,
            epoch: 0,
            values: measures
                .iter()
                .zip(values)
                .map(|(it, value)| Value::new(*it, *value))
                .collect(),
        }
    }
}

/// Writes 365 days with a minute of one target each, and a whole day of all targets. Returns the samples of that day.
fn write_year(path: &Path) -> Result<u64> {
    let settings = Settings { keep_days: 400, ..Settings::default() };
    let mut store = Writer::open(path, settings)?;
    let mut targets = Targets::new();
    for day in 0..365 {
        for second in 0..12 {
            store.append(&targets.step(1, START + day * DAY + 3600 + second * STEP))?;
        }
        store.seal()?;
    }
    let first = START + 365 * DAY;
    let mut samples = 0;
    for second in (0..DAY).step_by(STEP as usize) {
        samples += store.append(&targets.step(TARGETS, first + second))?.samples;
        if second % 600 == 0 {
            store.seal()?;
        }
    }
    store.seal()?;
    // Each of the days that follow has something, too.
    for day in 1..=2 {
        store.append(&targets.step(1, first + day * DAY + 3600))?;
    }
    store.seal()?;
    // Three days later all of them are old: one step makes one day coarser, and one file of it.
    for _ in 0..400 {
        store.maintain((first + 3 * DAY) * 1000)?;
    }
    Ok(samples)
}

fn last_day() -> Day {
    Day::ending_at((START + 365 * DAY + 3600) * 1000)
}

fn compare_bytes(path: &Path, folder: &Path, samples: u64) -> Result<()> {
    let ours = bytes_below(&path.join(last_day().directory()))?;
    println!("  ours: {:.2} bytes a sample; asked: at most 3", ours as f64 / samples as f64);
    let plain = folder.join("plain.parquet");
    let rows = write_plain(path, &plain)?;
    let bytes = fs::metadata(&plain)?.len() as f64;
    println!(
        "  plain Parquet, Snappy, of {rows} of them: {:.2} bytes a sample",
        bytes / rows as f64
    );
    let ratio = (ours as f64 / samples as f64) / (bytes / rows as f64);
    println!("  ours over plain Parquet: {ratio:.3}");
    Ok(())
}

fn bytes_below(folder: &Path) -> Result<u64> {
    let sizes = fs::read_dir(folder)?.map(|entry| Ok(entry?.metadata()?.len()));
    sizes.sum::<Result<u64, std::io::Error>>().context("cannot list the day")
}

/// Time, target, measure and value.
type PlainRow = (i64, String, &'static str, i64);

/// Rows by time, as a scraper that knows nothing of series would write them: an hour of all targets.
fn write_plain(store: &Path, path: &Path) -> Result<usize> {
    let since = (START + 365 * DAY) * 1000;
    let until = since + 3_600_000;
    let mut rows: Vec<PlainRow> = Vec::new();
    let selection = Selection { since: Some(since), until: Some(until), ..Selection::default() };
    Store::open(store)?.read(&selection, |batch| -> Result<(), HistoryError> {
        for (end, value) in batch.ends.iter().zip(batch.values) {
            let name = batch.series.component.name.clone();
            rows.push((*end as i64, name, batch.series.measure.name(), *value as i64));
        }
        Ok(())
    })?;
    rows.sort_unstable();
    let schema = "message plain { required int64 time (TIMESTAMP(MILLIS,true)); required binary target (UTF8); \
                  required binary measure (UTF8); required int64 value; }";
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let schema = Arc::new(parse_message_type(schema)?);
    let mut file = SerializedFileWriter::new(File::create(path)?, schema, Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    let texts = |of: &dyn Fn(&PlainRow) -> ByteArray| rows.iter().map(of).collect::<Vec<_>>();
    let numbers = |of: fn(&PlainRow) -> i64| rows.iter().map(of).collect::<Vec<_>>();
    for column in 0..4 {
        let mut writer = group.next_column()?.context("no column")?;
        match column {
            0 => writer.typed::<Int64Type>().write_batch(&numbers(|it| it.0), None, None)?,
            1 => {
                let names = texts(&|it| ByteArray::from(it.1.as_str()));
                writer.typed::<ByteArrayType>().write_batch(&names, None, None)?
            }
            2 => {
                let names = texts(&|it| ByteArray::from(it.2));
                writer.typed::<ByteArrayType>().write_batch(&names, None, None)?
            }
            _ => writer.typed::<Int64Type>().write_batch(&numbers(|it| it.3), None, None)?,
        };
        writer.close()?;
    }
    group.close()?;
    file.close()?;
    Ok(rows.len())
}

/// Opens the store, works the day out and draws its page.
fn draw(path: &Path) -> Result<()> {
    let options = Options {
        since: Some(last_day().start()),
        until: Some(last_day().end()),
        ..Options::default()
    };
    let (mut seconds, mut processors) = (Vec::new(), Vec::new());
    let mut length = 0;
    for _ in 0..TIMES {
        let (begun, cpu) = (Instant::now(), process_cpu_seconds());
        let store = Store::open(path)?;
        let survey = survey(&store, &options, &|_| TargetCosts::ASSUMED)?;
        length = utilized::page("history", &survey, &[], &options, &[]).len();
        seconds.push(begun.elapsed().as_secs_f64());
        processors.push(process_cpu_seconds() - cpu);
        std::thread::sleep(Duration::from_millis(100));
    }
    let sample = Sample::new(seconds)?;
    let (low, high) = (sample.quantile(0.25)?, sample.quantile(0.75)?);
    println!(
        "  opened, a day of {TARGETS} targets worked out and drawn (a page of {:.1} MB): {:.2} s ({low:.2} to {high:.2}, n = {TIMES}); asked: under 1 s",
        length as f64 / 1e6,
        sample.median()
    );
    println!("  of processors, which others use, too: {:.2} s", Sample::new(processors)?.median());
    Ok(())
}
