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
    bursts(program, place, directory)?;
    for rw in ["randread", "randwrite"] {
        random(program, place, directory, rw, direct)?;
    }
    Ok(())
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
    against_fio(program, &work, &format!("bursts {place}"), 2 * PAIRS, &[]);
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
        // The engine registers memory and files with the kernel; fio does when told to.
        let registered = ["--fixedbufs=1", "--registerfiles=1"];
        let what = format!("{rw} {place}, registered");
        against_fio(program, &work, &what, RANDOM_PAIRS, &registered);
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
