//! A long history of 248 targets at 5 s, reads and writes: how many samples of it are analysed in a second of two processors, beside numpy and polars that do the same kernels to one day
//! of the same store in the same run, how much memory that takes, and what four parts cost beside one run.
//!
//! PLIMSOLL_BENCH_DAYS says how many days (30; 365 are 3.1 billion samples, about 8 GB on disk), PLIMSOLL_BENCH_STORE keeps the store there for the next time, and PYTHON is one that has
//! numpy and polars.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use plimsoll_analyze::{Analysis, Frame, Merging, Options, PartialFile, summarize};
use plimsoll_benches::{interleaved, report};
use plimsoll_history::{Day, Store};
use plimsoll_synth::{Plan, synthesize};
use rustix::time::{ClockId, clock_gettime};

const TARGETS: u32 = 248;
const STEP_SECONDS: u32 = 5;
/// Samples of a day: reads and writes.
const OF_DAY: f64 = (TARGETS * 2 * 86_400 / STEP_SECONDS) as f64;
/// A sample takes less than this on disk.
const BYTES_OF_SAMPLE: u64 = 4;
const THREADS: usize = 2;
const PARTS: usize = 4;
const PAIRS: usize = 7;

fn main() -> Result<()> {
    let days: u32 = env::var("PLIMSOLL_BENCH_DAYS").map_or(Ok(30), |it| it.parse())?;
    let folder = tempfile::tempdir_in("/var/tmp")?;
    let kept = env::var_os("PLIMSOLL_BENCH_STORE").map(PathBuf::from);
    let path = kept.unwrap_or_else(|| folder.path().join("store"));
    if !path.exists() {
        make(&path, days)?;
    }
    let store = Store::open(&path)?;
    let frame = Frame::of(&store, &Options::default())?;
    println!("{} days of {TARGETS} targets at {STEP_SECONDS} s", frame.days.len());
    whole(&store, &frame)?;
    rivals(&store, &frame, &path)?;
    parts(&store, &frame)
}

fn make(path: &Path, days: u32) -> Result<()> {
    let needed = u64::from(days) * OF_DAY as u64 * BYTES_OF_SAMPLE;
    let beside = path.parent().context("a store is in a directory")?;
    let room = rustix::fs::statvfs(beside)?;
    let room = room.f_bavail * room.f_frsize;
    ensure!(room > needed + (4 << 30), "{room} bytes are free, the store takes {needed} at most");
    let plan = Plan {
        seed: 7,
        first_day: Day::ending_at(1_735_689_600_001),
        days,
        targets: TARGETS,
        step_seconds: STEP_SECONDS,
        is_planted: true,
    };
    synthesize(path, &plan, |_| {})?;
    Ok(())
}

/// Processor time of all threads of this process, in seconds. Others use the processors, too.
fn processor() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

fn taken(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let before = processor();
    work()?;
    Ok(processor() - before)
}

fn analysed(store: &Store, options: &Options, threads: usize) -> Result<()> {
    let frame = Frame::of(store, options)?;
    let whole = summarize(store, &frame, &frame.days, threads)?.whole(&frame);
    std::hint::black_box(Analysis::of(&frame, &whole));
    Ok(())
}

/// The complete analysis: reading, summing, and what follows from it.
fn whole(store: &Store, frame: &Frame) -> Result<()> {
    let samples = OF_DAY * frame.days.len() as f64;
    let begun = std::time::Instant::now();
    let seconds = taken(|| analysed(store, &Options::default(), THREADS))?;
    println!(
        "complete analysis: {:.1} million samples a second of a processor, {:.1} on two; {:.1} s on the wall, {} MiB at most",
        samples / seconds / 1e6,
        2.0 * samples / seconds / 1e6,
        begun.elapsed().as_secs_f64(),
        peak_memory()?
    );
    Ok(())
}

/// One day beside numpy and polars: processor time over theirs.
fn rivals(store: &Store, frame: &Frame, path: &Path) -> Result<()> {
    let day = frame.days[frame.days.len() / 2];
    let options =
        Options { since: Some(day.start()), until: Some(day.end()), ..Options::default() };
    let ours = || taken(|| analysed(store, &options, 1)).unwrap_or(f64::NAN);
    for rival in ["numpy", "polars"] {
        let theirs = || theirs(rival, path, day).unwrap_or(f64::NAN);
        if theirs().is_nan() {
            println!("SKIPPED: {rival} needs a Python that has it (PYTHON)");
            continue;
        }
        report(&format!("a day, processor time over {rival}'s"), interleaved(PAIRS, ours, theirs));
    }
    Ok(())
}

fn theirs(rival: &str, path: &Path, day: Day) -> Result<f64> {
    let python = env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("rivals/analysis.py");
    let output =
        Command::new(python).arg(script).arg(rival).arg(path.join(day.directory())).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

/// Four parts as four tasks on two processors, through files, over one run.
fn parts(store: &Store, frame: &Frame) -> Result<()> {
    let embedded = || taken(|| analysed(store, &Options::default(), THREADS)).unwrap_or(f64::NAN);
    let divided = || {
        taken(|| {
            let mut merging = Merging::default();
            for number in 0..PARTS {
                // A task looks at the store for itself.
                let frame = Frame::of(store, &frame.options)?;
                let part = PartialFile::read(store, "made", &frame, (number, PARTS), 1)?;
                merging.add(PartialFile::from_bytes(&part.to_bytes())?)?;
            }
            let (_, frame, whole) = merging.finish(&Options::default())?;
            std::hint::black_box(Analysis::of(&frame, &whole));
            Ok(())
        })
        .unwrap_or(f64::NAN)
    };
    let pairs = if frame.days.len() > 60 { 1 } else { PAIRS };
    report("four parts, processor time over one run", interleaved(pairs, divided, embedded));
    Ok(())
}

fn peak_memory() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: u64 = line.context("no peak memory")?.trim().trim_end_matches(" kB").parse()?;
    Ok(kib / 1024)
}
