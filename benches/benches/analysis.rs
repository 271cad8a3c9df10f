//! A long history of 248 targets at 5 s, reads and writes: how many samples of it are analysed in a second of two processors, beside numpy and polars that do the same kernels to one day
//! of the same store in the same run, how much memory that takes, and what four processes at once, each with its part, cost beside one run.
//!
//! PLIMSOLL_BENCH_DAYS says how many days (30; 365 are 3.1 billion samples, about 12 GB on disk), PLIMSOLL_BENCH_STORE keeps the store there for the next time, and PYTHON is one that has
//! numpy and polars.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use plimsoll_analyze::{Analysis, Frame, Merging, Options, PartialFile, Wanted, summarize};
use plimsoll_benches::{
    Took, forget_peak_memory, interleaved, peak_memory_mib, process_cpu_seconds, report,
};
use plimsoll_history::{Day, Store};
use plimsoll_synth::{Plan, synthesize};

const TARGETS: u32 = 248;
const STEP_SECONDS: u32 = 5;
/// Samples of a day: reads and writes.
const OF_DAY: f64 = (TARGETS * 2 * 86_400 / STEP_SECONDS) as f64;
/// A sample takes less than this on disk.
const BYTES_OF_SAMPLE: u64 = 4;
const THREADS: usize = 2;
const PARTS: usize = 4;
const PAIRS: usize = 7;
/// Of a long history one pair takes minutes.
const PAIRS_OF_LONG: usize = 3;
const LONG_DAYS: usize = 60;

/// Says to a process of this program which part is its own; its arguments are the store and the file that the part goes to.
const PART: &str = "PLIMSOLL_BENCH_PART";

fn main() -> Result<()> {
    if let Ok(number) = env::var(PART) {
        return one_part(number.parse()?);
    }
    let days: u32 = env::var("PLIMSOLL_BENCH_DAYS").map_or(Ok(30), |it| it.parse())?;
    let folder = tempfile::tempdir_in("/var/tmp")?;
    let kept = env::var_os("PLIMSOLL_BENCH_STORE").map(PathBuf::from);
    let path = kept.unwrap_or_else(|| folder.path().join("store"));
    if !path.exists() {
        let (made, ()) = Took::of(|| make(&path, days))?;
        println!("made the store in {made}");
        // Where the kernel does not let us, the peak is that of the making, too.
        let _ = forget_peak_memory();
    }
    let store = Store::open(&path)?;
    let frame = Frame::of(&store, &Options::default())?;
    println!("{} days of {TARGETS} targets at {STEP_SECONDS} s", frame.days.len());
    whole(&store, &frame)?;
    rivals(&store, &frame, &path)?;
    parts(&store, &frame, &path, folder.path())
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

fn analysed(store: &Store, options: &Options, threads: usize) -> Result<()> {
    let frame = Frame::of(store, options)?;
    let whole = summarize(store, &frame, &frame.days, threads)?.whole(&frame);
    std::hint::black_box(Analysis::of(&frame, &whole));
    Ok(())
}

/// The complete analysis: reading, summing, and what follows from it.
fn whole(store: &Store, frame: &Frame) -> Result<()> {
    let millions = OF_DAY * frame.days.len() as f64 / 1e6;
    let (took, ()) = Took::of(|| analysed(store, &Options::default(), THREADS))?;
    println!(
        "complete analysis in {took}: {:.1} million samples a second, {:.1} a second of a processor; {} MiB at most",
        millions / took.wall,
        millions / took.processors,
        peak_memory_mib()?
    );
    Ok(())
}

/// One day beside numpy and polars: processor time over theirs.
fn rivals(store: &Store, frame: &Frame, path: &Path) -> Result<()> {
    let day = frame.days[frame.days.len() / 2];
    let options =
        Options { since: Some(day.start()), until: Some(day.end()), ..Options::default() };
    let ours = || Took::of(|| analysed(store, &options, 1)).map_or(f64::NAN, |it| it.0.processors);
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

/// Four processes at once on two processors, each with its part, and one that joins them, over one run.
fn parts(store: &Store, frame: &Frame, path: &Path, folder: &Path) -> Result<()> {
    let pairs = if frame.days.len() > LONG_DAYS { PAIRS_OF_LONG } else { PAIRS };
    let (mut one, mut four) = (Vec::new(), Vec::new());
    let mut peak = 0;
    let embedded = || Took::of(|| analysed(store, &Options::default(), THREADS));
    let walls = interleaved(
        pairs,
        || Took::noted(divided(path, folder, &mut peak), &mut four),
        || Took::noted(embedded().map(|it| it.0), &mut one),
    );
    for (what, all) in [("one run", &one), ("four parts", &four)] {
        let all: Vec<String> = all.iter().map(Took::to_string).collect();
        println!("{what}: {}", all.join("; "));
    }
    println!("most memory of a part: {peak} MiB");
    report("four parts at once, time over one run", walls);
    let processors = four.iter().zip(&one).map(|(four, one)| four.processors / one.processors);
    report("the same of processors", processors.collect());
    Ok(())
}

/// Returns what four processes and the joining take. `peak` is the most memory of one of them so far, in MiB.
fn divided(store: &Path, folder: &Path, peak: &mut u64) -> Result<Took> {
    let file = |number: usize| folder.join(format!("part{number}"));
    let (joined, of_parts) = Took::of(|| {
        let mut of_parts = 0.0;
        let begin = |number: usize| {
            let mut process = Command::new(env::current_exe()?);
            process.env(PART, number.to_string()).arg(store).arg(file(number));
            Ok(process.stdout(std::process::Stdio::piped()).spawn()?)
        };
        let running: Vec<_> = (0..PARTS).map(begin).collect::<Result<_>>()?;
        for process in running {
            let output = process.wait_with_output()?;
            ensure!(output.status.success(), "a part failed");
            let told = String::from_utf8(output.stdout)?;
            let (processors, mib) = told.trim().split_once(' ').context("a part told nothing")?;
            of_parts += processors.parse::<f64>()?;
            *peak = mib.parse::<u64>()?.max(*peak);
        }
        let mut merging = Merging::default();
        let read =
            |number| -> Result<_> { Ok(PartialFile::from_bytes(&std::fs::read(file(number))?)?) };
        merging.add_all((0..PARTS).map(read), |_, error| error.into())?;
        let merged = merging.finish(&Options::default())?;
        std::hint::black_box(Analysis::of(&merged.frame, &merged.whole));
        Ok(of_parts)
    })?;
    Ok(Took { processors: joined.processors + of_parts, ..joined })
}

/// Works out one part, as a task of a job does.
fn one_part(number: usize) -> Result<()> {
    let mut arguments = env::args_os().skip(1).map(PathBuf::from);
    let (path, file) = arguments.next().zip(arguments.next()).context("no store or no file")?;
    let store = Store::open(&path)?;
    let frame = Frame::of(&store, &Options::default())?;
    // As the one run, which reads minutes only.
    let wanted = Wanted { costs: None, jobs: false };
    let part = PartialFile::read(&store, "made", &frame, (number, PARTS), &wanted, 1)?;
    std::fs::write(file, part.to_bytes())?;
    println!("{} {}", process_cpu_seconds(), peak_memory_mib()?);
    Ok(())
}
