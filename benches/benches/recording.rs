//! What recording costs a program: CPU time added to each call, bytes on disk for each event.
//!
//! For `pwrite` the calls through the library and past it alternate inside one process
//! (tests/programs/added.c), because two processes differ by more than what is measured; for
//! `open` and `close` programs with and without the library take turns (calls.c).

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use plimsoll_stats::{Sample, median_interval};

const ROUNDS: usize = 21;
/// Pairs of batches of 2000 calls in each round.
const BATCH_PAIRS: u64 = 150;
const CALLS_OF_A_PAIR: u64 = 2000;
const OPENS: u64 = 50_000;

fn main() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?;
    let library = build_library(&root)?;
    let folder = tempfile::tempdir_in("/dev/shm")?;
    let bench = Bench { root, library, folder: folder.path().to_path_buf() };
    let (added, calls) = (bench.compile("added")?, bench.compile("calls")?);
    println!(
        "CPU time added to a call, in ns, on tmpfs; each figure is a median over {ROUNDS} runs"
    );
    for (kind, threads) in [("strided", 1), ("strided", 2), ("random", 1)] {
        bench.writes(&added, kind, threads)?;
    }
    bench.opens(&calls)
}

fn build_library(root: &Path) -> Result<PathBuf> {
    let target = root.join("target/preload");
    let built = Command::new(option_env!("CARGO").unwrap_or("cargo"))
        .args(["build", "--release", "--quiet", "--manifest-path"])
        .arg(root.join("crates/preload/Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .status()?;
    ensure!(built.success(), "the preload library does not build");
    Ok(target.join("release/libplimsoll.so"))
}

struct Bench {
    root: PathBuf,
    library: PathBuf,
    folder: PathBuf,
}

/// How the library takes part in a run.
#[derive(Clone, Copy, PartialEq)]
enum Library {
    Absent,
    Off,
    Recording,
}

impl Bench {
    fn compile(&self, name: &str) -> Result<PathBuf> {
        let program = self.folder.join(name);
        let source = self.root.join(format!("tests/programs/{name}.c"));
        let compiled = Command::new("cc")
            .args(["-O2", "-pthread", "-o"])
            .arg(&program)
            .arg(source)
            .arg("-ldl")
            .status()?;
        ensure!(compiled.success(), "{name}.c does not compile");
        Ok(program)
    }

    fn writes(&self, program: &Path, kind: &str, threads: u64) -> Result<()> {
        let (pairs, threads_text) = (BATCH_PAIRS.to_string(), threads.to_string());
        let arguments = [kind, "DATA", &pairs, &threads_text];
        let calls = BATCH_PAIRS * CALLS_OF_A_PAIR * threads;
        let (mut recording, mut off, mut per_call) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let (added, bytes) = self.run(program, &arguments, Library::Recording)?;
            recording.push(added);
            per_call.push(bytes / calls as f64);
            off.push(self.run(program, &arguments, Library::Off)?.0);
        }
        let what = format!("{kind} pwrite, {threads} threads");
        report(&format!("{what}: added while recording"), recording)?;
        report(&format!("{what}: added while loaded but off"), off)?;
        report(&format!("{what}: bytes on disk for each call"), per_call)
    }

    fn opens(&self, program: &Path) -> Result<()> {
        let count = OPENS.to_string();
        let arguments = ["open", "DATA", &count, "1"];
        let (mut plain_times, mut recording) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let (plain, _) = self.run(program, &arguments, Library::Absent)?;
            let (recorded, _) = self.run(program, &arguments, Library::Recording)?;
            plain_times.push(plain);
            recording.push(recorded - plain);
        }
        report("open and close: without the library", plain_times)?;
        report("open and close: added while recording", recording)
    }

    /// The figure that the program prints, and the bytes that were recorded.
    fn run(&self, program: &Path, arguments: &[&str], library: Library) -> Result<(f64, f64)> {
        let (data, directory) = (self.folder.join("data"), self.folder.join("recording"));
        let mut command = Command::new(program);
        command.args(
            arguments.iter().map(|it| if *it == "DATA" { data.as_os_str() } else { it.as_ref() }),
        );
        if library != Library::Absent {
            command.env("LD_PRELOAD", &self.library);
        }
        if library == Library::Recording {
            std::fs::create_dir(&directory)?;
            command.env("PLIMSOLL_RECORD_DIR", &directory);
        }
        let output = command.output()?;
        ensure!(output.status.success(), "{command:?} failed");
        let mut bytes = 0.0;
        if library == Library::Recording {
            bytes = bytes_below(&directory)?;
            std::fs::remove_dir_all(&directory)?;
        }
        let figure = String::from_utf8_lossy(&output.stdout).trim().parse().context("no figure")?;
        Ok((figure, bytes))
    }
}

/// Bytes of all files of a recording, blocks that are allocated ahead included.
fn bytes_below(directory: &Path) -> Result<f64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(directory)? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes as f64)
}

fn report(what: &str, values: Vec<f64>) -> Result<()> {
    let n = values.len();
    let sample = Sample::new(values)?;
    let interval = median_interval(&sample, 0.95)?;
    println!(
        "{what:52}  {:8.2}  (95 % interval {:.2} to {:.2}, n = {n})",
        sample.median(),
        interval.low,
        interval.high
    );
    Ok(())
}
