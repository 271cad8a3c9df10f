//! How every benchmark measures: candidate and baseline in the same run, interleaved, the
//! ratio of each pair, and the median of the ratios with its distribution-free interval.
//!
//! Absolute times are noise on shared machines; ratios of neighbours in time are not. The
//! order within a pair alternates, so that neither side always finds the caches warm.

pub mod course;
pub mod crowd;
pub mod devices;
pub mod drawn;
pub mod lustre_text;
pub mod noise;
pub mod older_kernel;
pub mod pattern;
pub mod read_back;
pub mod rivals;
pub mod series;
pub mod simulated;
pub mod spindle;
pub mod stow_run;
pub mod strided;
mod took;

use std::time::Instant;

use anyhow::{Context, Result};
use plimsoll_stats::{Sample, median_interval};
use plimsoll_testbed::{Feature, Lacking};
use rustix::time::{ClockId, clock_gettime};

pub use took::Took;

/// Returns whether the targets of a test bed have limits, of which so much is lacking. That they lie in memory is no harm: then nothing holds
/// them up that others write to the disk.
pub fn has_limits(lacking: &[Lacking]) -> bool {
    lacking.iter().all(|it| it.features == [Feature::Disk])
}

/// Pairs that give a 95 % interval of a median: six are the least, more narrow it.
pub const PAIRS: usize = 11;

/// Runs both sides `pairs` times, interleaved, and gives the ratios candidate / baseline of
/// whatever they return.
pub fn interleaved(
    pairs: usize,
    mut candidate: impl FnMut() -> f64,
    mut baseline: impl FnMut() -> f64,
) -> Vec<f64> {
    let ratio = |pair: usize| {
        if pair.is_multiple_of(2) {
            let measured = candidate();
            measured / baseline()
        } else {
            let reference = baseline();
            candidate() / reference
        }
    };
    (0..pairs).map(ratio).collect()
}

/// Seconds that the work took.
pub fn seconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

/// CPU time of all threads of this process until now.
pub fn process_cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// CPU time of this thread until now.
pub fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// CPU time of all processes that this one has waited for until now.
pub fn children_cpu_seconds() -> f64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel writes no more than the structure, of which zeros are a value, too.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// What the kernel says of the load of the machine.
pub fn load() -> String {
    std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim().to_string()
}

/// Returns the number in a variable, or the usual one.
pub fn setting(name: &str, usual: f64) -> f64 {
    std::env::var(name).ok().and_then(|it| it.parse().ok()).unwrap_or(usual)
}

/// Returns whether a line is asked for: arguments choose lines by a part of their name, and none chooses all.
pub fn wanted(what: &str) -> bool {
    let mut parts = std::env::args().skip(1).filter(|it| !it.starts_with('-')).peekable();
    parts.peek().is_none() || parts.any(|it| what.contains(&it))
}

/// The most memory that this process had since it began or [`forget_peak_memory`], in MiB.
pub fn peak_memory_mib() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: u64 = line.context("no peak memory")?.trim().trim_end_matches(" kB").parse()?;
    Ok(kib / 1024)
}

/// Lets the peak begin anew, at what this process has now.
pub fn forget_peak_memory() -> Result<()> {
    Ok(std::fs::write("/proc/self/clear_refs", "5")?)
}

/// Prints one line: what, the median ratio, its interval, and n.
pub fn report(what: &str, ratios: Vec<f64>) {
    let n = ratios.len();
    let Ok(sample) = Sample::new(ratios) else {
        println!("{what:56}  no finite ratio");
        return;
    };
    let spread = match median_interval(&sample, 0.95) {
        Ok(it) => format!("95 % interval {:.3} to {:.3}", it.low, it.high),
        Err(reason) => reason.to_string(),
    };
    println!("{what:56}  {:.3}  ({spread}, n = {n})", sample.median());
}

/// Prints one line of few long runs: what, the median, the least and the largest, how they vary, and n.
///
/// # Errors
/// Fails if there is no finite value.
pub fn show(what: &str, values: Vec<f64>) -> Result<()> {
    let n = values.len();
    let (low, high) = values.iter().fold((f64::MAX, 0.0f64), |it, x| (it.0.min(*x), it.1.max(*x)));
    let mean = values.iter().sum::<f64>() / n as f64;
    let spread =
        values.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / (n as f64 - 1.0).max(1.0);
    let median = Sample::new(values)?.median();
    println!(
        "{what:62}  {median:.3}  ({low:.3} to {high:.3}, c_v {:.3}, n = {n})",
        spread.sqrt() / mean
    );
    Ok(())
}
