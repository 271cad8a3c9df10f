//! How fast recordings are analysed: `throughput [EVENTS] [PROCESSES] [THREADS] [PATTERN]`.
//!
//! Writes a recording to /dev/shm (or the temporary directory), analyses it, and prints events
//! per second, processor time and the peak of resident memory. Patterns: `strided`, `random`, `mpi`, `files`.

#[path = "common/peak_memory.rs"]
mod peak_memory;
#[path = "common/recording.rs"]
mod recording;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use plimsoll_explain::{Options, Recording, analyze, findings};
fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| arguments.next().map_or(Ok(default), |text| text.parse());
    let (events, processes, threads) = (number(20_000_000)?, number(8)?, number(2)?);
    let pattern = arguments.next().unwrap_or_else(|| "strided".into());
    let directory = scratch()?;
    let per_process = events / processes.max(1);
    for rank in 0..processes as u32 {
        recording::write(&directory, rank, processes as u32, per_process, &pattern)?;
    }
    let bytes: u64 = std::fs::read_dir(&directory)?
        .filter_map(|entry| entry.ok()?.metadata().ok())
        .map(|metadata| metadata.len())
        .sum();
    peak_memory::forget();

    let (begin, cpu_before) = (Instant::now(), cpu_seconds());
    let recording = Recording::open(&directory)?;
    let opened = begin.elapsed().as_secs_f64();
    let options = Options { threads: threads as usize, ..Options::default() };
    let analysis = analyze(&recording, &options)?;
    let found = findings(&analysis).len();
    let seconds = begin.elapsed().as_secs_f64();
    let cpu = cpu_seconds() - cpu_before;
    let millions = analysis.events as f64 / 1e6;
    println!(
        "{pattern}: {millions} M events, {} MiB, {processes} processes, {threads} threads: \
         {seconds:.2} s (open {opened:.2} s), {:.1} M events/s; CPU {cpu:.2} s, {:.1} M events/s \
         and core; peak RSS {} MiB, {found} findings",
        bytes >> 20,
        millions / seconds,
        millions / cpu,
        peak_memory::kib() >> 10,
    );
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}

fn scratch() -> Result<PathBuf, Box<dyn Error>> {
    let shm = Path::new("/dev/shm");
    let base = if shm.is_dir() { shm.to_path_buf() } else { std::env::temp_dir() };
    let directory = base.join(format!("plimsoll-throughput-{}", std::process::id()));
    std::fs::create_dir(&directory)?;
    Ok(directory)
}

/// Processor time of all threads of this process, to 10 ms.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let behind_name = stat.rsplit(')').next().unwrap_or_default();
    let fields = behind_name.split_whitespace().skip(11).take(2);
    fields.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}
