//! What recording costs a program: CPU time added to each call, bytes on disk for each event.
//! With the library recording, with it loaded but off, and without it, in turn.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use plimsoll_stats::{Sample, median_interval};

const ROUNDS: usize = 15;
const CALLS: u64 = 400_000;

fn main() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?;
    let library = build_library(&root)?;
    let folder = tempfile::tempdir_in("/dev/shm")?;
    let program = folder.path().join("calls");
    let source = root.join("tests/programs/calls.c");
    let compiled =
        Command::new("cc").args(["-O2", "-pthread", "-o"]).arg(&program).arg(source).status()?;
    ensure!(compiled.success(), "calls.c does not compile");
    let bench = Bench { library, folder: folder.path().to_path_buf(), program };
    println!("CPU time added to a call, in ns, over {ROUNDS} rounds of {CALLS} calls on tmpfs");
    for (kind, threads, calls) in
        [("strided", 1, CALLS), ("strided", 2, CALLS), ("random", 1, CALLS), ("open", 1, CALLS / 8)]
    {
        bench.measure(kind, threads, calls)?;
    }
    Ok(())
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
    library: PathBuf,
    folder: PathBuf,
    program: PathBuf,
}

impl Bench {
    fn measure(&self, kind: &str, threads: u64, calls: u64) -> Result<()> {
        let (mut recording, mut off, mut per_event) = (Vec::new(), Vec::new(), Vec::new());
        let mut plain_times = Vec::new();
        for round in 0..ROUNDS {
            let directory = self.folder.join(format!("rec{round}"));
            std::fs::create_dir(&directory)?;
            let plain = self.run(kind, threads, calls, None, false)?;
            let recorded = self.run(kind, threads, calls, Some(&directory), true)?;
            let loaded = self.run(kind, threads, calls, None, true)?;
            recording.push(recorded - plain);
            off.push(loaded - plain);
            plain_times.push(plain);
            per_event.push(bytes_below(&directory)? / (calls * threads) as f64);
            std::fs::remove_dir_all(&directory)?;
        }
        let what = format!("{kind}, {threads} threads");
        report(&format!("{what}: a call without the library"), plain_times)?;
        report(&format!("{what}: added while recording"), recording)?;
        report(&format!("{what}: added while loaded but off"), off)?;
        report(&format!("{what}: bytes on disk for each call"), per_event)
    }

    fn run(
        &self,
        kind: &str,
        threads: u64,
        calls: u64,
        directory: Option<&Path>,
        load: bool,
    ) -> Result<f64> {
        let mut command = Command::new(&self.program);
        command.arg(kind).arg(self.folder.join("data"));
        command.args([calls.to_string(), threads.to_string()]);
        if load {
            command.env("LD_PRELOAD", &self.library);
        }
        if let Some(directory) = directory {
            command.env("PLIMSOLL_RECORD_DIR", directory);
        }
        let output = command.output()?;
        ensure!(output.status.success(), "{command:?} failed");
        String::from_utf8_lossy(&output.stdout).trim().parse().context("no figure")
    }
}

/// Bytes of the chunks in use; blocks that are allocated ahead are not events.
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
