//! Does a limit of the test bed hold, for direct I/O and for fsync alike, and does it leave
//! the other targets alone? Needs root, loop devices and cgroup v1.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use plimsoll_benches::{interleaved, report, seconds};
use plimsoll_domain::Bytes;
use plimsoll_testbed::{Direction, DownOptions, Testbed, UpOptions};

const LIMIT_MIB: f64 = 20.0;
const BURST_MIB: u32 = 60;
const PAIRS: usize = 7;

fn main() -> Result<()> {
    let base = tempfile::tempdir_in("/var/tmp")?;
    let bed = Testbed::in_base(base.path(), "bench")?;
    let made = bed.up(&UpOptions::new(4, Bytes::new(160 << 20)), &mut |_| {})?;
    let result = if made.lacking.is_empty() { measure(&bed) } else { skip() };
    bed.down(DownOptions::default())?;
    result
}

fn skip() -> Result<()> {
    println!("SKIPPED: the limits of the test bed need root, loop devices and cgroup v1");
    Ok(())
}

fn measure(bed: &Testbed) -> Result<()> {
    let targets = bed.list()?.targets;
    let (slow, other) = (&targets[2], &targets[0]);
    let limit = format!("{LIMIT_MIB}MiB/s").parse()?;
    println!("a target limited to {LIMIT_MIB} MiB/s, bursts of {BURST_MIB} MiB by dd");
    for (name, flag) in [("dd oflag=direct", "oflag=direct"), ("dd conv=fsync", "conv=fsync")] {
        bed.slow(slow.name, limit, Direction::Both)?;
        let held: Result<Vec<f64>> =
            (0..PAIRS).map(|_| Ok(rate(&slow.path, flag)? / LIMIT_MIB)).collect();
        report(&format!("{name}: rate of the slow target over its limit"), held?);
        // The same target with its neighbour limited, and with nobody limited.
        let beside = interleaved(
            PAIRS,
            || with_limit(bed, true).and_then(|()| rate(&other.path, flag)).unwrap_or(f64::NAN),
            || with_limit(bed, false).and_then(|()| rate(&other.path, flag)).unwrap_or(f64::NAN),
        );
        report(&format!("{name}: another target, neighbour slow over not"), beside);
    }
    Ok(())
}

fn with_limit(bed: &Testbed, limited: bool) -> Result<()> {
    let target = "t2".parse()?;
    if limited {
        bed.slow(target, format!("{LIMIT_MIB}MiB/s").parse()?, Direction::Both)?
    } else {
        bed.normal(target)?
    };
    Ok(())
}

/// MiB/s of one burst.
fn rate(target: &Path, flag: &str) -> Result<f64> {
    let file: PathBuf = target.join("burst");
    let mut command = Command::new("dd");
    command.args(["if=/dev/zero", "bs=1M", &format!("count={BURST_MIB}"), flag, "status=none"]);
    command.arg(format!("of={}", file.display()));
    let mut status = None;
    let took = seconds(|| status = command.status().ok());
    let _ = std::fs::remove_file(&file);
    status.filter(|status| status.success()).context("dd failed")?;
    Ok(f64::from(BURST_MIB) / took)
}
