//! How fast recordings are exported: `throughput [EVENTS] [PROCESSES] [PATTERN] [DIRECTORY]`.
//!
//! Writes a recording below the directory (/dev/shm unless said), exports it to both formats,
//! and prints calls per second, bytes per call and the peak of resident memory. Patterns:
//! `strided`, `random`, `mpi`, `files`. The exports stay if a directory is said.

use std::error::Error;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use plimsoll_explain::Recording;
use plimsoll_export::{FILES_MAX, write_parquet, write_perfetto};
use plimsoll_trace::definition::DefinitionKind;
use plimsoll_trace::encode::{Call, Outcome, UNKNOWN_OFFSET};
use plimsoll_trace::layout::Anchor;
use plimsoll_trace::{Op, ProcessWriter, Program};

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
        write(&recorded, rank, processes as u32, events / processes, &pattern)?;
    }
    for (format, name) in [("parquet", "calls.parquet"), ("perfetto", "calls.perfetto.json")] {
        // Forgets the peak so far; needs no right beyond one's own process.
        let _ = fs::write("/proc/self/clear_refs", "5");
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
            peak_kib() >> 10,
        );
        if kept.is_none() {
            fs::remove_file(&path)?;
        }
    }
    fs::remove_dir_all(if kept.is_some() { &recorded } else { &directory })?;
    Ok(())
}

fn write(
    directory: &Path,
    rank: u32,
    ranks: u32,
    events: u64,
    pattern: &str,
) -> Result<(), Box<dyn Error>> {
    let program = Program {
        pid: 1000 + rank,
        rank: Some(rank),
        ranks,
        host: "node1".into(),
        boot_id: [1; 16],
        program: "/usr/bin/throughput".into(),
        ..Program::default()
    };
    let start = Anchor { ticks: 1000, monotonic_ns: 1000, realtime_ns: 1_000_000_000 };
    let path = directory.join(format!("{rank}.rec"));
    let mut writer = ProcessWriter::create(&path, &program, start)?;
    writer.define(DefinitionKind::File, 1, 0, b"/data/shared")?;
    let files = if pattern == "files" { 20_000 } else { 1 };
    for file in 2..=files {
        let name = format!("/data/private.{rank}.{file}");
        writer.define(DefinitionKind::File, file, 0, name.as_bytes())?;
    }
    let (mut clock, mut random, mut written) = (2000, u64::from(rank) + 1, 0);
    while written < events {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        clock += 300 + random % 500;
        let offset = match pattern {
            "random" => random % (1 << 38),
            _ => written * 65536 + u64::from(rank) * 4096,
        };
        let file = if pattern == "files" { (random % u64::from(files)) as u32 + 1 } else { 1 };
        let mut put = |op, offset, length, start, end| {
            let outcome = Outcome::Value(length);
            let call = Call { op, file, offset, length, outcome, argument: 0, start, end };
            writer.call(0, &call)
        };
        // Durations vary as those of real calls do.
        let lasts = 600 + (random >> 20) % 300;
        if pattern == "mpi" {
            let begin = clock;
            put(Op::Enter, UNKNOWN_OFFSET, 0, begin, begin)?;
            put(Op::Lock, UNKNOWN_OFFSET, 0, begin + 50, begin + 200)?;
            put(Op::Pread, offset, 4096, begin + 250, begin + 600)?;
            put(Op::Pwrite, offset, 4096, begin + 650, begin + 650 + lasts)?;
            put(Op::Unlock, UNKNOWN_OFFSET, 0, begin + 700 + lasts, begin + 750 + lasts)?;
            put(Op::MpiWriteAt, offset, 4096, begin, begin + 800 + lasts)?;
            clock += 800 + lasts;
            written += 5;
        } else {
            put(Op::Pwrite, offset, 4096, clock, clock + lasts)?;
            clock += lasts;
            written += 1;
        }
    }
    writer.finish()?;
    Ok(())
}

fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}
