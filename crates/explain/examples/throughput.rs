//! How fast recordings are analysed: `throughput [EVENTS] [PROCESSES] [THREADS] [PATTERN]`.
//!
//! Writes a recording to /dev/shm (or the temporary directory), analyses it, and prints events
//! per second, processor time and the peak of resident memory. Patterns: `strided`, `random`, `mpi`, `files`.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use plimsoll_explain::{Options, Recording, analyze, findings};
use plimsoll_trace::definition::DefinitionKind;
use plimsoll_trace::encode::{Call, Outcome, UNKNOWN_OFFSET};
use plimsoll_trace::layout::Anchor;
use plimsoll_trace::{Op, ProcessWriter, Program};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| arguments.next().map_or(Ok(default), |text| text.parse());
    let (events, processes, threads) = (number(20_000_000)?, number(8)?, number(2)?);
    let pattern = arguments.next().unwrap_or_else(|| "strided".into());
    let directory = scratch()?;
    let per_process = events / processes.max(1);
    for rank in 0..processes as u32 {
        write(&directory, rank, processes as u32, per_process, &pattern)?;
    }
    let bytes: u64 = std::fs::read_dir(&directory)?
        .filter_map(|entry| entry.ok()?.metadata().ok())
        .map(|metadata| metadata.len())
        .sum();
    reset_peak();

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
        peak_kib() >> 10,
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
        program: "throughput".into(),
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
    let mut clock = 2000;
    let mut random = u64::from(rank) + 1;
    let mut written = 0;
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
        if pattern == "mpi" {
            let begin = clock;
            put(Op::Enter, UNKNOWN_OFFSET, 0, begin, begin)?;
            put(Op::Lock, UNKNOWN_OFFSET, 0, begin + 50, begin + 200)?;
            put(Op::Pread, offset, 4096, begin + 250, begin + 600)?;
            put(Op::Pwrite, offset, 4096, begin + 650, begin + 1100)?;
            put(Op::Unlock, UNKNOWN_OFFSET, 0, begin + 1150, begin + 1200)?;
            put(Op::MpiWriteAt, offset, 4096, begin, begin + 1250)?;
            clock += 1250;
            written += 5;
        } else {
            put(Op::Pwrite, offset, 4096, clock, clock + 700)?;
            clock += 700;
            written += 1;
        }
    }
    writer.finish()?;
    Ok(())
}

/// Forgets the peak that writing the recording made; needs no right beyond one's own process.
fn reset_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}

/// Processor time of all threads of this process, to 10 ms.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let behind_name = stat.rsplit(')').next().unwrap_or_default();
    let fields = behind_name.split_whitespace().skip(11).take(2);
    fields.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}
