//! What do small files cost under `stow run`, beside plain ones in the same directory?
//!
//! As mdtest does: files of 1 to 4 KiB are made and written, looked at, and removed, each in a round of its own. Plain ones and containers take
//! turns; each figure is plain's time over the container's, so that 1 is as fast. Both processor time and time that passed are told, as others may use the machine. ext4 is slow to
//! give away inodes that were removed within the last seconds, so that the rounds of a pair wait for that first.
//! `PLIMSOLL_BENCH_FILES` makes other numbers of files, `PLIMSOLL_BENCH_FOLDER` is where they are made (/var/tmp).

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use plimsoll_benches::{PAIRS, process_cpu_seconds, report};

const FILES: usize = 10_000;
/// As long as ext4 keeps inodes that were removed (fs/ext4/ialloc.c), and a little.
const FORGETS: Duration = Duration::from_millis(5500);
/// What a program is told to be the one that makes files.
const WORKER: &str = "PLIMSOLL_BENCH_SMALL_WORKER";

const PHASES: [&str; 3] = ["made and written", "looked at", "removed"];

/// Seconds that passed, and of the processor, for each phase.
type Took = [[f64; 2]; 3];

fn main() -> Result<()> {
    if let Some(folder) = std::env::var_os(WORKER) {
        return work(Path::new(&folder));
    }
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("load {}, {} files", load.trim(), files());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?;
    let library = root.join("target/preload/release/libplimsoll.so");
    ensure!(library.exists(), "there is no {}; hint: make library", library.display());
    let base = std::env::var_os("PLIMSOLL_BENCH_FOLDER").unwrap_or_else(|| "/var/tmp".into());
    let folder = tempfile::tempdir_in(base)?;
    let mut pairs = Vec::new();
    for pair in 0..PAIRS {
        let mut took = [Took::default(); 2];
        for turn in [pair % 2, 1 - pair % 2] {
            std::thread::sleep(FORGETS);
            took[turn] = round(folder.path(), (turn == 1).then_some(&library))?;
        }
        pairs.push(took);
    }
    for (kind, what) in ["time", "processor time"].into_iter().enumerate() {
        let ratios = |of: &dyn Fn(&Took) -> f64| -> Vec<f64> {
            pairs.iter().map(|[plain, container]| of(plain) / of(container)).collect()
        };
        for (phase, name) in PHASES.iter().enumerate() {
            report(
                &format!("small files, {name}: plain's {what} over the containers'"),
                ratios(&|it| it[phase][kind]),
            );
        }
        report(
            &format!("small files, all three: plain's {what} over the containers'"),
            ratios(&|it| it.iter().map(|it| it[kind]).sum()),
        );
    }
    Ok(())
}

fn files() -> usize {
    std::env::var("PLIMSOLL_BENCH_FILES").ok().and_then(|it| it.parse().ok()).unwrap_or(FILES)
}

/// Runs all phases in a directory of its own, with the library or without.
fn round(folder: &Path, library: Option<&PathBuf>) -> Result<Took> {
    let made = tempfile::tempdir_in(folder)?;
    let [mount, target] = ["mount", "target"].map(|it| made.path().join(it));
    fs::create_dir(&mount)?;
    fs::create_dir(&target)?;
    let mut command = Command::new(std::env::current_exe()?);
    command.env(WORKER, &mount).stdout(Stdio::piped());
    if let Some(library) = library {
        let targets: OsString = target.into();
        command.env("LD_PRELOAD", library).env("PLIMSOLL_STOW_MOUNT", &mount);
        command.env("PLIMSOLL_STOW_TARGETS", targets);
    }
    let output = command.output()?;
    ensure!(output.status.success(), "whoever makes the files has failed");
    let text = String::from_utf8(output.stdout)?;
    let mut numbers = text.split_whitespace().map(str::parse::<f64>);
    let mut took = Took::default();
    for number in took.as_flattened_mut() {
        *number = numbers.next().context("a time is missing")??;
    }
    Ok(took)
}

/// What is done with each file.
type Phase<'a> = Box<dyn FnMut(usize, &Path) -> Result<()> + 'a>;

/// Makes files in a directory, looks at them and removes them; prints how long that took.
fn work(folder: &Path) -> Result<()> {
    let bytes = [b'x'; 4 << 10];
    let size = |number: usize| (number % 4 + 1) << 10;
    let paths: Vec<PathBuf> = (0..files()).map(|it| folder.join(format!("file-{it}"))).collect();
    let mut phases: [Phase; 3] = [
        Box::new(|number, path| {
            let mut file: File = OpenOptions::new().write(true).create_new(true).open(path)?;
            Ok(file.write_all(&bytes[..size(number)])?)
        }),
        Box::new(|number, path| {
            let length = fs::metadata(path)?.len();
            ensure!(length == size(number) as u64, "{} has {length} bytes", path.display());
            Ok(())
        }),
        Box::new(|_, path| Ok(fs::remove_file(path)?)),
    ];
    for phase in &mut phases {
        let (start, cpu) = (Instant::now(), process_cpu_seconds());
        for (number, path) in paths.iter().enumerate() {
            phase(number, path)?;
        }
        println!("{} {}", start.elapsed().as_secs_f64(), process_cpu_seconds() - cpu);
    }
    Ok(())
}
