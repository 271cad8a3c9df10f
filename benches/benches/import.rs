//! How fast a day of TOKIO's HDF5 is imported, beside how fast h5py reads the same file, in the same run; and what memory an import takes. h5py has numbers in memory then; an import
//! has samples in a store on a disk, made durable.
//!
//! PYTHON is one that has h5py.

use std::env;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use plimsoll_benches::{PAIRS, Took, interleaved, peak_memory_mib, report};
use plimsoll_import::{Options, import};
use plimsoll_stats::Sample;

/// Rows of a table of text.
const ROWS: u64 = 10_000_000;

fn main() -> Result<()> {
    let folder = tempfile::tempdir_in("/var/tmp")?;
    match Reader::start() {
        Ok(reader) => beside_h5py(folder.path(), reader)?,
        Err(_) => println!("SKIPPED: needs a Python that has h5py (PYTHON)"),
    }
    text(folder.path())
}

fn beside_h5py(folder: &Path, mut reader: Reader) -> Result<()> {
    let path = folder.join("day.hdf5");
    let made = Command::new(python()).arg(script()).arg("make").arg(&path).status()?;
    ensure!(made.success(), "h5py could not write");
    // The first run of each finds the file in no cache.
    reader.read(&path)?;
    let (_, samples) = imported(folder, &path)?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let walls = interleaved(
        PAIRS,
        || Took::noted(imported(folder, &path).map(|it| it.0), &mut ours),
        || Took::noted(reader.read(&path), &mut theirs),
    );
    let bytes = std::fs::metadata(&path)?.len();
    println!("a day of 248 targets at 5 s, {samples} samples, {bytes} bytes as TOKIO's HDF5");
    println!("imported to a store {}", told(&ours, samples));
    println!("read to memory by h5py {}", told(&theirs, samples));
    let ratios = walls.iter().map(|ratio| ratio.recip());
    report("speed of the import over h5py's, asked: at least 1", ratios.collect());
    let processors = ours.iter().zip(&theirs).map(|(one, other)| other.processors / one.processors);
    report("the same for a second of a processor", processors.collect());
    println!("most memory of this process: {} MiB", peak_memory_mib()?);
    Ok(())
}

fn told(all: &[Took], samples: u64) -> String {
    let median = |of: fn(&Took) -> f64| {
        Sample::new(all.iter().map(of).collect()).map_or(f64::NAN, |it| it.median())
    };
    let took = Took { wall: median(|it| it.wall), processors: median(|it| it.processors) };
    let millions = samples as f64 / 1e6;
    format!(
        "in {took}: {:.1} million samples a second, {:.1} a second of a processor",
        millions / took.wall,
        millions / took.processors
    )
}

/// Imports the file into a new store. Returns what that took, and how many samples it has.
fn imported(folder: &Path, path: &Path) -> Result<(Took, u64)> {
    let store = folder.join("store");
    let (took, outcome) = Took::of(|| Ok(import(path, &store, &Options::default())?))?;
    std::fs::remove_dir_all(&store)?;
    Ok((took, outcome.imported.samples))
}

/// Ten million samples in a table of text.
fn text(folder: &Path) -> Result<()> {
    let path = folder.join("long.csv");
    let mut file = BufWriter::new(std::fs::File::create(&path)?);
    writeln!(file, "time,target,measure,value,length_ms")?;
    for row in 0..ROWS {
        let (end, target, value) = (1_577_836_805 + row / 100 * 5, row % 100, row % 977);
        writeln!(file, "{end},fs-OST{target:04x},written_bytes,{value},5000")?;
    }
    file.flush()?;
    let (took, samples) = imported(folder, &path)?;
    ensure!(samples == ROWS, "{samples} samples of {ROWS} rows");
    println!("{ROWS} rows of CSV imported {}", told(&[took], samples));
    println!("most memory of this process: {} MiB", peak_memory_mib()?);
    Ok(())
}

fn python() -> PathBuf {
    env::var_os("PYTHON").unwrap_or_else(|| "python3".into()).into()
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("rivals/import.py")
}

/// A Python that reads files when it is asked.
struct Reader {
    process: Child,
    ask: ChildStdin,
    told: BufReader<ChildStdout>,
}

impl Reader {
    fn start() -> Result<Self> {
        let has = Command::new(python()).args(["-c", "import h5py"]).output()?;
        ensure!(has.status.success(), "no h5py");
        let mut process = Command::new(python())
            .arg(script())
            .arg("read")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (ask, told) = (process.stdin.take(), process.stdout.take());
        let (ask, told) = ask.zip(told).context("no pipes")?;
        Ok(Reader { process, ask, told: BufReader::new(told) })
    }

    fn read(&mut self, path: &Path) -> Result<Took> {
        writeln!(self.ask, "{}", path.display())?;
        let mut line = String::new();
        self.told.read_line(&mut line)?;
        let mut numbers = line.split_whitespace().map(str::parse::<f64>);
        let mut next = || numbers.next().context("h5py could not read");
        Ok(Took { wall: next()??, processors: next()?? })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
