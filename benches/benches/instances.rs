//! Ten thousand instances in one experiment: does it slow down, does its memory grow?
//!
//! The bursts are of 4 KiB in memory, so that what is measured is the coordinator, not storage. The time
//! of each tenth of the experiment is held against that of the first, and the coordinator's
//! memory is looked at while it runs.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use plimsoll_measures::Results;

const INSTANCES: usize = 10_000;

fn main() -> Result<()> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/plimsoll");
    ensure!(program.exists(), "build the program first: make build");
    let memory = tempfile::tempdir_in("/dev/shm")?;
    let results = memory.path().join("results");
    let target = memory.path().join("target");
    std::fs::create_dir(&target)?;
    let mut child = Command::new(program)
        .args(["bench", "many-pairs", "--burst", "4KiB", "--transfer", "4KiB", "--values", "1"])
        .args(["--rounds", &INSTANCES.to_string(), "--rounds-max", &INSTANCES.to_string()])
        .arg("--targets")
        .arg(&target)
        .arg("-o")
        .arg(&results)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let resident = resident_while_running(&mut child)?;
    ensure!(child.wait()?.success(), "the experiment failed");
    report_memory(&resident);
    report_time(&results)
}

/// KiB of the coordinator, looked at ten times a second until it ends.
fn resident_while_running(child: &mut Child) -> Result<Vec<f64>> {
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut seen = Vec::new();
    while child.try_wait()?.is_none() {
        if let Some(kib) = std::fs::read_to_string(&status).ok().and_then(|text| resident(&text)) {
            seen.push(kib);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(seen)
}

fn resident(status: &str) -> Option<f64> {
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn report_memory(resident: &[f64]) {
    let most = |part: &[f64]| part.iter().copied().fold(f64::NAN, f64::max);
    let at = |share: f64| (resident.len() as f64 * share) as usize;
    let (first, ninth) = (most(&resident[..at(0.1)]), most(&resident[at(0.8)..at(0.9)]));
    println!("memory of the coordinator: ninth tenth over first  {:.3}", ninth / first);
    println!(
        "most memory, when the tables are written at the end: {:.1} MiB ({} looks)",
        most(resident) / 1024.0,
        resident.len()
    );
}

fn report_time(results: &Path) -> Result<()> {
    let starts: Vec<u64> = Results::open(results)?
        .instances()?
        .map(|instance| Ok(instance?.pairs.first().context("an instance without pairs")?.start))
        .collect::<Result<_>>()?;
    ensure!(starts.len() == INSTANCES, "{} instances", starts.len());
    let tenth = INSTANCES / 10;
    let time = |part: &[u64]| part[part.len() - 1].saturating_sub(part[0]) as f64;
    let first = time(&starts[..tenth]);
    for (number, part) in starts.chunks(tenth).enumerate().skip(1) {
        println!("time of tenth {:2} over the first  {:.3}", number + 1, time(part) / first);
    }
    let each = first / 1e3 / tenth as f64;
    println!("an instance of one 4 KiB burst takes {each:.0} us in all");
    Ok(())
}
