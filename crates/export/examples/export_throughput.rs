//! How fast recordings are exported: `export_throughput [EVENTS] [PROCESSES] [PATTERN] [DIRECTORY]`.
//!
//! Writes a recording below the directory (/dev/shm unless said), exports it to both formats,
//! and prints calls per second, bytes per call and the peak of resident memory. Patterns:
//! `strided`, `random`, `mpi`, `files`. The exports stay if a directory is said.

#[path = "../../explain/examples/common/peak_memory.rs"]
mod peak_memory;
#[path = "../../explain/examples/common/recording.rs"]
mod recording;

use std::error::Error;
use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use plimsoll_explain::Recording;
use plimsoll_export::{FILES_MAX, write_parquet, write_perfetto};
fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| arguments.next().map_or(Ok(default), |text| text.parse());
    let (events, processes) = (number(5_000_000)?, number(8)?.max(1));
    let pattern = arguments.next().unwrap_or_else(|| "strided".into());
    let kept = arguments.next().map(PathBuf::from);
    let base = kept.clone().unwrap_or_else(|| PathBuf::from("/dev/shm"));
    let directory = base.join(format!("plimsoll-export-{}", std::process::id()));
    let recorded = directory.join("recording");
    fs::create_dir_all(&recorded)?;
    for rank in 0..processes as u32 {
        recording::write(&recorded, rank, processes as u32, events / processes, &pattern)?;
    }
    for (format, name) in [("parquet", "calls.parquet"), ("perfetto", "calls.perfetto.json")] {
        peak_memory::forget();
        let begin = Instant::now();
        let recording = Recording::open_with_limit(&recorded, FILES_MAX)?;
        let path = directory.join(name);
        let (file, done) = (File::create(&path)?, AtomicU64::new(0));
        let exported = match format {
            "parquet" => write_parquet(&recording, file, &done)?,
            _ => write_perfetto(&recording, file, &done)?,
        };
        let seconds = begin.elapsed().as_secs_f64();
        let (calls, bytes) = (exported.calls as f64, fs::metadata(&path)?.len());
        println!(
            "{format}, {pattern}: {} M calls, {processes} processes: {seconds:.2} s, {:.2} M calls/s, \
             {:.2} bytes per call, peak RSS {} MiB",
            calls / 1e6,
            calls / 1e6 / seconds,
            bytes as f64 / calls,
            peak_memory::kib() >> 10,
        );
        if kept.is_none() {
            fs::remove_file(&path)?;
        }
    }
    fs::remove_dir_all(if kept.is_some() { &recorded } else { &directory })?;
    Ok(())
}
