//! Runs the same bursts by the engine, by fio and by IOR, and reads what each says about them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// What some processes do at the same time, each in a file of its own.
#[derive(Debug, Clone)]
pub struct Work {
    /// Where the files are.
    pub directory: PathBuf,
    /// "write", "randread" or "randwrite".
    pub rw: &'static str,
    /// Bytes of one call.
    pub transfer: u64,
    /// Bytes of one process.
    pub size: u64,
    /// How many processes.
    pub processes: u32,
    /// How often each moves its bytes, with fsync at the end of each time.
    pub loops: u32,
    /// Whether by O_DIRECT.
    pub direct: bool,
    /// Transfers in flight by io_uring; 1 is pread and pwrite.
    pub depth: u32,
}

/// What a program did.
#[derive(Debug, Clone, Copy)]
pub struct Done {
    /// Bytes of all processes over the time of the slowest, by its own clock, fsync included.
    pub bandwidth: f64,
    /// The same over the time from the common start to the last end.
    pub from_release: f64,
    /// Seconds of CPU, in user and in system mode, over the number of transfers.
    pub cpu_per_transfer: f64,
}

/// The engine's example program, built for this run.
pub fn build_engine() -> Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?;
    let built = Command::new(option_env!("CARGO").unwrap_or("cargo"))
        .args(["build", "--release", "--quiet", "--package", "plimsoll-engine"])
        .args(["--example", "burst"])
        .current_dir(&root)
        .status()?;
    ensure!(built.success(), "the engine's example does not build");
    Ok(root.join("target/release/examples/burst"))
}

/// The words that the engine's example and fio have in common.
fn arguments(work: &Work) -> Vec<String> {
    let engine = if work.depth > 1 { "io_uring" } else { "psync" };
    vec![
        format!("--rw={}", work.rw),
        format!("--numjobs={}", work.processes),
        format!("--loops={}", work.loops),
        format!("--direct={}", u8::from(work.direct)),
        format!("--ioengine={engine}"),
        format!("--iodepth={}", work.depth),
    ]
}

/// By the engine.
pub fn engine(program: &Path, work: &Work) -> Result<Done> {
    let mut command = Command::new(program);
    command.args(arguments(work)).arg(format!("--directory={}", work.directory.display()));
    command.arg(format!("--bs={}B", work.transfer)).arg(format!("--size={}B", work.size));
    let text = output_of(&mut command)?;
    let figures: Vec<f64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    let [bytes, from_release, slowest, cpu, calls] = figures[..] else {
        anyhow::bail!("the engine's example said: {text}");
    };
    Ok(Done {
        bandwidth: bytes / slowest,
        from_release: bytes / from_release,
        cpu_per_transfer: cpu / calls,
    })
}

/// By fio, in the same files, with more options of its own.
///
/// fio's times are whole milliseconds, rounded up once over all loops: work has to take some
/// hundred of them. They end with the last fsync and begin when the process does, so the time of
/// the slowest process is what can be compared; fio does not tell when that was.
pub fn fio(work: &Work, options: &[&str]) -> Result<Done> {
    let mut command = Command::new("fio");
    command.args(arguments(work)).args(options);
    command.args(["--name=fio", "--filename_format=$jobnum.burst", "--output-format=json"]);
    command.arg(format!("--directory={}", work.directory.display()));
    command.arg(format!("--bs={}", work.transfer)).arg(format!("--size={}", work.size));
    if work.rw.ends_with("write") {
        // Without --invalidate=0 fio drops the cache before each loop and pays for new pages, which
        // neither the engine nor IOR does before a write.
        command.args(["--end_fsync=1", "--invalidate=0"]);
    }
    let text = output_of(&mut command)?;
    let report: Value = serde_json::from_str(&text).context("fio printed no JSON")?;
    let jobs = report["jobs"].as_array().context("no jobs in fio's JSON")?;
    ensure!(jobs.len() == work.processes as usize, "fio ran {} jobs", jobs.len());
    let direction = if work.rw.ends_with("write") { "write" } else { "read" };
    let figure = |value: &Value| value.as_f64().context("a figure is missing in fio's JSON");
    let (mut bytes, mut slowest, mut cpu, mut transfers) = (0.0, 0f64, 0.0, 0.0);
    for job in jobs {
        let (moved, percent_seconds) =
            (&job[direction], figure(&job["job_runtime"])? / 1e3 / 100.0);
        bytes += figure(&moved["io_bytes"])?;
        slowest = slowest.max(figure(&moved["runtime"])? / 1e3);
        transfers += figure(&moved["total_ios"])?;
        cpu += (figure(&job["usr_cpu"])? + figure(&job["sys_cpu"])?) * percent_seconds;
    }
    let bandwidth = bytes / slowest;
    Ok(Done { bandwidth, from_release: f64::NAN, cpu_per_transfer: cpu / transfers })
}

/// IOR, from the variable IOR or the path.
pub fn find_ior() -> Option<PathBuf> {
    let named = std::env::var_os("IOR").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(&path).map(|folder| folder.join("ior"));
    named.or_else(|| found.find(|it| it.is_file()))
}

/// Bytes per second of a single burst of each process by IOR, `times` times: all bytes over the
/// sum of the times from the first start to the last end, with fsync and without open and close.
pub fn ior(program: &Path, work: &Work, times: u32) -> Result<f64> {
    let mut command = Command::new(std::env::var("MPIRUN").unwrap_or("mpirun.mpich".into()));
    // A session for each process, as the engine's and fio's have: see the engine's example.
    command.args(["-n", &work.processes.to_string(), "setsid", "--wait"]).arg(program);
    // Fsync, a file for each process, existing files overwritten and kept.
    command.args(["-a", "POSIX", "-w", "-e", "-F", "-E", "-k", "-i", &times.to_string()]);
    command.args(["-t", &work.transfer.to_string(), "-b", &work.size.to_string(), "-o"]);
    command.arg(work.directory.join("ior"));
    let text = output_of(&mut command)?;
    // access bw IOPS latency block transfer open WR/RD close total iteration
    let row = |line: &str| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        (columns.len() == 11 && columns[0] == "write").then(|| columns[7].parse().ok()).flatten()
    };
    let seconds: Vec<f64> = text.lines().filter_map(row).collect();
    ensure!(seconds.len() == times as usize, "IOR printed other rows than expected:\n{text}");
    let bytes = work.size * u64::from(work.processes) * u64::from(times);
    Ok(bytes as f64 / seconds.iter().sum::<f64>())
}

fn output_of(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} failed: {said}");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
