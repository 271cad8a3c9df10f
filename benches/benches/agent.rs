//! What the monitor itself costs: a scrape of 1,000 targets' text, the share of a core at 20 targets a second with store and
//! utilization, and its memory. The kernel's own formatting of the text is not in it: the texts are files.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Instant, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use plimsoll_benches::lustre_text::{brw_stats, stats};
use plimsoll_benches::{PAIRS, cpu_seconds, process_cpu_seconds};
use plimsoll_history::Writer;
use plimsoll_machine::Machine;
use plimsoll_monitor::{Monitor, Settings};
use plimsoll_stats::Sample;
use plimsoll_utilization::{Recent, Scope, TargetCosts};

/// Looks at a machine of 20 targets whose memory and time are measured: two minutes' worth.
const LOOKS: u64 = 120;
const FEW: u64 = 20;
const MANY: u64 = 1000;

/// This program as the monitor, with a place to work in.
const AS_MONITOR: &str = "--as-monitor";

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some(AS_MONITOR) {
        return monitor(Path::new(&arguments.next().context("no place")?));
    }
    let folder = tempfile::tempdir()?;
    scrape_many(folder.path())?;
    let place = folder.path().join("few");
    write_tree(&place, FEW, 0)?;
    let program = std::env::current_exe()?;
    let status = Command::new(program).arg(AS_MONITOR).arg(&place).status()?;
    ensure!(status.success(), "the monitor failed");
    Ok(())
}

/// Texts of a server on ldiskfs.
fn write_tree(root: &Path, targets: u64, seed: u64) -> Result<()> {
    for target in 0..targets {
        let name = format!("bench-OST{target:04x}");
        let requests = root.join("proc/fs/lustre/obdfilter").join(&name);
        let disk = root.join("sys/kernel/debug/lustre/osd-ldiskfs").join(&name);
        fs::create_dir_all(&requests)?;
        fs::create_dir_all(&disk)?;
        fs::write(requests.join("stats"), stats(seed + target))?;
        fs::write(disk.join("brw_stats"), brw_stats(seed + target))?;
        fs::write(disk.join("kbytesfree"), format!("{}\n", 3_875_693_364 - target - seed))?;
    }
    Ok(())
}

fn open(root: &Path) -> Monitor {
    Monitor::open(Settings {
        machine: Machine::at(root, ""),
        server: "here".into(),
        cluster: String::new(),
        names: Default::default(),
        jobs_most: 0,
        lctl: None,
    })
}

fn scrape_many(folder: &Path) -> Result<()> {
    let root = folder.join("many");
    write_tree(&root, MANY, 0)?;
    let mut monitor = open(&root);
    let values: usize = monitor.scrape(1).iter().map(|it| it.values.len()).sum();
    let megabytes = MANY as f64 * (stats(0).len() + brw_stats(0).len()) as f64 / 1e6;
    println!("{MANY} targets: {megabytes:.1} MB of text, {values} numbers; asked: under 20 ms");
    let (mut walls, mut processors) = (Vec::new(), Vec::new());
    for now in 0..PAIRS as u64 {
        let (begun, cpu) = (Instant::now(), cpu_seconds());
        monitor.scrape(2 + now);
        walls.push(1e3 * begun.elapsed().as_secs_f64());
        processors.push(1e3 * (cpu_seconds() - cpu));
    }
    ensure!(monitor.missed() == 0 && monitor.unknowns().total() == 0, "not all was read");
    show("a scrape, ms of a core", processors)?;
    show("a scrape, ms until it is done", walls)
}

fn show(what: &str, values: Vec<f64>) -> Result<()> {
    let n = values.len();
    let sample = Sample::new(values)?;
    let (low, high) = (sample.quantile(0.25)?, sample.quantile(0.75)?);
    println!("  {what}: {:.2} ({low:.2} to {high:.2}, n = {n})", sample.median());
    Ok(())
}

/// Does what `plimsoll monitor --store --listen` does each second, one look after the other.
fn monitor(root: &Path) -> Result<()> {
    let mut monitor = open(root);
    let mut recent = Recent::new(Scope { windows: 0, jobs: false });
    let mut store = Writer::open(&root.join("store"), plimsoll_history::Settings::default())?;
    let begun = UNIX_EPOCH.elapsed()?.as_nanos() as u64;
    let mut parts = [("reading", 0.0), ("utilization", 0.0), ("store", 0.0)];
    let mut samples = 0;
    for second in 0..LOOKS {
        write_tree(root, FEW, second * 1_000_000)?;
        let now = begun + second * 1_000_000_000;
        let mut start = process_cpu_seconds();
        let mut lap = |part: usize| {
            let now = process_cpu_seconds();
            parts[part].1 += now - std::mem::replace(&mut start, now);
        };
        if second % 10 == 0 {
            monitor.look();
        }
        let readings = monitor.scrape(now);
        lap(0);
        recent.take(readings, now / 1_000_000, &|_| TargetCosts::ASSUMED);
        lap(1);
        samples += store.append(readings)?.samples;
        store.maintain(now / 1_000_000)?;
        lap(2);
    }
    let mut start = process_cpu_seconds();
    store.seal()?;
    parts[2].1 += process_cpu_seconds() - std::mem::take(&mut start);
    println!("{FEW} targets, a look a second; all {} numbers of a look change", samples / LOOKS);
    for (part, cpu) in parts {
        println!("  share of a core, {part}: {:.3} %", 100.0 * cpu / LOOKS as f64);
    }
    let share = 100.0 * parts.iter().map(|it| it.1).sum::<f64>() / LOOKS as f64;
    println!("  share of a core: {share:.3} % (mean of {LOOKS} looks); asked: under 0.5 %");
    let status = fs::read_to_string("/proc/self/status")?;
    let memory = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = memory.and_then(|it| it.trim().strip_suffix("kB")).context("no VmHWM")?;
    let mib = kib.trim().parse::<f64>()? / 1024.0;
    println!("  most memory (VmHWM): {mib:.1} MiB; asked: under 32 MiB");
    Ok(())
}
