//! Does the engine get out of the storage what fio and IOR get, and for how much CPU?
//!
//! Bursts: 4 processes of 16 MiB in calls of 1 MiB, ended by fsync. Random: 4 KiB by O_DIRECT with
//! 16 in flight. In memory (through the cache, which is all there is) and on an unlimited target of
//! a test bed. Needs fio; IOR is taken from the path or the variable IOR.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use anyhow::Result;
use plimsoll_benches::rivals::{Done, Work, build_engine, engine, find_ior, fio, ior};
use plimsoll_benches::{PAIRS, interleaved, report};
use plimsoll_domain::Bytes;
use plimsoll_testbed::{DownOptions, Testbed, UpOptions};

const MIB: u64 = 1 << 20;
/// Bursts between two looks at the clock, as fio's clock has milliseconds.
const LOOPS: u32 = 16;
/// A few percent have to be told from the noise of a disk.
const BURST_PAIRS: usize = 8 * PAIRS;
/// Random transfers meet the kernel's own threads on busy processors: more pairs than elsewhere.
const RANDOM_PAIRS: usize = 4 * PAIRS;

fn main() -> Result<()> {
    if fio_is_missing() {
        println!("SKIPPED: bursts are held against fio, which is not installed");
        return Ok(());
    }
    let program = build_engine()?;
    let memory = tempfile::tempdir_in("/dev/shm")?;
    measure(&program, "in memory", memory.path(), false)?;
    let base = tempfile::tempdir_in("/var/tmp")?;
    let bed = Testbed::in_base(base.path(), "bursts")?;
    let made = bed.up(&UpOptions::new(1, Bytes::new(512 * MIB)), &mut |_| {})?;
    if !made.lacking.is_empty() {
        println!("the test bed is a directory here, which needs root and loop devices to be more");
    }
    let directory = made.listing.targets[0].path.clone();
    let result = measure(&program, "on a test bed", &directory, true);
    bed.down(DownOptions::default())?;
    result
}

fn fio_is_missing() -> bool {
    std::process::Command::new("fio").arg("--version").output().is_err()
}

fn measure(program: &Path, place: &str, directory: &Path, direct: bool) -> Result<()> {
    if is_wanted("bursts") {
        bursts(program, place, directory)?;
    }
    for rw in ["randread", "randwrite"].into_iter().filter(|it| is_wanted(it)) {
        random(program, place, directory, rw, direct)?;
    }
    Ok(())
}

/// `cargo bench --bench bursts -- randread` measures only that.
fn is_wanted(what: &str) -> bool {
    let mut words = std::env::args().skip(1).filter(|it| !it.starts_with("--")).peekable();
    words.peek().is_none() || words.any(|word| what.contains(&word))
}

fn bursts(program: &Path, place: &str, directory: &Path) -> Result<()> {
    let work = Work {
        directory: directory.to_path_buf(),
        rw: "write",
        transfer: MIB,
        size: 16 * MIB,
        processes: 4,
        loops: LOOPS,
        direct: false,
        depth: 1,
    };
    engine(program, &work)?;
    against_fio(program, &work, &format!("bursts {place}"), BURST_PAIRS, &[]);
    let Some(rival) = find_ior() else {
        println!("SKIPPED: no comparison with IOR, which is neither in the path nor named by IOR");
        return Ok(());
    };
    let once = Work { loops: 1, ..work };
    let ratios = interleaved(
        2 * PAIRS,
        || engine_times(program, &once, LOOPS).unwrap_or(f64::NAN),
        || ior(&rival, &once, LOOPS).unwrap_or(f64::NAN),
    );
    report(&format!("bursts {place}: bandwidth over IOR's"), ratios);
    Ok(())
}

/// Bytes per second of separate bursts, each with a start of its own, as IOR does them.
fn engine_times(program: &Path, once: &Work, times: u32) -> Result<f64> {
    let bandwidths: Result<Vec<f64>> =
        (0..times).map(|_| Ok(engine(program, once)?.from_release)).collect();
    let seconds_per_byte: f64 = bandwidths?.iter().map(|it| 1.0 / it).sum();
    Ok(f64::from(times) / seconds_per_byte)
}

fn random(
    program: &Path,
    place: &str,
    directory: &Path,
    rw: &'static str,
    direct: bool,
) -> Result<()> {
    let work = Work {
        directory: PathBuf::from(directory),
        rw,
        transfer: 4096,
        size: 64 * MIB,
        processes: 1,
        loops: 1,
        direct,
        depth: 16,
    };
    // The file is there and whole before either side reads or overwrites it.
    engine(program, &Work { rw: "write", transfer: MIB, depth: 1, ..work.clone() })?;
    against_fio(program, &work, &format!("{rw} {place}"), RANDOM_PAIRS, &[]);
    if direct {
        // What the engine does without being told: memory and files registered with the kernel,
        // and everything that is ready submitted and taken in one call.
        let tuned = [
            "--fixedbufs=1",
            "--registerfiles=1",
            "--iodepth_batch_submit=16",
            "--iodepth_batch_complete_min=1",
            "--iodepth_batch_complete_max=16",
        ];
        let what = format!("{rw} {place}, fio tuned");
        against_fio(program, &work, &what, RANDOM_PAIRS, &tuned);
    }
    Ok(())
}

fn against_fio(program: &Path, work: &Work, what: &str, pairs: usize, options: &[&str]) {
    let (ours, theirs) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()));
    let bandwidth = |done: Result<Done>, costs: &RefCell<Vec<f64>>| {
        let (bandwidth, cost) = match done {
            Ok(done) => (done.bandwidth, done.cpu_per_transfer),
            Err(error) => {
                eprintln!("{error:#}");
                (f64::NAN, f64::NAN)
            }
        };
        costs.borrow_mut().push(cost);
        bandwidth
    };
    let ratios = interleaved(
        pairs,
        || bandwidth(engine(program, work), &ours),
        || bandwidth(fio(work, options), &theirs),
    );
    report(&format!("{what}: bandwidth over fio's"), ratios);
    // Each side ran once in each pair.
    let costs = ours.borrow().iter().zip(theirs.borrow().iter()).map(|(us, it)| us / it).collect();
    report(&format!("{what}: CPU over fio's"), costs);
}
