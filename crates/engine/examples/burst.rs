//! Bursts of several processes from the command line, with fio's words, to try the engine and to
//! hold it against fio:
//!
//! ```text
//! burst --directory=/mnt/t0 --rw=write --bs=1MiB --size=16MiB --numjobs=4 --loops=16
//! burst --directory=/mnt/t0 --rw=randread --bs=4KiB --size=256MiB --direct=1 \
//!       --ioengine=io_uring --iodepth=16
//! ```
//!
//! Each process has a file `NUMBER.burst` in the directory, which stays there. Prints one line:
//! bytes, seconds from the release of all processes to the last completion, seconds of the slowest
//! process from its own beginning to its own end, seconds of CPU that all spent, and calls.

use std::error::Error;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::{Caching, Engine, Operation, Pattern};
use plimsoll_engine::{Burst, EngineError, Prepared, Source};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let options = Options::parse(std::env::args().skip(1))?;
    match options.process {
        Some(number) => be_a_process(&options, number),
        None => lead(&options),
    }
}

struct Options {
    directory: PathBuf,
    rw: String,
    bs: Bytes,
    size: Bytes,
    jobs: u32,
    loops: u32,
    direct: bool,
    engine: Engine,
    depth: u32,
    verify: bool,
    process: Option<u32>,
}

impl Options {
    fn parse(arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut options = Self {
            directory: ".".into(),
            rw: "write".into(),
            bs: Bytes::new(1 << 20),
            size: Bytes::new(16 << 20),
            jobs: 1,
            loops: 1,
            direct: false,
            engine: Engine::Synchronous,
            depth: 1,
            verify: false,
            process: None,
        };
        for argument in arguments {
            let (name, value) = argument.split_once('=').ok_or("arguments are --name=value")?;
            match name {
                "--directory" => options.directory = value.into(),
                "--rw" => options.rw = value.into(),
                "--bs" => options.bs = value.parse()?,
                "--size" => options.size = value.parse()?,
                "--numjobs" => options.jobs = value.parse()?,
                "--loops" => options.loops = value.parse()?,
                "--direct" => options.direct = value == "1",
                "--ioengine" if value == "psync" => options.engine = Engine::Synchronous,
                "--ioengine" if value == "io_uring" => options.engine = Engine::Uring,
                "--iodepth" => options.depth = value.parse()?,
                "--verify" => options.verify = value == "1",
                "--process" => options.process = Some(value.parse()?),
                _ => return Err(format!("unknown: {argument}").into()),
            }
        }
        Ok(options)
    }

    fn burst(&self, process: u32) -> Result<Burst> {
        let (operation, pattern) = match self.rw.as_str() {
            "write" => (Operation::Write, Pattern::Sequential),
            "read" => (Operation::Read, Pattern::Sequential),
            "randwrite" => (Operation::Write, Pattern::Random),
            "randread" => (Operation::Read, Pattern::Random),
            other => return Err(format!("--rw={other} is not known").into()),
        };
        Ok(Burst {
            operation,
            paths: vec![self.directory.join(format!("{process}.burst"))],
            chunk: self.size,
            offset: Bytes::new(0),
            bytes: self.size,
            span: None,
            transfer: self.bs,
            pattern,
            caching: if self.direct { Caching::Direct } else { Caching::Synced },
            engine: self.engine,
            depth: self.depth,
            seed: u64::from(process),
            verify: self.verify,
            stripe: None,
        })
    }
}

/// One process: says on stdout that it is ready, begins when stdin ends, and says what it did.
fn be_a_process(options: &Options, number: u32) -> Result<()> {
    let explained = |error: EngineError| match error.hint() {
        Some(hint) => format!("{error}; hint: {hint}"),
        None => error.to_string(),
    };
    // As fio does: where the kernel shares the processors by session (sched_autogroup), processes of
    // one session would get less of a busy machine than as many sessions.
    let _ = rustix::process::setsid();
    let mut prepared = Prepared::open(&options.burst(number)?, Source::Paths).map_err(explained)?;
    println!("ready");
    std::io::stdin().read_to_end(&mut Vec::new())?;
    let (start, cpu) = (monotonic_seconds(), cpu_seconds());
    for _ in 0..options.loops {
        prepared.transfer().map_err(explained)?;
    }
    let (end, cpu) = (monotonic_seconds(), cpu_seconds() - cpu);
    let finished = prepared.finish().map_err(explained)?;
    println!("{start} {end} {cpu} {} {}", finished.bytes.get(), finished.calls);
    Ok(())
}

/// Starts the processes, releases them by closing the pipe that they all read from, and adds up.
fn lead(options: &Options) -> Result<()> {
    let (barrier, release) = std::io::pipe()?;
    let mut processes: Vec<Child> = Vec::new();
    for number in 0..options.jobs {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(std::env::args().skip(1)).arg(format!("--process={number}"));
        command.stdin(Stdio::from(barrier.try_clone()?)).stdout(Stdio::piped());
        processes.push(command.spawn()?);
    }
    let mut outputs: Vec<_> = processes.iter_mut().filter_map(|it| it.stdout.take()).collect();
    for output in &mut outputs {
        output.read_exact(&mut [0; "ready\n".len()]).map_err(|_| "a process failed to start")?;
    }
    let start = monotonic_seconds();
    drop(release);
    let (mut last, mut slowest, mut cpu, mut bytes, mut calls) = (start, 0f64, 0.0, 0u64, 0u64);
    for (output, process) in outputs.iter_mut().zip(&mut processes) {
        let mut text = String::new();
        output.read_to_string(&mut text)?;
        if !process.wait()?.success() {
            return Err("a process failed".into());
        }
        let figures: Vec<f64> =
            text.split_whitespace().map(str::parse).collect::<std::result::Result<_, _>>()?;
        let [its_start, end, its_cpu, its_bytes, its_calls] = figures[..] else {
            return Err(format!("a process said: {text}").into());
        };
        last = last.max(end);
        slowest = slowest.max(end - its_start);
        cpu += its_cpu;
        bytes += its_bytes as u64;
        calls += its_calls as u64;
    }
    println!("{bytes} {} {slowest} {cpu} {calls}", last - start);
    Ok(())
}

/// The same clock for all processes of a node.
fn monotonic_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// User and system time of the thread that transfers, as fio counts it: without that of the kernel's
/// own threads, which serve io_uring where a file system cannot (tmpfs) and count as the process's.
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
